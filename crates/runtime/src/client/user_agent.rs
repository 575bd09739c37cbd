//! Who we say we are, in the form of client-go.

use crate::version::{self, Info};
use std::path::Path;

/// `<binary>/<version> (<os>/<arch>) kubernetes/<commit>`, to which each client adds its name.
pub(super) fn of(binary: &str, info: &Info) -> String {
    let binary = Path::new(binary)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("unknown");
    let version = info
        .git_version
        .split('-')
        .next()
        .filter(|version| !version.is_empty())
        .unwrap_or("unknown");
    let commit = info.git_commit.get(..7).unwrap_or(&info.git_commit);
    let commit = if commit.is_empty() { "unknown" } else { commit };
    format!(
        "{binary}/{version} ({}/{}) kubernetes/{commit}",
        version::os(),
        version::arch()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn user_agent(binary: &str, version: &str, commit: &str) -> String {
        let info = Info {
            git_version: version.into(),
            git_commit: commit.into(),
            ..Info::current()
        };
        of(binary, &info).replace(&info.platform, "linux/amd64")
    }

    // upstream: TestAdjustVersion
    #[rstest]
    #[case("1.2.3-alpha4", "1.2.3")]
    #[case("1.2.3-alpha", "1.2.3")]
    #[case("1.2.3", "1.2.3")]
    #[case("", "unknown")]
    fn shortens_the_version(#[case] version: &str, #[case] expected: &str) {
        assert_eq!(
            user_agent("ccm", version, "abc"),
            format!("ccm/{expected} (linux/amd64) kubernetes/abc")
        );
    }

    // upstream: TestAdjustCommit
    #[rstest]
    #[case("1234567890", "1234567")]
    #[case("123456", "123456")]
    #[case("", "unknown")]
    #[case("$Format:%H$", "$Format")]
    fn shortens_the_commit(#[case] commit: &str, #[case] expected: &str) {
        assert_eq!(
            user_agent("ccm", "v1", commit),
            format!("ccm/v1 (linux/amd64) kubernetes/{expected}")
        );
    }

    // upstream: TestAdjustCommand
    #[rstest]
    #[case("home/bob/Downloads/beans", "beans")]
    #[case("./beans", "beans")]
    #[case("beans", "beans")]
    #[case("", "unknown")]
    fn shortens_the_command(#[case] command: &str, #[case] expected: &str) {
        assert_eq!(
            user_agent(command, "v1", "abc"),
            format!("{expected}/v1 (linux/amd64) kubernetes/abc")
        );
    }
}
