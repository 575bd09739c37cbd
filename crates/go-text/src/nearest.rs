//! The name that a user probably meant.

/// The name that differs least from `word`, if it differs by a few letters only. Upper and lower case are the same.
///
/// ```
/// let keys = ["monitor-delay", "monitor-timeout"];
/// assert_eq!(go_text::nearest("monitor-dealy", keys), Some("monitor-delay"));
/// assert_eq!(go_text::nearest("subnet-id", keys), None);
/// ```
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    // One letter is equally near to every other letter.
    let allowed = if length < 2 { 0 } else { (length / 3).clamp(1, 4) };
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("abc", Some("abc"))]
    #[case("acb", Some("abc"))]
    #[case("service-controler", Some("service-controller"))]
    #[case("SERVICE-CONTROLLER", Some("service-controller"))]
    #[case("nothing", None)]
    #[case("x", None)]
    fn finds_what_was_meant(#[case] word: &str, #[case] near: Option<&str>) {
        assert_eq!(nearest(word, ["abc", "service-controller", "route-controller"]), near);
    }
}
