//! Formatting of a whole text in the layout of `gopkg.in/ini.v1`, which Go programs use to write such files.

use crate::{
    document::{Document, Entry, Part, Value, same_name},
    quote::{self, Quotes},
};

/// The order of a section and of its first keys.
#[derive(Debug, Clone, Copy)]
pub struct Place<K> {
    /// Sections are sorted by this; equal ones keep their order.
    pub rank: K,
    /// Keys that come first, in this order and spelling; the others keep their order.
    pub keys: &'static [&'static str],
}

impl Document {
    /// The text with the values of each section in one column and a blank line between sections. Values have quotes
    /// only if they need them; comments are kept with their entry.
    ///
    /// Its values do not change, and aligning it again does not change it.
    pub fn aligned<'a, K: Ord>(&'a self, place: impl Fn(&'a Part) -> Place<K>) -> String {
        let mut blocks = Vec::with_capacity(self.parts.len());
        let mut end = 0;
        for part in &self.parts {
            let Place { rank, keys } = place(part);
            blocks.push((rank, self.block(part, end, keys)));
            end = end_of(part);
        }
        blocks.sort_by(|(a, _), (b, _)| a.cmp(b));
        let blocks: Vec<String> = blocks.into_iter().map(|(_, block)| block).collect();
        let mut text = blocks.join("\n");
        self.comments(end, self.text.len(), &mut text);
        text
    }

    /// A section with its content and the comments above it, which begin at `start`.
    fn block(&self, part: &Part, start: usize, keys: &[&str]) -> String {
        let mut text = String::new();
        self.comments(start, part.line.start, &mut text);
        text.push_str(self.text[part.line.clone()].trim());
        text.push('\n');
        let width = part.entries.iter().map(|entry| entry.key.len()).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(part.entries.len());
        let mut end = part.line.end;
        for entry in &part.entries {
            let known = keys.iter().position(|key| same_name(key, &entry.key));
            let mut line = String::new();
            self.comments(end, entry.spans.line.start, &mut line);
            let key = known.map_or(entry.key.as_str(), |at| keys[at]);
            self.entry(entry, key, width, &mut line);
            lines.push((known.unwrap_or(usize::MAX), line));
            end = entry.spans.line.end;
        }
        lines.sort_by_key(|(known, _)| *known);
        text.extend(lines.into_iter().map(|(_, line)| line));
        text
    }

    fn entry(&self, entry: &Entry, key: &str, width: usize, line: &mut String) {
        line.push_str(key);
        if let Value::Text(value) = &entry.value {
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(key.len())));
            line.push_str(" = ");
            let written = &self.text[entry.spans.value.clone()];
            match quote::value(key, value, Quotes::AsNeeded) {
                _ if value.is_empty() => {}
                Ok(value) => line.push_str(&value),
                Err(_) => line.push_str(written),
            }
        }
        let beside = self.text[entry.spans.value.end..entry.spans.line.end].trim();
        if !beside.is_empty() {
            line.push(' ');
            line.push_str(beside);
        }
        line.push('\n');
    }

    /// The comment lines between two positions.
    fn comments(&self, start: usize, end: usize, text: &mut String) {
        let between = self.text.get(start..end).unwrap_or_default();
        let lines = between.lines().map(|line| line.trim_start_matches('\u{feff}').trim());
        for line in lines.filter(|line| line.starts_with([';', '#'])) {
            text.push_str(line);
            text.push('\n');
        }
    }
}

/// The end of the last line of a section, without possible comments on the next section.
fn end_of(part: &Part) -> usize {
    part.entries.last().map_or(part.line.end, |entry| entry.spans.line.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    const AS_IT_IS: Place<()> = Place { rank: (), keys: &[] };

    fn aligned(text: &str) -> String {
        Document::parse(text).expect("a document").aligned(|_| AS_IT_IS)
    }

    // What ini.v1 writes for the rows without comments.
    #[rstest]
    #[case::nothing("", "")]
    #[case::one_column("[a]\nb=1\nlong-key=2\n", "[a]\nb        = 1\nlong-key = 2\n")]
    #[case::each_section_its_own("[a]\nb=1\n[c]\nlong=2\n\n\n[d]\n", "[a]\nb = 1\n\n[c]\nlong = 2\n\n[d]\n")]
    #[case::no_line_end("[a]\nb = 1", "[a]\nb = 1\n")]
    #[case::empty_value("[a]\nb=\n", "[a]\nb = \n")]
    #[case::quotes_that_need_not_be("[a]\nb = \"x y\"\n", "[a]\nb = x y\n")]
    #[case::quotes_that_need_be("[a]\nb = \"x;y\"\n", "[a]\nb = \"x;y\"\n")]
    #[case::no_value("[a]\nb\nlonger = 1\n", "[a]\nb\nlonger = 1\n")]
    #[case::windows("[a]\r\nb=1\r\n", "[a]\nb = 1\n")]
    #[case::indented("  [a]\n\t b=1\n", "[a]\nb = 1\n")]
    #[case::subsection("[a \"x\\\"y\"]\nb=1\n", "[a \"x\\\"y\"]\nb = 1\n")]
    #[case::comments(
        "# top\n\n[a] ; beside\n# above\nb=1 # right\n\n; of c\n[c]\nd=\"\" ; none\n# end",
        "# top\n[a] ; beside\n# above\nb = 1 # right\n\n; of c\n[c]\nd =  ; none\n# end\n"
    )]
    #[case::blank_and_commented("[a]\nb # right\n", "[a]\nb # right\n")]
    #[case::continued("[a]\nb = x\\\ny\n", "[a]\nb = xy\n")]
    fn is_laid_out(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(aligned(text), expected);
        assert_eq!(aligned(expected), expected, "again");
    }

    #[test]
    fn order_and_spelling() {
        let place = |part: &Part| Place {
            rank: part.subsection().map(str::len),
            keys: &["Zone", "Region"],
        };
        let text = "[s \"10\"]\nx=1\n[s \"2\"]\ny=1\nREGION=r\n# of zone\nzone=z\n[g]\n";
        let done = Document::parse(text).expect("a document").aligned(place);
        assert_eq!(
            done,
            "[g]\n\n[s \"2\"]\n# of zone\nZone   = z\nRegion = r\ny      = 1\n\n[s \"10\"]\nx = 1\n"
        );
    }

    /// Every section's name, then its entries.
    fn values(text: &str) -> Vec<(String, Vec<(String, Value)>)> {
        let document = Document::parse(text).expect("a document");
        let entry = |entry: &Entry| (entry.folded.clone(), entry.value.clone());
        let part = |part: &Part| (part.name.clone(), part.entries.iter().map(entry).collect());
        document.parts.iter().map(part).collect()
    }

    proptest! {
        #[test]
        fn an_unchanged_result_writes_nothing(
            parts in prop::collection::vec(("[a-z]{1,4}", prop::collection::vec(("[a-z][a-z-]{0,5}", "[ -~\t\n]{0,8}"), 0..4)), 0..4)
        ) {
            let mut document = Document::parse("").expect("a document");
            for (section, entries) in &parts {
                for (key, value) in entries {
                    document.set(section, None, key, value).expect("set");
                }
            }
            let once = document.aligned(|_| AS_IT_IS);
            prop_assert_eq!(values(&once), values(&document.to_string()));
            prop_assert_eq!(aligned(&once), once);
        }
    }
}
