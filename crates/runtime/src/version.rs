//! Build information, under the names that Kubernetes components use.

use crate::flags::quote;
use crate::metrics::Register;
use prometheus::{IntGaugeVec, Opts};
use serde::Serialize;
use std::fmt;

/// The commit if the build does not know it, as in a Go program built without linker flags.
const NO_COMMIT: &str = "$Format:%H$";

/// Build information. The JSON is that of a Kubernetes component's `/version`.
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
    /// `os/arch`, as Go names them.
    pub platform: String,
}

impl Info {
    /// The build information of this program: `OUTRIGGER_VERSION`, `OUTRIGGER_COMMIT`, `OUTRIGGER_TREE_STATE` and
    /// `OUTRIGGER_BUILD_DATE` in the environment of the build, or the version of the package.
    #[must_use]
    pub fn current() -> Self {
        let git_version = option_env!("OUTRIGGER_VERSION").unwrap_or(concat!("v", env!("CARGO_PKG_VERSION")));
        let numbers = git_version.trim_start_matches('v').split('.');
        let mut numbers = numbers.filter(|part| part.parse::<u64>().is_ok()).map(str::to_owned);
        let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
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

    /// All of it, as Go prints `version.Info`. Fields that do not apply to this program are empty.
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

/// The operating system, as Go names it.
pub(crate) fn os() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    }
}

/// The processor, as Go names it.
pub(crate) fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        arch => arch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::{Registry, TextEncoder};

    fn built(version: &str) -> Info {
        Info {
            git_version: version.to_owned(),
            ..Info::current()
        }
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
