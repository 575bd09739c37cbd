//! The files that connections depend on, which may be renewed while the process runs.

use kube::Config;
use parking_lot::Mutex;
use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    time::Duration,
};
use tokio::time::Instant;

/// How often the files are checked, as the file of a token.
pub(super) const CHECK: Duration = Duration::from_mins(1);

/// The files of the client certificate and of the certificate authorities, and a fingerprint of their content.
#[derive(Debug)]
pub(super) struct Files {
    paths: Vec<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    checked: Instant,
    /// The fingerprint of the content that the connections use.
    used: u64,
}

impl Files {
    /// The files of a configuration, with their current content; `None` if it has no files.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let user = &config.auth_info;
        let certificate = [&user.client_certificate, &user.client_key];
        let paths = certificate.into_iter().flatten().map(PathBuf::from);
        let paths: Vec<_> = paths.chain(config.root_cert_file.clone()).collect();
        let state = State {
            checked: Instant::now(),
            used: fingerprint(&paths),
        };
        (!paths.is_empty()).then(|| Self {
            paths,
            state: Mutex::new(state),
        })
    }

    /// Whether the files must be checked again. Only the first caller gets `true`.
    pub(super) fn are_due(&self) -> bool {
        let mut state = self.state.lock();
        let due = state.checked.elapsed() >= CHECK;
        if due {
            state.checked = Instant::now();
        }
        due
    }

    /// The fingerprint of the current content. Blocks.
    pub(super) fn read(&self) -> u64 {
        fingerprint(&self.paths)
    }

    /// Whether the content differs from what the connections use. Blocks.
    pub(super) fn have_changed(&self) -> bool {
        let found = self.read();
        found != self.state.lock().used
    }

    /// Records the fingerprint of the content that the connections use.
    pub(super) fn used(&self, read: u64) {
        self.state.lock().used = read;
    }
}

fn fingerprint(paths: &[PathBuf]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        fs::read(path).ok().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn config() -> Config {
        Config::new("https://api.example".parse().unwrap())
    }

    #[rstest]
    #[case::client_certificate(|config: &mut Config, path: String| config.auth_info.client_certificate = Some(path))]
    #[case::authorities(|config: &mut Config, path: String| config.root_cert_file = Some(path.into()))]
    #[tokio::test(start_paused = true)]
    async fn are_checked_once_a_minute_and_differ_until_they_are_used(#[case] set: fn(&mut Config, String)) {
        let path = std::env::temp_dir().join(format!("certificate-{}", uuid::Uuid::new_v4()));
        fs::write(&path, "old").unwrap();
        let mut config = config();
        set(&mut config, path.display().to_string());
        let files = Files::of(&config).unwrap();
        assert!(!files.are_due() && !files.have_changed());

        fs::write(&path, "new").unwrap();
        tokio::time::advance(CHECK).await;
        assert!(files.are_due() && files.have_changed());
        assert!(!files.are_due(), "another caller checks them");
        assert!(files.have_changed(), "they are not used yet");
        files.used(files.read());
        assert!(!files.have_changed());

        fs::remove_file(&path).unwrap();
        assert!(files.have_changed());
    }

    #[test]
    fn are_optional() {
        assert!(Files::of(&config()).is_none());
    }
}
