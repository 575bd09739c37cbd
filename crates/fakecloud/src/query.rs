//! The part of a URL after the question mark.

use std::str::FromStr;

/// Names and values, decoded, in the order given. Also the body of a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the text after the question mark.
    pub fn parse(text: &str) -> Self {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(name, Plus::Blank), decode(value, Plus::Blank))
        };
        Self(text.split('&').filter(|part| !part.is_empty()).map(pair).collect())
    }

    /// The first value of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The first value of this name, as a number or anything else that can be parsed; `None` if it is none.
    pub fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }

    /// All values of this name.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let wanted = name.to_owned();
        self.0
            .iter()
            .filter(move |(name, _)| *name == wanted)
            .map(|(_, value)| value.as_str())
    }

    /// All names and values.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The names, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.pairs() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The text of a query with these values in place of those of the same names.
    pub fn with(&self, replaced: &[(&str, &str)]) -> String {
        let kept = self
            .pairs()
            .filter(|(name, _)| !replaced.iter().any(|(gone, _)| gone == name));
        let parts: Vec<String> = kept
            .chain(replaced.iter().copied())
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect();
        parts.join("&")
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Plus {
    Blank,
    Plus,
}

/// Decodes one segment of a path.
pub(crate) fn decode_segment(text: &str) -> String {
    decode(text, Plus::Plus)
}

fn decode(text: &str, plus: Plus) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = || u8::from_str_radix(text.get(at + 1..at + 3)?, 16).ok();
        match bytes[at] {
            b'%' if let Some(byte) = hex() => {
                out.push(byte);
                at += 2;
            }
            b'+' if plus == Plus::Blank => out.push(b' '),
            byte => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain("a=1&b=2", &[("a", "1"), ("b", "2")])]
    #[case::nothing("", &[])]
    #[case::no_value("a&b=", &[("a", ""), ("b", "")])]
    #[case::repeated("a=1&a=2", &[("a", "1"), ("a", "2")])]
    #[case::decoded("name=%5Enode%5C.1%24&x=a+b", &[("name", "^node\\.1$"), ("x", "a b")])]
    #[case::inner_equals("fixed_ips=ip_address%3D10.0.0.1", &[("fixed_ips", "ip_address=10.0.0.1")])]
    #[case::no_escape("a=100%", &[("a", "100%")])]
    fn parses(#[case] text: &str, #[case] pairs: &[(&str, &str)]) {
        assert_eq!(Query::parse(text).pairs().collect::<Vec<_>>(), pairs);
    }

    #[test]
    fn replaces_and_encodes() {
        let query = Query::parse("limit=2&name=a%20b&marker=x");
        assert_eq!(query.with(&[("marker", "y")]), "limit=2&name=a%20b&marker=y");
    }
}
