//! The flags of a program that somebody else has started, from its command line or from a file that contains it.

use std::collections::BTreeMap;

/// Flags that take no second word: Go reads `--flag value` of a boolean as the flag and an argument.
const BOOLEANS: [&str; 5] = [
    "allocate-node-cidrs",
    "configure-cloud-routes",
    "enable-leader-migration",
    "leader-elect",
    "use-service-account-credentials",
];

/// The flags of one program, by name and in the order of their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags(BTreeMap<String, Vec<String>>);

impl Flags {
    /// Reads the words of a command line. A word that contains a whole command line, as a shell gets it, is split.
    #[must_use]
    pub fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut flags = Self::default();
        let mut waiting: Option<String> = None;
        for word in words.into_iter().flat_map(split) {
            match (
                word.strip_prefix("--").or_else(|| word.strip_prefix('-')),
                waiting.take(),
            ) {
                (None, Some(name)) => flags.add(&name, word),
                (None, None) => {}
                (Some(flag), before) => {
                    if let Some(name) = before {
                        flags.add(&name, "");
                    }
                    match flag.split_once('=') {
                        Some((name, value)) => flags.add(name, value),
                        None if BOOLEANS.contains(&flag) => flags.add(flag, "true"),
                        None => waiting = Some(flag.to_owned()),
                    }
                }
            }
        }
        if let Some(name) = waiting {
            flags.add(&name, "");
        }
        flags
    }

    /// Reads a file with a command line: one of systemd, an environment file, or `/proc/PID/cmdline`.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let words = text.split(|c: char| c.is_whitespace() || c == '\0');
        // `KUBELET_KUBEADM_ARGS="--first=1 --second=2"`
        let words = words.map(|word| match word.find(['"', '\'']) {
            Some(quote) if !word.starts_with('-') => &word[quote..],
            _ => word,
        });
        Self::of_words(words)
    }

    /// Reads a map of flags to lists of values, as `OpenShift` has it in its configuration.
    #[must_use]
    pub fn of_map(map: &serde_json::Value) -> Self {
        let mut flags = Self::default();
        let entries = map.as_object().into_iter().flatten();
        for (name, values) in entries {
            let one = std::slice::from_ref(values);
            let values = values.as_array().map_or(one, Vec::as_slice);
            for value in values {
                match value.as_str() {
                    Some(text) => flags.add(name, text),
                    None => flags.add(name, &value.to_string()),
                }
            }
        }
        flags
    }

    /// The value of a flag, the last one if it is repeated; `None` if it is not given or empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let values = self.0.get(name)?;
        values.last().map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The items of a flag that is a list, of all its repetitions.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<String> {
        let values = self.0.get(name).into_iter().flatten();
        let items = values.flat_map(|value| value.split(','));
        items
            .map(|item| item.trim().to_owned())
            .filter(|item| !item.is_empty())
            .collect()
    }

    /// The value of a boolean flag, if it is given.
    #[must_use]
    pub fn switch(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            "1" | "t" | "T" | "true" | "True" | "TRUE" => Some(true),
            "0" | "f" | "F" | "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }

    /// The value of a feature gate in `--feature-gates`, if it is given.
    #[must_use]
    pub fn gate(&self, name: &str) -> Option<bool> {
        let given = self.list("feature-gates");
        let found = given
            .iter()
            .rev()
            .find_map(|item| item.strip_prefix(name)?.strip_prefix('='));
        found.map(|value| value.eq_ignore_ascii_case("true"))
    }

    /// The same flags, with this one set, or without it.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<&str>) -> Self {
        self.0.remove(name);
        if let Some(value) = value {
            self.add(name, value);
        }
        self
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, name: &str, value: &str) {
        let value = value.trim_matches(['"', '\'']).to_owned();
        self.0.entry(name.to_owned()).or_default().push(value);
    }
}

/// The words of a word: more than one if a shell splits it.
fn split(word: &str) -> Vec<&str> {
    let is_script = word.contains(char::is_whitespace) && word.contains("--");
    let words: Vec<&str> = if is_script {
        word.split_whitespace().collect()
    } else {
        vec![word]
    };
    let bare = words.into_iter().map(|word| word.trim_matches(['"', '\'', '\\']));
    bare.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::joined(&["kcm", "--cloud-provider=openstack", "--v=2"])]
    #[case::apart(&["kcm", "--cloud-provider", "openstack", "--v", "2"])]
    #[case::one_dash(&["kcm", "-cloud-provider=openstack"])]
    #[case::repeated(&["kcm", "--cloud-provider=aws", "--cloud-provider=openstack"])]
    #[case::after_a_boolean(&["kcm", "--leader-elect", "--cloud-provider=openstack"])]
    #[case::in_a_shell(&["/bin/bash", "-c", "set -o errexit\nexec kcm --v=2 \\\n  --cloud-provider=openstack \\\n"])]
    fn reads_a_command_line(#[case] words: &[&str]) {
        assert_eq!(
            Flags::of_words(words.iter().copied()).get("cloud-provider"),
            Some("openstack")
        );
    }

    #[rstest]
    #[case::kubeadm("KUBELET_KUBEADM_ARGS=\"--cloud-provider=external --pod-infra-container-image=pause:3\"\n")]
    #[case::last("KUBELET_KUBEADM_ARGS=\"--v=2 --cloud-provider=external\"\n")]
    #[case::unit("[Service]\nExecStart=/usr/bin/kubelet \\\n  --v=2 \\\n  --cloud-provider=external \\\n")]
    #[case::process("/usr/bin/kubelet\0--v=2\0--cloud-provider=external\0")]
    #[case::process_apart("/usr/bin/kubelet\0--cloud-provider\0external\0")]
    fn reads_a_file(#[case] text: &str) {
        assert_eq!(Flags::of_text(text).get("cloud-provider"), Some("external"));
    }

    #[test]
    fn an_empty_value_is_none() {
        let flags = Flags::of_words(["--cloud-provider=", "--cloud-config", "--v=2"]);
        assert_eq!((flags.get("cloud-provider"), flags.get("cloud-config")), (None, None));
    }

    #[test]
    fn reads_lists_switches_and_gates() {
        let flags = Flags::of_words([
            "--controllers=*,-nodeipam",
            "--controllers=bootstrapsigner",
            "--leader-elect=false",
            "--enable-leader-migration",
            "--feature-gates=A=true,B=false",
            "--feature-gates=A=false",
        ]);
        assert_eq!(flags.list("controllers"), ["*", "-nodeipam", "bootstrapsigner"]);
        assert_eq!(flags.switch("leader-elect"), Some(false));
        assert_eq!(flags.switch("enable-leader-migration"), Some(true));
        assert_eq!(
            (flags.gate("A"), flags.gate("B"), flags.gate("C")),
            (Some(false), Some(false), None)
        );
    }

    #[test]
    fn reads_a_map() {
        let flags = Flags::of_map(&json!({"cloud-provider": ["aws"], "v": 2, "feature-gates": ["A=true", "B=true"]}));
        assert_eq!(flags.get("cloud-provider"), Some("aws"));
        assert_eq!(flags.get("v"), Some("2"));
        assert_eq!(flags.gate("B"), Some(true));
    }
}
