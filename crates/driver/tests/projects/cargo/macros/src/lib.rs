//! A procedural macro: runs in the compiler and is none of our business.
use proc_macro::TokenStream;

/// 42.
#[proc_macro]
pub fn answer(_: TokenStream) -> TokenStream {
    "42".parse().unwrap()
}
