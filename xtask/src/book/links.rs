//! The links and headings of a Markdown file.

use std::{collections::BTreeSet, ops::Range};

/// A link to a file of the repository.
pub(super) struct Link {
    /// As the file has it, without the anchor; empty for the file itself.
    pub(super) path: String,
    /// Empty without one.
    pub(super) anchor: String,
    /// Where the path is in the text.
    pub(super) place: Range<usize>,
}

/// The text with blanks in place of code, so that places stay the same.
pub(super) fn prose(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        if is_fence || fenced {
            prose.extend(line.chars().map(blank));
        } else {
            prose.push_str(&without_code(line));
        }
    }
    debug_assert_eq!(prose.len(), text.len());
    prose
}

/// As many bytes as the character, and the same line end.
fn blank(letter: char) -> &'static str {
    match letter {
        '\n' => "\n",
        letter => &"    "[..letter.len_utf8()],
    }
}

fn without_code(line: &str) -> String {
    let parts = line.split_inclusive('`').enumerate();
    // Code has an end: the rest of a line with one backtick is text.
    let ends = line.matches('`').count() / 2 * 2;
    parts
        .map(|(index, part)| {
            if index % 2 == 1 && index < ends {
                part.chars().map(blank).collect()
            } else {
                part.to_owned()
            }
        })
        .collect()
}

/// The links of a text without code to files and headings, not those to the web.
pub(super) fn links(prose: &str) -> Vec<Link> {
    let starts = prose.match_indices("](").map(|(at, mark)| at + mark.len());
    starts
        .filter_map(|start| {
            let length = prose[start..].find([')', '\n', ' '])?;
            let target = &prose[start..start + length];
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let is_of_the_web = target.contains("://") || target.starts_with("mailto:");
            (!is_of_the_web).then(|| Link {
                path: path.to_owned(),
                anchor: anchor.to_owned(),
                place: start..start + path.len(),
            })
        })
        .collect()
}

/// The anchors of the headings, as mdBook and GitHub create them.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if fenced || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor = anchor(heading.trim());
        let repeated = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone())
            .chain(repeated)
            .find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let letters = heading.chars().filter_map(|letter| match letter {
        letter if letter.is_alphanumeric() || letter == '_' || letter == '-' => Some(letter),
        letter if letter.is_whitespace() => Some('-'),
        _ => None,
    });
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_anchors_of_their_own() {
        let text = "# A title\n```\n# a comment\n```\n## `status.claims`: why?\n## Same\n## Same\n#no heading\n";
        let expected = ["a-title", "same", "same-1", "statusclaims-why"];
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn code_has_no_links_and_places_stay() {
        let text = "ü `ü[a](b)` [c](d.md#e) a ` [f](g)\n";
        let found = links(&prose(text));
        let found: Vec<_> = found.iter().map(|link| &text[link.place.clone()]).collect();
        assert_eq!(found, ["d.md", "g"]);
    }
}
