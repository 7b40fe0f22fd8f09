//! The counter in Rust, for programs in C++.
static mut COUNTER: i64 = 0;

#[unsafe(no_mangle)]
pub extern "C" fn counter_bump() {
    unsafe { COUNTER += 1 };
}

#[unsafe(no_mangle)]
pub extern "C" fn counter_value() -> i64 {
    unsafe { COUNTER }
}
