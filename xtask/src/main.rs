//! Checks of the house itself: arrows, licences, generated docs.

fn main() {}
