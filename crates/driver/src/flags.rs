//! Flags of gcc that clang does not know, and those that would undo what we do.

/// What to do with a flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Give it to clang as it is.
    Keep,
    /// It has no meaning here; leave it out.
    Drop,
    /// Leave out the flag and its value, the next argument.
    DropPair,
    /// Cannot be combined with us.
    Refuse(&'static str),
}

/// Choices of LTO, linker and split debug information: our link needs full LTO by lld.
const OVERRIDDEN: &[&str] = &[
    "-flto",
    "-flto=*",
    "-flto-*",
    "-fno-lto",
    "-ffat-lto-objects",
    "-fno-fat-lto-objects",
    "-fuse-ld=*",
    "--ld-path=*",
    "-fuse-linker-plugin",
    "-fno-use-linker-plugin",
    "-flinker-output=*",
    "-fwhole-program",
    "-fwhole-program-vtables",
    "-fsplit-lto-unit",
    "-fembed-bitcode",
    "-fembed-bitcode=*",
    "-gsplit-dwarf",
    "-gsplit-dwarf=*",
    "-specs=*",
    "--specs=*",
    "--param=*",
    "-pass-exit-codes",
];

/// Hints to gcc's optimiser, with or without `no-` after the `-f`, that clang refuses. Those that it
/// ignores with a warning are not listed: the warning is off.
const GCC_HINTS: &[&str] = &[
    "abi-version",
    "abi-version=*",
    "aggressive-loop-optimizations",
    "allocation-dce",
    "allow-store-data-races",
    "analyzer*",
    "auto-inc-dec",
    "bit-tests",
    "branch-probabilities",
    "callgraph-info*",
    "canonical-system-headers",
    "checking*",
    "code-hoisting",
    "combine-stack-adjustments",
    "compare-elim",
    "conserve-stack",
    "cprop-registers",
    "crossjumping",
    "cse-*",
    "dce",
    "delayed-branch",
    "delete-dead-exceptions",
    "devirtualize-*",
    "diagnostics-urls=*",
    "dse",
    "dump-*",
    "early-inlining",
    "excess-precision=*",
    "ext-numeric-literals",
    "forward-propagate",
    "fp-int-builtin-inexact",
    "function-cse",
    "gcse*",
    "gnu-tm",
    "gnu-unique",
    "graphite*",
    "guess-branch-probability",
    "harden-*",
    "hardened",
    "hoist-adjacent-loads",
    "if-conversion*",
    "indirect-inlining",
    "inline-atomics",
    "inline-limit*",
    "ipa-*",
    "ira-*",
    "isolate-erroneous-paths-*",
    "ivopts",
    "keep-gc-roots-live",
    "lifetime-dse*",
    "limit-function-alignment",
    "live-patching*",
    "live-range-shrinkage",
    "loop-*",
    "lra-remat",
    "mem-report*",
    "modulo-sched*",
    "move-loop-*",
    "nothrow-opt",
    "opt-info*",
    "optimize-strlen",
    "partial-inlining",
    "peephole*",
    "predictive-commoning",
    "printf-return-value",
    "profile-partial-training",
    "profile-reorder-functions",
    "ree",
    "regmove",
    "reorder-*",
    "rerun-*",
    "sched-*",
    "sched2-*",
    "schedule-fusion",
    "section-anchors",
    "sel-sched-*",
    "selective-scheduling*",
    "shrink-wrap*",
    "simd-cost-model=*",
    "split-loops",
    "split-paths",
    "split-wide-types*",
    "ssa-*",
    "stack-reuse=*",
    "stack-usage",
    "stdarg-opt",
    "store-merging",
    "strict-volatile-bitfields",
    "thread-jumps",
    "toplevel-reorder",
    "track-macro-expansion*",
    "trampolines",
    "tree-*",
    "unconstrained-commons",
    "var-tracking*",
    "vect-cost-model=*",
    "version-loops-for-strides",
    "vpt",
    "web",
    "weak",
];

/// Flags of gcc's x86 back end that clang refuses, with or without `no-` after the `-m`.
const GCC_TARGET: &[&str] = &[
    "8bit-idiv",
    "accumulate-outgoing-args",
    "align-data=*",
    "align-stringops",
    "avx256-split-unaligned-*",
    "branch-cost=*",
    "direct-extern-access",
    "fancy-math-387",
    "ieee-fp",
    "incoming-stack-boundary=*",
    "indirect-branch=*",
    "indirect-branch-register",
    "inline-all-stringops",
    "inline-stringops-dynamically",
    "memcpy-strategy=*",
    "memset-strategy=*",
    "move-max=*",
    "preferred-stack-boundary=*",
    "push-args",
    "record-mcount",
    "nop-mcount",
    "store-max=*",
    "stringop-strategy=*",
    "stv",
    "function-return=*",
    "tls-dialect=gnu",
    "tune-ctrl=*",
];

/// `*` at the end of a pattern stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => text.starts_with(prefix),
        None => text == pattern,
    }
}

fn listed(argument: &str, prefix: &str, patterns: &[&str]) -> bool {
    argument.strip_prefix(prefix).is_some_and(|name| {
        let name = name.strip_prefix("no-").unwrap_or(name);
        patterns.iter().any(|pattern| matches(pattern, name))
    })
}

/// Sanitizers that keep a shadow of the program's memory: two of a kind do not fit in one process.
const REFUSED: &[&str] = &["thread", "address", "memory", "hwaddress", "leak"];

/// The verdict on one argument of a compiler's command line.
pub fn verdict(argument: &str) -> Verdict {
    if let Some(list) = argument.strip_prefix("-fsanitize=") {
        return match list
            .split(',')
            .find_map(|name| REFUSED.iter().find(|r| **r == name))
        {
            Some(name) => Verdict::Refuse(name),
            None => Verdict::Keep,
        };
    }
    if argument == "--param" {
        return Verdict::DropPair;
    }
    let drop = OVERRIDDEN.iter().any(|pattern| matches(pattern, argument))
        || listed(argument, "-f", GCC_HINTS)
        || listed(argument, "-m", GCC_TARGET);
    if drop { Verdict::Drop } else { Verdict::Keep }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gcc_flags_go() {
        for flag in [
            "-fno-tree-vectorize",
            "-flto=auto",
            "-flto",
            "-fuse-ld=gold",
            "--param=max-inline=9",
            "-fvar-tracking-assignments",
            "-flto-partition=none",
            "-mpreferred-stack-boundary=4",
            "-fexcess-precision=fast",
        ] {
            assert_eq!(verdict(flag), Verdict::Drop, "{flag}");
        }
        assert_eq!(verdict("--param"), Verdict::DropPair);
    }

    #[test]
    fn everything_else_stays() {
        for flag in [
            "-O2",
            "-fPIC",
            "-fno-strict-aliasing",
            "-g3",
            "-Wall",
            "-ftls-model=initial-exec",
            "-Wno-unused",
            "-fsanitize=undefined",
            "-march=native",
            "-fvisibility=hidden",
            "-ffunction-sections",
            "-Warray-bounds",
        ] {
            assert_eq!(verdict(flag), Verdict::Keep, "{flag}");
        }
    }

    #[test]
    fn other_detectors_are_refused() {
        assert_eq!(verdict("-fsanitize=thread"), Verdict::Refuse("thread"));
        assert_eq!(
            verdict("-fsanitize=undefined,address"),
            Verdict::Refuse("address")
        );
    }
}
