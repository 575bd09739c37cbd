//! Patterns of subnet names.

use cloud::{Error, Result};
use regex_lite::Regex;

/// `floating-subnet`: `!` in front negates; `~` is a regular expression, which must match the whole name; anything else is
/// a glob: `*` is any run of characters but `/`, `?` any one character, `[…]` one of a set, `{a,b}` one of these, `{{` a
/// brace, and `**` at the ends of a path any folders. As in occm, whose globs are gopkg.in/godo.v2's, no set is negated:
/// `[!a]` is a `!` or an `a`.
///
/// Classes of Unicode characters (`\pL`) are refused: to know them would cost more than the rest of the library.
///
/// There a subnet without a name matches every pattern that is not negated, and no other. Here it is one of an empty name.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    whole: Regex,
    sense: Sense,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Matching,
    Others,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is no regular expression.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let (sense, pattern) = match text.strip_prefix('!') {
            Some(rest) => (Sense::Others, rest),
            None => (Sense::Matching, text),
        };
        let expression = match pattern.strip_prefix('~') {
            Some(expression) => expression.to_owned(),
            None => expression_of(pattern),
        };
        // Go takes the first alternative that matches somewhere and compares that with the name: `~a|ab` does not match
        // `ab` there. Here it does.
        let whole = Regex::new(&format!("^(?:{expression})$"))
            .map_err(|error| Error::invalid("floating-subnet", format!("{pattern:?} is no pattern: {error}")))?;
        Ok(Self { whole, sense })
    }

    /// Whether a name is meant.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.whole.is_match(name) == (self.sense == Sense::Matching)
    }
}

/// Any folders, as far as their names are not too strange.
const FOLDERS: &str = r"(?:[.{}\w\- ]+/)*";

/// The regular expression of a glob.
fn expression_of(glob: &str) -> String {
    let mut expression = String::new();
    let mut rest = glob;
    let mut alternatives = 0_u32;
    while let Some(c) = rest.chars().next() {
        let (token, length) = match c {
            '/' if rest.starts_with("/**/") => (format!("/{FOLDERS}"), 4),
            '/' if rest == "/**" => ("/.*".to_owned(), 3),
            '*' if rest.starts_with("**/") => (FOLDERS.to_owned(), 3),
            '*' => ("[^/]*".to_owned(), 1),
            '?' => (".".to_owned(), 1),
            '[' => set(rest).unwrap_or(("\\[".to_owned(), 1)),
            '{' if rest.starts_with("{{") => ("\\{".to_owned(), 2),
            '{' if rest.contains('}') => {
                alternatives += 1;
                ("(?:".to_owned(), 1)
            }
            '}' if alternatives > 0 => {
                alternatives -= 1;
                (")".to_owned(), 1)
            }
            ',' if alternatives > 0 => ("|".to_owned(), 1),
            c => (regex_lite::escape(c.encode_utf8(&mut [0; 4])), c.len_utf8()),
        };
        expression += &token;
        rest = &rest[length..];
    }
    expression
}

/// A set at the beginning of a text, as a regular expression, and its length.
fn set(text: &str) -> Option<(String, usize)> {
    let inner = &text[1..];
    // A bracket that comes first is one of the set.
    let skipped = usize::from(inner.starts_with(']'));
    let end = skipped + inner[skipped..].find(']')?;
    let characters = inner[..end]
        .replace('\\', "\\\\")
        .replace('[', "\\[")
        .replace(']', "\\]")
        .replace('^', "\\^");
    Some((format!("[{characters}]"), end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    // upstream: openstack 48
    #[rstest]
    #[case::glob("test-*", "test-123", true)]
    #[case::regex("~test-.*", "test-123", true)]
    #[case::other_glob("other*", "test-123", false)]
    #[case::other_regex("~other.*", "test-123", false)]
    #[case::everything("*", "test-123", true)]
    #[case::everything_by_regex("~.*", "test-123", true)]
    #[case::exact("test-123", "test-123", true)]
    #[case::exact_is_whole("test-12", "test-123", false)]
    #[case::dot_is_a_dot("test.123", "test-123", false)]
    #[case::regex_is_whole("~test", "test-123", false)]
    #[case::regex_alternatives_are_whole("~test|test-123", "test-123", true)]
    #[case::regex_ascii_classes("~[[:alpha:]]+-\\d{3}", "test-123", true)]
    #[case::one_character("test-1?3", "test-123", true)]
    #[case::one_character_is_not_none("test-123?", "test-123", false)]
    #[case::star_stops_at_a_slash("test*", "test/123", false)]
    #[case::two_stars_are_stars("test**", "test/123", false)]
    #[case::two_stars_at_the_end_of_a_path("test/**", "test/1/2/3", true)]
    #[case::two_stars_inside_a_path("test/**/3", "test/1/2/3", true)]
    #[case::two_stars_inside_a_path_are_nothing_too("test/**/3", "test/3", true)]
    #[case::two_stars_before_a_path("**/123", "test/123", true)]
    #[case::set("test-[0-9]23", "test-123", true)]
    #[case::no_set_is_negated("test-[!0-9]23", "test-123", true)]
    #[case::nor_by_a_circumflex("test-[^2]23", "test-123", false)]
    #[case::set_with_a_bracket("a[]b]", "a]", true)]
    #[case::open_set_is_a_bracket("test-[1", "test-[1", true)]
    #[case::alternatives("{prod,test}-*", "test-123", true)]
    #[case::alternatives_not_matching("{prod,stage}-*", "test-123", false)]
    #[case::comma_outside_is_a_comma("a,b", "a,b", true)]
    #[case::brace_without_end("a{b", "a{b", true)]
    #[case::two_braces_are_a_brace("a{{b,c}", "a{b,c}", true)]
    #[case::no_name("test-*", "", false)]
    #[case::umlaut("tür*", "türkis", true)]
    fn matches(#[case] pattern: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(Pattern::parse(pattern).unwrap().matches(name), expected, "{pattern}");
        let negated = format!("!{pattern}");
        assert_eq!(Pattern::parse(&negated).unwrap().matches(name), !expected, "{negated}");
    }

    #[rstest]
    #[case("~(")]
    #[case("!~[")]
    #[case(r"~\pL+")]
    fn says_what_is_wrong(#[case] pattern: &str) {
        let error = Pattern::parse(pattern).unwrap_err().to_string();
        assert!(error.starts_with("invalid floating-subnet: "), "{error}");
    }
}
