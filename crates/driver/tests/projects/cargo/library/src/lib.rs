//! Has a documentation test.

/// One more.
///
/// ```
/// assert_eq!(library::next(1), 2);
/// ```
pub fn next(x: i32) -> i32 {
    x + 1
}
