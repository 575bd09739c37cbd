//! Environment variables, for clouds that are configured by these. Their table, and the page of the reference, consist of [`Key`]s.

use crate::{
    annotations::items_of,
    keys::{Key, row},
};
use std::{collections::BTreeMap, env, fmt::Display, str::FromStr};

/// The variables of a process. One that is empty counts as not set.
#[derive(Clone, Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Those of this process. A variable that is not UTF-8 counts as not set.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        env::vars_os().filter_map(text).collect()
    }

    /// The value of a variable.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// The value of a variable that must be set.
    ///
    /// # Errors
    /// One sentence, if it is not.
    pub fn required(&self, name: &str) -> Result<String, String> {
        self.text(name)
            .ok_or_else(|| format!("the environment variable {name} is required"))
    }

    /// The value of a variable, or its default in the table, parsed. `None` if there is neither.
    ///
    /// # Errors
    /// One sentence, if it cannot be parsed.
    pub fn parsed<T: FromStr<Err: Display>>(&self, table: &[Key], name: &str) -> Result<Option<T>, String> {
        let default = || {
            table
                .iter()
                .find(|key| key.name == name && !key.default.is_empty())
                .map(|key| key.default.to_owned())
        };
        let value = self.text(name).or_else(default);
        let parsed = value.map(|value| value.parse().map_err(|error| format!("{name}: {error}")));
        parsed.transpose()
    }

    /// The word in a variable; the first of them if it is not set.
    ///
    /// # Errors
    /// One sentence, if it is another one.
    pub fn word(&self, name: &str, words: &'static [&'static str]) -> Result<&'static str, String> {
        let value = self.text(name);
        let is_it = |word: &&&str| value.as_deref().is_none_or(|value| value == **word);
        let word = words.iter().find(is_it);
        word.copied().ok_or_else(|| {
            format!(
                "{name}: {:?} is not one of {}",
                value.unwrap_or_default(),
                words.join(", ")
            )
        })
    }

    /// The number in a variable, which is more than 0.
    ///
    /// # Errors
    /// One sentence, if it is not.
    pub fn positive(&self, name: &str) -> Result<Option<f64>, String> {
        match self.parsed::<f64>(&[], name)? {
            Some(number) if !(number.is_finite() && number > 0.0) => Err(format!("{name} must be more than 0")),
            number => Ok(number),
        }
    }

    /// The variables whose names begin with this: the rest of their names, and their values, which are not empty.
    pub fn beginning_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let set = self.0.iter().filter(|(_, value)| !value.is_empty());
        set.filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }

    /// The items of a comma-separated variable.
    #[must_use]
    pub fn list(&self, name: &str) -> Option<Vec<String>> {
        let text = self.text(name)?;
        Some(items_of(&text).map(str::to_owned).collect())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Variables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(
            variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

/// The page of the reference, in Markdown.
#[must_use]
pub fn page(title: &str, table: &[Key]) -> String {
    let head = format!("# {title}\n\n| variable | type | default | meaning |\n|---|---|---|---|\n");
    table.iter().fold(head, |page, key| page + &row(key) + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Kind;

    const TABLE: &[Key] = &[
        Key::new("RATE", Kind::Uint, "5", "how fast"),
        Key::new("ZONE", Kind::Text, "", "where"),
    ];

    #[test]
    fn reads_values_and_defaults() {
        let variables: Variables = [("RATE", ""), ("ZONE", "a, b,")].into_iter().collect();
        assert_eq!(variables.parsed::<u32>(TABLE, "RATE"), Ok(Some(5)));
        assert_eq!(variables.parsed::<u32>(TABLE, "OTHER"), Ok(None));
        assert_eq!(variables.list("ZONE"), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((variables.text("RATE"), variables.list("RATE")), (None, None));
        assert_eq!(variables.beginning_with("ZO").collect::<Vec<_>>(), [("NE", "a, b,")]);
        assert_eq!(variables.beginning_with("RA").count(), 0);
        let missing = variables.required("RATE").unwrap_err();
        assert_eq!(missing, "the environment variable RATE is required");
        let bad = variables.parsed::<u32>(TABLE, "ZONE").unwrap_err();
        assert_eq!(bad, "ZONE: invalid digit found in string");
        assert_eq!(
            (variables.word("KIND", &["a", "b"]), variables.word("ZONE", &["a, b,"])),
            (Ok("a"), Ok("a, b,"))
        );
        assert_eq!(
            variables.word("ZONE", &["x", "y"]).unwrap_err(),
            "ZONE: \"a, b,\" is not one of x, y"
        );
        let numbers: Variables = [("A", "0.5"), ("B", "0")].into_iter().collect();
        assert_eq!(
            (numbers.positive("A"), numbers.positive("C")),
            (Ok(Some(0.5)), Ok(None))
        );
        assert_eq!(numbers.positive("B").unwrap_err(), "B must be more than 0");
    }

    #[test]
    fn documents_the_table() {
        let expected = "# Title\n\n| variable | type | default | meaning |\n|---|---|---|---|\n| `RATE` | number | `5` | how fast |\n\
                        | `ZONE` | text |  | where |\n";
        assert_eq!(page("Title", TABLE), expected);
    }
}
