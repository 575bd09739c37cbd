//! Shell patterns for file names.

/// Whether the pattern matches the whole name. `*` is any text, `?` any letter, `[a-z]` and `[^a-z]` a letter of a set;
/// none of them is a slash. A set that is not closed matches nothing.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut letters = pattern.chars();
    match letters.next() {
        None => name.is_empty(),
        Some('*') => {
            let ends = name
                .char_indices()
                .take_while(|(_, letter)| *letter != '/')
                .map(|(at, letter)| at + letter.len_utf8());
            std::iter::once(0)
                .chain(ends)
                .any(|end| matches(letters.as_str(), &name[end..]))
        }
        Some('?') => rest(name, |letter| letter != '/').is_some_and(|name| matches(letters.as_str(), name)),
        Some('[') => set(letters.as_str(), name),
        Some(wanted) => rest(name, |letter| letter == wanted).is_some_and(|name| matches(letters.as_str(), name)),
    }
}

/// The name after its first letter, if that is as wanted.
fn rest(name: &str, wanted: impl Fn(char) -> bool) -> Option<&str> {
    let mut letters = name.chars();
    letters
        .next()
        .filter(|letter| wanted(*letter))
        .map(|_| letters.as_str())
}

fn set(pattern: &str, name: &str) -> bool {
    let Some((members, pattern)) = pattern.split_once(']') else {
        return false;
    };
    let (negated, members) = members
        .strip_prefix('^')
        .map_or((false, members), |members| (true, members));
    let members: Vec<char> = members.chars().collect();
    let inside = |letter: char| contains(&members, letter) != negated && letter != '/';
    rest(name, inside).is_some_and(|name| matches(pattern, name))
}

fn contains(members: &[char], letter: char) -> bool {
    match members {
        [from, '-', to, others @ ..] => (*from..=*to).contains(&letter) || contains(others, letter),
        [member, others @ ..] => *member == letter || contains(others, letter),
        [] => false,
    }
}
