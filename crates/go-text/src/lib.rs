//! Text as Go programs read and print it, so that flags, configuration files and messages stay compatible.

mod duration;
mod nearest;
mod quote;

pub use duration::{GoDuration, NotADuration};
pub use nearest::nearest;
pub use quote::quote;
