//! The binary: a few lines a subcommand.

fn main() {}
