//! Tags that a subnet must, or must not, have.

/// `floating-subnet-tags`: a comma list; any of them is enough, all of them with `&` in front, and `!` in front of that
/// negates: `!a,b` is none of them, `!&a,b` is at least one missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tags {
    tags: Vec<String>,
    rule: Rule,
}

/// As Neutron implements it: `not-tags` excludes what has *all* of the tags, `not-tags-any` what has *any*. The English admin guide has it the
/// other way round, and so has occm: it sends `!a,b` as `not-tags` and `!&a,b` as `not-tags-any`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Any,
    All,
    NotAny,
    NotAll,
}

impl Tags {
    /// Reads a tag expression; `None` if it names no tag.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negated, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let (all, rest) = rest.strip_prefix('&').map_or((false, rest), |rest| (true, rest));
        let rule = match (negated, all) {
            (false, false) => Rule::Any,
            (false, true) => Rule::All,
            (true, false) => Rule::NotAny,
            (true, true) => Rule::NotAll,
        };
        let tags = rest.split(|c: char| c == ',' || c.is_whitespace());
        let tags: Vec<String> = tags.filter(|tag| !tag.is_empty()).map(ToOwned::to_owned).collect();
        (!tags.is_empty()).then_some(Self { tags, rule })
    }

    /// The query parameter that makes Neutron apply it.
    pub(crate) fn query(&self) -> (&'static str, String) {
        let name = match self.rule {
            Rule::Any => "tags-any",
            Rule::All => "tags",
            Rule::NotAny => "not-tags-any",
            Rule::NotAll => "not-tags",
        };
        (name, self.tags.join(","))
    }

    /// Whether something with these tags is meant.
    pub(crate) fn matches(&self, there: &[String]) -> bool {
        let has = |tag: &String| there.contains(tag);
        match self.rule {
            Rule::Any => self.tags.iter().any(has),
            Rule::All => self.tags.iter().all(has),
            Rule::NotAny => !self.tags.iter().any(has),
            Rule::NotAll => !self.tags.iter().all(has),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    // upstream: openstack 48
    #[rstest]
    #[case("alice", true, "tags-any=alice")]
    #[case("!alice", false, "not-tags-any=alice")]
    #[case("other", false, "tags-any=other")]
    #[case("!other", true, "not-tags-any=other")]
    #[case("alice,bob", true, "tags-any=alice,bob")]
    #[case("!alice,bob", false, "not-tags-any=alice,bob")]
    #[case("alice,peter", true, "tags-any=alice,peter")]
    #[case("!alice,peter", false, "not-tags-any=alice,peter")]
    #[case("&alice,bob", true, "tags=alice,bob")]
    #[case("!&alice,bob", false, "not-tags=alice,bob")]
    #[case("&alice,peter", false, "tags=alice,peter")]
    #[case("!&alice,peter", true, "not-tags=alice,peter")]
    #[case(" alice ; bob", true, "tags-any=alice,;,bob")]
    fn matches_a_subnet_with_two_tags(#[case] text: &str, #[case] matches: bool, #[case] query: &str) {
        let tags = Tags::parse(text).unwrap();
        assert_eq!(tags.matches(&["alice".to_owned(), "bob".to_owned()]), matches);
        let (name, value) = tags.query();
        assert_eq!(format!("{name}={value}"), query);
    }

    #[rstest]
    #[case("")]
    #[case("!&")]
    #[case(" , ")]
    fn no_tags(#[case] text: &str) {
        assert_eq!(Tags::parse(text), None);
    }
}
