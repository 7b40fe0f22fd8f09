fn main() {
    println!("cargo:rerun-if-changed=../../counter.c");
    cc::Build::new().file("../../counter.c").compile("counter");
}
