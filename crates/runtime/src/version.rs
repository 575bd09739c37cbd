//! What this program was built from, under the names that Kubernetes components use.

use crate::flags::quote;
use crate::metrics::Register;
use prometheus::{IntGaugeVec, Opts};
use serde::Serialize;
use std::fmt;

/// Stands for the commit when the build does not know it, as in a Go program built without linker flags.
const NO_COMMIT: &str = "$Format:%H$";

/// What a program was built from. The JSON is that of a Kubernetes component's `/version`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// The first number of the version.
    pub major: String,
    /// The second number of the version.
    pub minor: String,
    /// The whole version, with its `v`.
    pub git_version: String,
    /// The commit, or a placeholder if the build did not know it.
    pub git_commit: String,
    /// `clean`, `dirty`, or empty if the build did not know it.
    pub git_tree_state: String,
    /// When it was built, in RFC 3339.
    pub build_date: String,
    /// The language and its version, in the field where dashboards look for it.
    pub go_version: String,
    /// The compiler.
    pub compiler: String,
    /// `os/arch`, in Go's words.
    pub platform: String,
}

/// A version that cannot stand in for the one that was built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// It is not a semantic version.
    #[error("version {0:?} is not a semantic version")]
    Malformed(String),
    /// It claims to be another release.
    #[error("version {given:?} must match major/minor/patch of default version {built:?}")]
    Mismatch {
        /// What was asked for.
        given: String,
        /// What was built.
        built: String,
    },
}

impl Info {
    /// What this program was built from: `OUTRIGGER_VERSION`, `OUTRIGGER_COMMIT`, `OUTRIGGER_TREE_STATE` and
    /// `OUTRIGGER_BUILD_DATE` in the environment of the build, or the version of the package.
    #[must_use]
    pub fn current() -> Self {
        let git_version = option_env!("OUTRIGGER_VERSION").unwrap_or(concat!("v", env!("CARGO_PKG_VERSION")));
        let (major, minor) = release(git_version).map_or((String::new(), String::new()), |[major, minor, _]| {
            (major.to_string(), minor.to_string())
        });
        Self {
            major,
            minor,
            git_version: git_version.to_owned(),
            git_commit: option_env!("OUTRIGGER_COMMIT").unwrap_or(NO_COMMIT).to_owned(),
            git_tree_state: option_env!("OUTRIGGER_TREE_STATE").unwrap_or_default().to_owned(),
            build_date: option_env!("OUTRIGGER_BUILD_DATE")
                .unwrap_or("1970-01-01T00:00:00Z")
                .to_owned(),
            go_version: concat!("rust", env!("CARGO_PKG_RUST_VERSION")).to_owned(),
            compiler: "rustc".to_owned(),
            platform: format!("{}/{}", os(), arch()),
        }
    }

    /// The same build under another name, as `--version=v…` asks for: only what follows the patch number may differ.
    ///
    /// # Errors
    /// If it is not a semantic version, or that of another release.
    pub fn reported_as(self, version: &str) -> Result<Self, OverrideError> {
        let given = release(version).ok_or_else(|| OverrideError::Malformed(version.to_owned()))?;
        if release(&self.git_version) != Some(given) {
            return Err(OverrideError::Mismatch {
                given: version.to_owned(),
                built: self.git_version,
            });
        }
        Ok(Self {
            git_version: version.to_owned(),
            ..self
        })
    }

    /// All of it, as Go prints the type that Kubernetes components keep it in: what is not ours is empty.
    #[must_use]
    pub fn raw(&self) -> String {
        let Self {
            major,
            minor,
            git_version,
            git_commit,
            git_tree_state,
            build_date,
            go_version,
            compiler,
            platform,
        } = self;
        let fields = [
            ("Major", major.as_str()),
            ("Minor", minor),
            ("EmulationMajor", ""),
            ("EmulationMinor", ""),
            ("MinCompatibilityMajor", ""),
            ("MinCompatibilityMinor", ""),
            ("GitVersion", git_version),
            ("GitCommit", git_commit),
            ("GitTreeState", git_tree_state),
            ("BuildDate", build_date),
            ("GoVersion", go_version),
            ("Compiler", compiler),
            ("Platform", platform),
        ];
        let fields = fields.map(|(name, value)| format!("{name}:{}", quote(value)));
        format!("version.Info{{{}}}", fields.join(", "))
    }

    /// Publishes `kubernetes_build_info`.
    ///
    /// # Errors
    /// If it is registered already.
    pub fn register(&self, registry: &dyn Register) -> prometheus::Result<()> {
        let Self {
            major,
            minor,
            git_version,
            git_commit,
            git_tree_state,
            build_date,
            go_version,
            compiler,
            platform,
        } = self;
        let labels = [
            ("major", major),
            ("minor", minor),
            ("git_version", git_version),
            ("git_commit", git_commit),
            ("git_tree_state", git_tree_state),
            ("build_date", build_date),
            ("go_version", go_version),
            ("compiler", compiler),
            ("platform", platform),
        ];
        let gauge = IntGaugeVec::new(Opts::new("kubernetes_build_info", HELP), &labels.map(|(name, _)| name))?;
        gauge.with_label_values(&labels.map(|(_, value)| value)).set(1);
        registry.register(Box::new(gauge))
    }
}

const HELP: &str = "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, \
build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.";

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.git_version)
    }
}

/// The operating system, in Go's words.
pub(crate) fn os() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    }
}

/// The processor, in Go's words.
pub(crate) fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        arch => arch,
    }
}

/// Major, minor and patch of a semantic version, with or without a `v`.
fn release(version: &str) -> Option<[u64; 3]> {
    let version = version.strip_prefix('v').unwrap_or(version);
    let numbers = version.split(['-', '+']).next()?;
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    let release = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(release)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::Registry;
    use prometheus::TextEncoder;
    use rstest::rstest;

    fn built(version: &str) -> Info {
        Info {
            git_version: version.to_owned(),
            ..Info::current()
        }
    }

    #[rstest]
    #[case::the_same("v1.2.3", "v1.2.3", Ok("v1.2.3"))]
    #[case::build_metadata("v1.2.3", "v1.2.3+vendor.1", Ok("v1.2.3+vendor.1"))]
    #[case::pre_release("v1.2.3-rc.1", "v1.2.3-custom", Ok("v1.2.3-custom"))]
    #[case::another_patch(
        "v1.2.3",
        "v1.2.4",
        Err(r#"version "v1.2.4" must match major/minor/patch of default version "v1.2.3""#)
    )]
    #[case::two_numbers("v1.2.3", "v1.2", Err(r#"version "v1.2" is not a semantic version"#))]
    #[case::four_numbers("v1.2.3", "v1.2.3.4", Err(r#"version "v1.2.3.4" is not a semantic version"#))]
    #[case::words("v1.2.3", "very new", Err(r#"version "very new" is not a semantic version"#))]
    fn can_be_reported_as(#[case] version: &str, #[case] given: &str, #[case] expected: Result<&str, &str>) {
        let reported = built(version)
            .reported_as(given)
            .map(|info| info.to_string())
            .map_err(|error| error.to_string());
        assert_eq!(reported.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn build_info_has_the_labels_of_component_base() {
        let registry = Registry::new();
        let info = Info {
            git_commit: "abc".into(),
            ..built("v1.2.3")
        };
        info.register(&registry).unwrap();
        let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        let line = text
            .lines()
            .find(|line| line.starts_with("kubernetes_build_info{"))
            .unwrap();
        for label in [
            "major",
            "minor",
            "git_commit=\"abc\"",
            "git_tree_state",
            "build_date",
            "go_version",
            "compiler",
        ] {
            assert!(line.contains(label), "{label} is not in {line}");
        }
        assert!(
            line.contains("git_version=\"v1.2.3\"") && line.contains("platform=\"linux/"),
            "{line}"
        );
        assert!(line.ends_with("} 1"), "{line}");
    }

    #[test]
    fn raw_is_what_go_prints() {
        let info = Info {
            git_commit: "abc".into(),
            platform: "linux/amd64".into(),
            ..built("v1.2.3-\"x\"")
        };
        let raw = info.raw();
        let start = "version.Info{Major:\"";
        let end = "Compiler:\"rustc\", Platform:\"linux/amd64\"}";
        assert!(raw.starts_with(start) && raw.ends_with(end), "{raw}");
        let middle =
            ", MinCompatibilityMinor:\"\", GitVersion:\"v1.2.3-\\\"x\\\"\", GitCommit:\"abc\", GitTreeState:\"";
        assert!(raw.contains(middle), "{raw}");
    }

    #[test]
    fn json_is_that_of_slash_version() {
        let json = serde_json::to_value(built("v1.2.3")).unwrap();
        assert_eq!(json["gitVersion"], "v1.2.3");
        assert_eq!(json["compiler"], "rustc");
    }
}
