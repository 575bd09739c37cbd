//! Placeholders for values that differ in every cloud, so that two clouds can be compared.

use regex_lite::Regex;

/// Placeholders for values that differ in every cloud.
pub struct Placeholders(Vec<(Regex, &'static str)>);

impl Placeholders {
    /// With these placeholders for these texts, and one for every other ID.
    pub fn new(known: &[(String, &'static str)]) -> Self {
        // An address may be the beginning of another one.
        let whole = |text: &str| format!(r"{}(\b|_)", text.replace('.', r"\."));
        let mut all: Vec<_> = known
            .iter()
            .map(|(text, word)| (Regex::new(&whole(text)).unwrap(), *word))
            .collect();
        let id = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
        all.push((Regex::new(id).unwrap(), "ID"));
        Self(all)
    }

    /// The line with placeholders.
    pub fn replace_in(&self, line: &str) -> String {
        let replace = |line: String, (text, word): &(Regex, &'static str)| {
            text.replace_all(&line, format!("{word}${{1}}")).into_owned()
        };
        self.0.iter().fold(line.to_owned(), replace)
    }
}
