//! The files of a client certificate, which somebody else may renew.

use kube::config::AuthInfo;
use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long what was found in the files counts, as for the file of a token.
pub(super) const LOOK: Duration = Duration::from_mins(1);

/// The files of a client certificate, and what was in them.
#[derive(Debug)]
pub(super) struct Files {
    paths: Vec<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When somebody last looked.
    looked: Instant,
    /// What the connections were made with.
    used: u64,
}

impl Files {
    /// Those of this user, if he has any, as they are now.
    pub(super) fn of(user: &AuthInfo) -> Option<Self> {
        let names = [&user.client_certificate, &user.client_key];
        let paths: Vec<_> = names.into_iter().flatten().map(PathBuf::from).collect();
        let state = State {
            looked: Instant::now(),
            used: fingerprint(&paths),
        };
        (!paths.is_empty()).then(|| Self {
            paths,
            state: Mutex::new(state),
        })
    }

    /// Whether it is time to look again. Only the first who asks is told so.
    pub(super) fn are_due(&self) -> bool {
        let mut state = self.lock();
        let due = state.looked.elapsed() >= LOOK;
        if due {
            state.looked = Instant::now();
        }
        due
    }

    /// What is in them now. Blocks.
    pub(super) fn read(&self) -> u64 {
        fingerprint(&self.paths)
    }

    /// Whether they are not what the connections were made with. Blocks.
    pub(super) fn have_changed(&self) -> bool {
        let found = self.read();
        found != self.lock().used
    }

    /// Connections were made with what was read.
    pub(super) fn used(&self, read: u64) {
        self.lock().used = read;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[tokio::test(start_paused = true)]
    async fn are_looked_at_once_a_minute_and_differ_until_they_are_used() {
        let path = std::env::temp_dir().join(format!("certificate-{}", uuid::Uuid::new_v4()));
        fs::write(&path, "old").unwrap();
        let files = Files::of(&AuthInfo {
            client_certificate: Some(path.display().to_string()),
            ..AuthInfo::default()
        });
        let files = files.unwrap();
        assert!(!files.are_due() && !files.have_changed());

        fs::write(&path, "new").unwrap();
        tokio::time::advance(LOOK).await;
        assert!(files.are_due() && files.have_changed());
        assert!(!files.are_due(), "somebody looks already");
        assert!(files.have_changed(), "nobody has used it");
        files.used(files.read());
        assert!(!files.have_changed());

        fs::remove_file(&path).unwrap();
        assert!(files.have_changed());
    }

    #[test]
    fn are_not_needed() {
        assert!(Files::of(&AuthInfo::default()).is_none());
    }
}
