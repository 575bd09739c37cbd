//! Sections and keys that are not known, probably mistyped.

use crate::{
    document::{Document, Entry, Part, fold, same_name},
    error::Warning,
};
use go_text::nearest;
use std::collections::BTreeSet;

/// A section that is read, and its keys.
#[derive(Debug, Clone)]
pub struct Known<'a> {
    /// Its name.
    pub section: &'a str,
    /// Whether it has subsections.
    pub subsections: Subsections,
    /// Its keys.
    pub keys: Vec<&'a str>,
}

/// Whether a section has subsections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subsections {
    /// `[name]` only.
    None,
    /// `[name "subsection"]`, and `[name]` for the nameless one.
    Any,
}

impl Document {
    /// Sections and keys that are not among the known ones, each once, with the name that was probably meant.
    pub fn unknown(&self, known: &[Known<'_>]) -> Vec<Warning> {
        let mut seen = BTreeSet::new();
        let mut warnings = Vec::new();
        for part in &self.parts {
            match known.iter().find(|known| same_name(known.section, &part.name)) {
                None => warnings.extend(self.unknown_section(part, known, &mut seen)),
                Some(section) if part.subsection.is_some() && section.subsections == Subsections::None => {
                    warnings.extend(self.unknown_subsection(part, &mut seen));
                }
                Some(section) => {
                    let strange = part.entries.iter().filter(|entry| !section.has(&entry.key));
                    warnings.extend(strange.filter_map(|entry| self.unknown_key(entry, section, known, &mut seen)));
                }
            }
        }
        warnings
    }

    fn unknown_section(&self, part: &Part, known: &[Known<'_>], seen: &mut BTreeSet<String>) -> Option<Warning> {
        let name = &part.name;
        let advice = match nearest(name, known.iter().map(|known| known.section)) {
            Some(near) => format!("did you mean [{near}]?"),
            None => "remove it if it is not for another program".to_owned(),
        };
        let message = format!("the section [{name}] is unknown and ignored: {advice}");
        seen.insert(format!("[{}]", fold(name)))
            .then(|| Warning::new(&self.file, part.position, message))
    }

    fn unknown_subsection(&self, part: &Part, seen: &mut BTreeSet<String>) -> Option<Warning> {
        let (name, subsection) = (&part.name, part.subsection.as_deref().unwrap_or_default());
        let message = format!("the section [{name}] has no subsections, so {subsection:?} is ignored: write [{name}]");
        seen.insert(format!("[{} {subsection}]", fold(name)))
            .then(|| Warning::new(&self.file, part.position, message))
    }

    fn unknown_key(
        &self,
        entry: &Entry,
        section: &Known<'_>,
        known: &[Known<'_>],
        seen: &mut BTreeSet<String>,
    ) -> Option<Warning> {
        let (key, name) = (&entry.key, section.section);
        let elsewhere = || known.iter().find(|known| known.has(key));
        let advice = match nearest(key, section.keys.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => elsewhere().map_or_else(
                || "remove it if it is not for another program".to_owned(),
                |other| format!("it belongs to [{}]", other.section),
            ),
        };
        let message = format!("the key {key} is unknown in [{name}] and ignored: {advice}");
        seen.insert(format!("{}/{}", fold(name), entry.folded))
            .then(|| Warning::new(&self.file, entry.position, message))
    }
}

impl Known<'_> {
    fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| same_name(known, key))
    }
}
