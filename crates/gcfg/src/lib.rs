//! The git-config dialect of `cloud.conf`: what `gopkg.in/gcfg.v1` reads, with positions, and a writer.
//!
//! Read [`Document`] first. [`Document::parse`] parses a text; [`Document::section`] returns typed values, merged
//! over repeated sections; [`Document::warnings`] and [`Document::unknown`] report probable mistakes; [`Document::set`] and similar
//! methods edit one value and keep all other bytes; [`Document::aligned`] formats the whole text.
//!
//! ```
//! let text = "[Global]\nauth-url = https://keystone:5000/v3 # ours\n";
//! let mut document = gcfg::Document::parse(text)?;
//! assert_eq!(document.section("global").text("AUTH-URL")?, Some("https://keystone:5000/v3"));
//!
//! document.set("Global", None, "auth-url", "https://other:5000/v3")?;
//! assert_eq!(document.to_string(), "[Global]\nauth-url = https://other:5000/v3 # ours\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod align;
mod cursor;
mod document;
mod edit;
mod error;
mod letters;
mod quote;
mod read;
mod scan;
mod unknown;
mod value;

pub use align::Place;
pub use document::{Document, Entry, Part, Value, same_name};
pub use error::{EditError, Error, Position, Warning};
pub use go_text::GoDuration;
pub use read::Section;
pub use unknown::{Known, Subsections};
