//! The bearer token of a request, when it can change while the client lives.

use super::account::Account;
use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use tower::BoxError;

/// How long a token from a file is used before the file is read again, as in client-go.
const REREAD: Duration = Duration::from_mins(1);

/// Where the token of a request comes from.
#[derive(Debug, Clone)]
pub(super) enum Bearer {
    /// The connection knows who we are, or nobody needs to.
    None,
    /// A file that somebody else renews.
    File(Arc<TokenFile>),
    /// A service account whose tokens we request.
    Account(Arc<Account>),
}

impl Bearer {
    pub(super) async fn header(&self) -> Result<Option<HeaderValue>, BoxError> {
        match self {
            Self::None => Ok(None),
            Self::File(file) => file.header().map(Some),
            Self::Account(account) => account.header().await.map(Some).map_err(Into::into),
        }
    }

    /// The server did not accept what was sent at that time. Answers whether there is something new to try.
    pub(super) fn rejected(&self, sent: Instant) -> bool {
        match self {
            Self::None => false,
            Self::File(file) => file.changed_since(sent),
            Self::Account(account) => account.forget_older_than(sent),
        }
    }
}

/// A token in a file that is read again once a minute.
#[derive(Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
    state: Mutex<Option<State>>,
}

#[derive(Debug)]
struct State {
    header: HeaderValue,
    /// When it was first found in the file.
    since: Instant,
    /// When the file was last read.
    read: Instant,
}

impl State {
    /// What was found in the file now, after this.
    fn found(header: HeaderValue, before: Option<&Self>) -> Self {
        let now = Instant::now();
        let same = before.filter(|before| before.header == header);
        Self {
            since: same.map_or(now, |same| same.since),
            header,
            read: now,
        }
    }
}

impl TokenFile {
    /// The token is `fallback` for as long as the file cannot be read.
    pub(super) fn new(path: PathBuf, fallback: Option<&SecretString>) -> Self {
        let state = fallback.and_then(|token| bearer(token.expose_secret()).ok());
        // A time long past would do, but a monotonic clock may not have one.
        let state = state.map(|header| State::found(header, None));
        let file = Self {
            path,
            state: Mutex::new(state),
        };
        file.reread();
        file
    }

    fn header(&self) -> Result<HeaderValue, BoxError> {
        let fresh = self
            .lock()
            .as_ref()
            .filter(|state| state.read.elapsed() < REREAD)
            .map(|state| state.header.clone());
        match fresh {
            Some(header) => Ok(header),
            None => self.read(),
        }
    }

    /// Reads the file; the token before is kept if that fails, because some remove the file once it was read.
    fn read(&self) -> Result<HeaderValue, BoxError> {
        let result = load(&self.path);
        let mut state = self.lock();
        match (result, state.as_mut()) {
            (Ok(header), _) => {
                *state = Some(State::found(header.clone(), state.as_ref()));
                Ok(header)
            }
            (Err(error), Some(state)) => {
                tracing::warn!(path = %self.path.display(), error, "cannot read the token again; using the one before");
                state.read = Instant::now();
                Ok(state.header.clone())
            }
            (Err(error), None) => Err(format!("cannot read the token file {}: {error}", self.path.display()).into()),
        }
    }

    fn reread(&self) {
        if let Ok(header) = load(&self.path) {
            let mut state = self.lock();
            *state = Some(State::found(header, state.as_ref()));
        }
    }

    /// Whether there is another token in the file than was sent at that time; others may have found it first.
    fn changed_since(&self, sent: Instant) -> bool {
        self.reread();
        self.lock().as_ref().is_some_and(|state| state.since > sent)
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load(path: &Path) -> Result<HeaderValue, String> {
    let token = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    bearer(&token)
}

/// The header for a token, which no log prints.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, String> {
    let token = token.trim();
    if token.is_empty() {
        return Err("the token is empty".into());
    }
    let mut header =
        HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| "the token is not one line of text")?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(token: &str) -> Self {
            let scratch = Self(std::env::temp_dir().join(format!("token-{}", uuid::Uuid::new_v4())));
            scratch.write(token);
            scratch
        }

        fn write(&self, token: &str) {
            std::fs::write(&self.0, token).unwrap();
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn is_read_again_once_a_minute_and_survives_the_file() {
        let scratch = Scratch::new("one\n");
        let file = TokenFile::new(scratch.0.clone(), None);
        assert_eq!(file.header().unwrap(), "Bearer one");

        scratch.write("two");
        assert_eq!(file.header().unwrap(), "Bearer one");
        tokio::time::advance(REREAD).await;
        assert_eq!(file.header().unwrap(), "Bearer two");

        drop(scratch);
        tokio::time::advance(REREAD).await;
        assert_eq!(file.header().unwrap(), "Bearer two");
    }

    #[tokio::test]
    async fn is_read_at_once_when_the_server_rejects_it() {
        let scratch = Scratch::new("one");
        let bearer = Bearer::File(Arc::new(TokenFile::new(scratch.0.clone(), None)));
        let sent = Instant::now();
        assert!(!bearer.rejected(sent), "nothing new to try");
        scratch.write("two");
        assert!(bearer.rejected(sent));
        assert!(bearer.rejected(sent), "another request that was sent with the old one");
        assert!(!bearer.rejected(Instant::now()), "who had the new one");
        assert_eq!(bearer.header().await.unwrap().unwrap(), "Bearer two");
    }

    #[tokio::test]
    async fn prefers_the_file_to_the_inline_token() {
        let inline = SecretString::from("inline");
        let missing = TokenFile::new("/does/not/exist".into(), Some(&inline));
        assert_eq!(missing.header().unwrap(), "Bearer inline");
        let scratch = Scratch::new("file");
        assert_eq!(
            TokenFile::new(scratch.0.clone(), Some(&inline)).header().unwrap(),
            "Bearer file"
        );
    }

    #[tokio::test]
    async fn names_the_file_that_is_missing_and_no_token() {
        let error = TokenFile::new("/does/not/exist".into(), None)
            .header()
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("cannot read the token file /does/not/exist: "),
            "{error}"
        );
        let scratch = Scratch::new("secret\nsecond line");
        let error = TokenFile::new(scratch.0.clone(), None)
            .header()
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("the token is not one line of text") && !error.contains("secret"),
            "{error}"
        );
        assert_eq!(format!("{:?}", bearer("secret").unwrap()), "Sensitive");
    }
}
