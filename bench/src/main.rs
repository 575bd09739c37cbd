//! Side by side with the Go program, in one run.

fn main() {}
