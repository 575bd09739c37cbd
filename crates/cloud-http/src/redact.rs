//! What may be printed.
//!
//! One list of names rules headers, query parameters and body keys alike. On top, values that went out with a request as
//! secrets are removed from whatever comes back, because error pages like to echo.

mod json;
mod scan;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::HeaderMap;
use reqwest::Url;
use std::{borrow::Cow, collections::HashSet, sync::Arc};

/// The replacement of a secret.
pub(crate) const REDACTED: &str = "<redacted>";

/// Shorter values are no secrets, and removing them would make nonsense of any text.
const SHORTEST_SECRET: usize = 4;

/// Names that are secret wherever they stand.
const SECRET: &[&str] = &[
    "adminpass",
    "authorization",
    "clientassertion",
    "cookie",
    "cookie2",
    "credentials",
    "passwd",
    "proxyauthorization",
    "secretdata",
    "setcookie",
    "sig",
    "signature",
    "userdata",
    "xamzsignature",
];

/// How names of secrets end.
const SECRET_ENDINGS: &[&str] = &[
    "password",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "authkey",
];

/// Names that end like a secret and are none: places in a list.
const PUBLIC: &[&str] = &[
    "pagetoken",
    "nextpagetoken",
    "nexttoken",
    "skiptoken",
    "continuationtoken",
    "clienttoken",
    "idempotencytoken",
];

/// Removes secrets from what is printed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor {
    extra: Arc<HashSet<String>>,
}

/// The secret values of one request.
#[derive(Default)]
pub(crate) struct Secrets(Vec<String>);

impl Redactor {
    pub fn new(extra: &[String]) -> Self {
        Self {
            extra: Arc::new(extra.iter().map(|name| canonical(name)).collect()),
        }
    }

    /// Whether values under this name are secret.
    pub fn is_secret(&self, name: &str) -> bool {
        let name = canonical(name);
        let known = SECRET.contains(&name.as_str()) || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending));
        self.extra.contains(&name) || (known && !PUBLIC.contains(&name.as_str()))
    }

    /// The URL without user, password, fragment and the values of secret parameters.
    pub fn url(&self, url: &Url) -> String {
        let mut shown = url.clone();
        // These fail only on URLs that cannot have a user in the first place.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        shown.set_fragment(None);
        let query = url.query().map(|query| {
            query
                .split('&')
                .map(|pair| self.pair(pair))
                .collect::<Vec<_>>()
                .join("&")
        });
        shown.set_query(None);
        match query {
            Some(query) => format!("{shown}?{query}"),
            None => shown.to_string(),
        }
    }

    /// The text without values of secret keys, in JSON, XML, forms, headers or prose, and without these secrets. JSON
    /// stays JSON.
    pub fn text(&self, text: &str, secrets: &Secrets) -> String {
        if let Some(mut value) = json::parse(text) {
            json::hide(&mut value, &|name| self.is_secret(name), &|text| {
                self.text(text, secrets)
            });
            return value.to_string();
        }
        let mut shown = text.to_owned();
        for range in scan::values(text, &|name| self.is_secret(name)).into_iter().rev() {
            shown.replace_range(range, REDACTED);
        }
        secrets
            .0
            .iter()
            .fold(shown, |shown, secret| shown.replace(secret, REDACTED))
    }

    /// The headers that may be shown.
    pub fn headers(&self, headers: &HeaderMap) -> HeaderMap {
        let public = headers
            .iter()
            .filter(|(name, value)| !value.is_sensitive() && !self.is_secret(name.as_str()));
        public.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Marks the values of secret headers, so that the layers beneath do not print them either.
    pub fn mark(&self, headers: &mut HeaderMap) {
        for (name, value) in headers {
            if self.is_secret(name.as_str()) {
                value.set_sensitive(true);
            }
        }
    }

    /// Everything secret in a request whose headers are marked.
    pub fn secrets(&self, request: &http::Request<Bytes>, url: &Url) -> Secrets {
        let mut found = header_secrets(request.headers());
        found.extend(
            url.password()
                .into_iter()
                .flat_map(|password| [password.to_owned(), percent_decoded(password)]),
        );
        found.extend(self.named_secrets(request.uri().query().unwrap_or_default()));
        found.extend(self.named_secrets(&String::from_utf8_lossy(request.body())));
        found.retain(|secret| secret.len() >= SHORTEST_SECRET);
        // Longer ones first: one may be a part of another.
        found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        found.dedup();
        Secrets(found)
    }

    /// The values of secret keys in a query or a body, as they stand there and as they are meant.
    fn named_secrets(&self, text: &str) -> Vec<String> {
        if let Some(value) = json::parse(text) {
            return json::secrets(&value, &|name| self.is_secret(name))
                .into_iter()
                .map(str::to_owned)
                .collect();
        }
        let found = scan::values(text, &|name| self.is_secret(&percent_decoded(name)));
        found
            .into_iter()
            .flat_map(|range| [text[range.clone()].to_owned(), decoded(&text[range])])
            .collect()
    }

    fn pair<'a>(&self, pair: &'a str) -> Cow<'a, str> {
        match pair.split_once('=') {
            Some((name, _)) if self.is_secret(&decoded(name)) => format!("{name}={REDACTED}").into(),
            _ => pair.into(),
        }
    }
}

/// A parser's message without the values it quotes: `invalid type: string "…", expected u64` shows what was in an answer.
pub(crate) fn parser_message(message: &str) -> String {
    let Some(start) = message.find(['"', '`']) else {
        return message.to_owned();
    };
    let missing_field = message.starts_with("missing field") || message.starts_with("duplicate field");
    if missing_field {
        return message.to_owned();
    }
    let quote = &message[start..=start];
    // A quoted value may contain quotes, so everything up to the last one is removed.
    let end = message.rfind(quote).unwrap_or(start);
    let expected = message[start..]
        .rfind(", expected ")
        .map_or(end + 1, |at| (start + at).max(start + 1));
    format!(
        "{}{quote}{REDACTED}{quote}{}",
        &message[..start],
        &message[expected.min(message.len())..]
    )
}

/// The values that are marked, and what follows the scheme in `Bearer …`.
fn header_secrets(headers: &HeaderMap) -> Vec<String> {
    let values = headers
        .values()
        .filter(|value| value.is_sensitive())
        .filter_map(|value| value.to_str().ok());
    let parts = values.flat_map(|value| {
        [
            Some(value),
            value.split_once(' ').map(|(_scheme, credential)| credential),
        ]
    });
    parts.flatten().map(str::to_owned).collect()
}

fn canonical(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// A part of a query or form as it is meant.
fn decoded(text: &str) -> String {
    percent_decoded(&text.replace('+', " "))
}

/// A part of a URL as it is meant.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, tail) = match (first, tail) {
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, after),
                _ => (b'%', tail),
            },
            _ => (*first, tail),
        };
        bytes.push(byte);
        rest = tail;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}
