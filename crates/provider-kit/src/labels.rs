//! Values of labels that Kubernetes accepts.

const LONGEST: usize = 63;

/// A name as the value of a label: each run of other characters becomes one `-`, the ends are letters or digits, and there are
/// at most 63 characters.
pub fn sanitized(name: &str) -> String {
    let mut label = String::with_capacity(name.len());
    let mut replaced = false;
    for c in name.chars() {
        if is_inner(c) {
            label.push(c);
            replaced = false;
        } else if !replaced {
            label.push('-');
            replaced = true;
        }
    }
    let trimmed = trim(&label);
    // Again, because there may be punctuation at the cut.
    trim(&trimmed[..trimmed.len().min(LONGEST)]).to_owned()
}

/// Whether Kubernetes accepts this as the value of a label.
pub fn is_valid(value: &str) -> bool {
    value.len() <= LONGEST && value.chars().all(is_inner) && trim(value) == value
}

fn is_inner(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn trim(label: &str) -> &str {
    label.trim_matches(['-', '_', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    // upstream: openstack 19
    #[rstest]
    #[case("az 1/b", "az-1-b")]
    #[case("nova", "nova")]
    #[case("", "")]
    #[case("..a__", "a")]
    #[case("Zürich", "Z-rich")]
    #[case("!!", "")]
    fn sanitizes(#[case] name: &str, #[case] expected: &str) {
        assert_eq!(sanitized(name), expected);
    }

    // upstream: openstack 19
    #[rstest]
    #[case(">63 characters", &"a".repeat(70), &"a".repeat(63))]
    #[case(">63 characters with punctuation at the cut", &format!("{}./{}", "a".repeat(61), "b".repeat(9)), &"a".repeat(61))]
    fn cuts(#[case] what: &str, #[case] name: &str, #[case] expected: &str) {
        assert_eq!(sanitized(name), expected, "{what}");
        assert!(is_valid(&sanitized(name)));
    }

    proptest! {
        #[test]
        fn every_result_is_valid(name in ".{0,100}") {
            prop_assert!(is_valid(&sanitized(&name)));
        }
    }
}
