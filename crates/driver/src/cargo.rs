//! `cargo footrace`.
