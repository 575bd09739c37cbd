//! The bearer token of a request, when it can change while the client lives.

use super::account::Account;
use http::HeaderValue;
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;
use tower::BoxError;

/// How long a token from a file is used before the file is read again, as in client-go.
const REREAD: Duration = Duration::from_mins(1);

/// The source of the token of a request.
#[derive(Debug, Clone)]
pub(super) enum Bearer {
    /// No token: the connection authenticates, or authentication is not needed.
    None,
    /// A file that is renewed from outside.
    File(Arc<TokenFile>),
    /// A service account with requested tokens.
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

    /// The server rejected the token that was sent at that time. Returns whether there is a new one to try.
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
    /// When the token was first read.
    since: Instant,
    /// When the file was last read.
    read: Instant,
}

impl State {
    /// The state after a read.
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
    /// The token is `fallback` while the file cannot be read.
    pub(super) fn new(path: PathBuf, fallback: Option<&SecretString>) -> Self {
        let state = fallback.and_then(|token| bearer(token.expose_secret()).ok());
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
            .state
            .lock()
            .as_ref()
            .filter(|state| state.read.elapsed() < REREAD)
            .map(|state| state.header.clone());
        match fresh {
            Some(header) => Ok(header),
            None => self.read(),
        }
    }

    /// Reads the file; if that fails, the previous token is kept, because the file may be removed after it was read.
    fn read(&self) -> Result<HeaderValue, BoxError> {
        let result = load(&self.path);
        let mut state = self.state.lock();
        match (result, state.as_mut()) {
            (Ok(header), _) => {
                *state = Some(State::found(header.clone(), state.as_ref()));
                Ok(header)
            }
            (Err(error), Some(state)) => {
                tracing::warn!(path = %self.path.display(), %error, "cannot read the token again; using the previous one");
                state.read = Instant::now();
                Ok(state.header.clone())
            }
            (Err(error), None) => Err(format!("cannot read the token file {}: {error}", self.path.display()).into()),
        }
    }

    fn reread(&self) {
        if let Ok(header) = load(&self.path) {
            let mut state = self.state.lock();
            *state = Some(State::found(header, state.as_ref()));
        }
    }

    /// Whether the token in the file differs from the one sent at that time. Another request may have read it already.
    fn changed_since(&self, sent: Instant) -> bool {
        self.reread();
        self.state.lock().as_ref().is_some_and(|state| state.since > sent)
    }
}

/// Why a token cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenError {
    /// Its file cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// It is empty.
    #[error("the token is empty")]
    Empty,
    /// It contains characters that a header may not have.
    #[error("the token is not one line of text")]
    NotText,
}

fn load(path: &Path) -> Result<HeaderValue, TokenError> {
    bearer(&std::fs::read_to_string(path)?)
}

/// The header for a token, marked as sensitive.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, TokenError> {
    let token = token.trim();
    if token.is_empty() {
        return Err(TokenError::Empty);
    }
    let mut header = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| TokenError::NotText)?;
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
        assert!(bearer.rejected(sent), "another request with the old token");
        assert!(!bearer.rejected(Instant::now()), "a request with the new token");
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
