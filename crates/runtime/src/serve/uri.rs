//! Percent-encoding in paths and queries.

/// Undoes percent-encoding; `None` if it is broken or what it hides is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => bytes.push(hex(rest.next()?)? << 4 | hex(rest.next()?)?),
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// The pairs of a query; broken ones are left out, as Go does.
pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| decode(&text.replace('+', " "));
    query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
        .filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(key)?, decoded(value)?))
        })
        .collect()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain("/metrics", Some("/metrics"))]
    #[case::hidden("/%6detrics%2Fslis", Some("/metrics/slis"))]
    #[case::utf8("%C3%A4", Some("ä"))]
    #[case::not_utf8("%ff", None)]
    #[case::cut_off("%4", None)]
    #[case::not_hex("%zz", None)]
    #[case::sign_is_not_hex("%+1", None)]
    #[case::plus_stays("a+b", Some("a+b"))]
    fn decodes(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(decode(text).as_deref(), expected);
    }

    proptest::proptest! {
        #[test]
        fn undoes_any_encoding(text: String) {
            use std::fmt::Write as _;
            let encoded = text.bytes().fold(String::new(), |mut encoded, byte| {
                let _ = write!(encoded, "%{byte:02X}");
                encoded
            });
            proptest::prop_assert_eq!(decode(&encoded), Some(text));
        }

        #[test]
        fn takes_any_query(query: String) {
            pairs(&query);
        }
    }

    #[rstest]
    #[case::nothing("", &[])]
    #[case::flag("verbose", &[("verbose", "")])]
    #[case::repeated("exclude=a&exclude=b+c", &[("exclude", "a"), ("exclude", "b c")])]
    #[case::broken_left_out("a=%zz&b=1;c=2&d=%41", &[("d", "A")])]
    fn splits(#[case] query: &str, #[case] expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(pairs(query), expected);
    }
}
