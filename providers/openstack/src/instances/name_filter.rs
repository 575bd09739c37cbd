//! Nova's filter for servers by name: a regular expression. Pure.

/// How many names one expression has: short enough for a URL, and for a database to compile.
const NAMES: usize = 100;

/// How many characters of names one expression has.
const LENGTH: usize = 3000;

/// Groups of names, each short enough for one expression.
pub fn groups<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Vec<&'a str>> {
    let mut groups: Vec<Vec<&'a str>> = Vec::new();
    let mut length = 0;
    for name in names {
        let more = quoted(name).len() + 3;
        length += more;
        match groups.last_mut() {
            Some(group) if group.len() < NAMES && length <= LENGTH => group.push(name),
            _ => {
                length = more;
                groups.push(vec![name]);
            }
        }
    }
    groups
}

/// An expression that matches these names, and hardly any others. `(a)?(b)?` and not `(a|b)`, because Nova escapes `|`.
pub fn expression(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    match &names[..] {
        [name] => format!("^{name}$"),
        names => format!("^({})?$", names.join(")?(")),
    }
}

/// The name with a backslash before every character that has a meaning in an expression.
fn quoted(name: &str) -> String {
    let mut quoted = String::with_capacity(name.len());
    for c in name.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::one(&["a.b"], r"^a\.b$")]
    #[case::two(&["a-name", "b"], "^(a-name)?(b)?$")]
    fn expressions(#[case] names: &[&str], #[case] expected: &str) {
        assert_eq!(expression(names), expected);
    }

    #[rstest]
    #[case::a_full_group(100, 1)]
    #[case::one_more(101, 2)]
    #[case::many(250, 3)]
    fn many_names_need_more_expressions(#[case] names: usize, #[case] expected: usize) {
        let names: Vec<String> = (0..names).map(|number| format!("node-{number:04}")).collect();
        assert_eq!(groups(names.iter().map(String::as_str)).len(), expected);
    }

    #[test]
    fn long_names_need_more_expressions() {
        let names: Vec<String> = (0..60).map(|number| format!("{number}{}", "x".repeat(98))).collect();
        let groups = groups(names.iter().map(String::as_str));
        assert_eq!(groups.len(), 3);
        assert!(groups.iter().all(|group| expression(group).len() < LENGTH + 10));
    }
}
