//! AWS's Signature Version 4.

use super::Keys;
use cloud::{Error, Result};
use cloud_http::{
    bytes::Bytes,
    http::{
        Request,
        header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue},
    },
};
use jiff::Timestamp;
use ring::{digest, hmac};
use secrecy::ExposeSecret;
use std::fmt::Write;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");

/// What a signature is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The service, as signatures name it.
    pub service: String,
    /// The region.
    pub region: String,
}

/// Signs a request, which is otherwise as it will be sent.
///
/// # Errors
/// [`Error::Invalid`] if the keys have characters that no header may have.
pub fn sign(request: &mut Request<Bytes>, keys: &Keys, scope: &Scope, now: Timestamp) -> Result<()> {
    let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let host = request.uri().authority().map(|host| host.as_str().to_owned());
    let headers = request.headers_mut();
    headers.insert(HOST, value(&host.unwrap_or_default())?);
    headers.insert(DATE, value(&time)?);
    if let Some(token) = &keys.session_token {
        headers.insert(TOKEN, secret(token.expose_secret())?);
    }
    let (signed, canonical) = canonical(request);
    let day = time.get(..8).unwrap_or_default();
    let scope_text = format!("{day}/{}/{}/aws4_request", scope.region, scope.service);
    let text = format!("{ALGORITHM}\n{time}\n{scope_text}\n{}", sha256(canonical.as_bytes()));
    let signature = hex(hmac(&signing_key(keys, scope, day), &text).as_ref());
    let id = &keys.access_key_id;
    let authorization =
        format!("{ALGORITHM} Credential={id}/{scope_text}, SignedHeaders={signed}, Signature={signature}");
    request.headers_mut().insert(AUTHORIZATION, secret(&authorization)?);
    Ok(())
}

/// The names of the headers that are signed, and the request as both sides write it.
fn canonical(request: &Request<Bytes>) -> (String, String) {
    let headers = signed_headers(request.headers());
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(";");
    let headers = headers.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name}:{value}");
        text
    });
    let mut query: Vec<&str> = request.uri().query().unwrap_or_default().split('&').collect();
    query.sort_unstable();
    let (method, path, query) = (request.method(), encoded(request.uri().path()), query.join("&"));
    let body = sha256(request.body());
    let text = format!("{method}\n{path}\n{query}\n{headers}\n{names}\n{body}");
    (names, text)
}

/// The headers that no proxy on the way has a reason to change.
fn signed_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_signed = |name: &HeaderName| *name == HOST || *name == CONTENT_TYPE || name.as_str().starts_with("x-amz-");
    let signed = headers.iter().filter(|(name, _)| is_signed(name));
    let mut signed: Vec<(String, String)> = signed
        .map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).trim().to_owned(),
            )
        })
        .collect();
    signed.sort_unstable();
    signed
}

/// The path, which is encoded already, encoded once more.
fn encoded(path: &str) -> String {
    path.bytes().fold(String::new(), |mut text, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
        text
    })
}

fn signing_key(keys: &Keys, scope: &Scope, day: &str) -> hmac::Tag {
    let secret = format!("AWS4{}", keys.secret_access_key.expose_secret());
    let mut key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), day.as_bytes());
    for part in [scope.region.as_str(), scope.service.as_str(), "aws4_request"] {
        key = hmac(&key, part);
    }
    key
}

fn hmac(key: &hmac::Tag, text: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()), text.as_bytes())
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn value(text: &str) -> Result<HeaderValue> {
    // The value is not shown: it may be a key.
    HeaderValue::from_str(text)
        .map_err(|_| Error::invalid("credentials", "they have characters that no header may have"))
}

fn secret(text: &str) -> Result<HeaderValue> {
    let mut value = value(text)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn keys(token: Option<&str>) -> Keys {
        Keys {
            access_key_id: "AKIDEXAMPLE".into(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            session_token: token.map(Into::into),
            expiration: None,
        }
    }

    fn signature(request: &mut Request<Bytes>, keys: &Keys) -> String {
        let scope = Scope {
            service: "service".into(),
            region: "us-east-1".into(),
        };
        sign(request, keys, &scope, "2015-08-30T12:36:00Z".parse().unwrap()).unwrap();
        let value = request.headers()[AUTHORIZATION].to_str().unwrap().to_owned();
        value.rsplit_once("Signature=").unwrap().1.to_owned()
    }

    // The vectors of AWS's own test suite for this algorithm.
    #[rstest]
    #[case::get("GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")]
    #[case::post("POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b")]
    #[case::query(
        "GET",
        "/?Param2=value2&Param1=value1",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
    )]
    fn vectors(#[case] method: &str, #[case] target: &str, #[case] expected: &str) {
        let uri = format!("https://example.amazonaws.com{target}");
        let mut request = Request::builder().method(method).uri(uri).body(Bytes::new()).unwrap();
        assert_eq!(signature(&mut request, &keys(None)), expected);
    }

    #[test]
    fn a_form_is_signed_with_its_body() {
        let mut request = Request::builder()
            .method("POST")
            .uri("https://example.amazonaws.com/")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Bytes::from_static(b"Param1=value1"))
            .unwrap();
        assert_eq!(
            signature(&mut request, &keys(None)),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
        );
    }

    #[test]
    fn secrets_are_marked_and_shown_nowhere() {
        let mut request = Request::builder()
            .uri("https://example.amazonaws.com/")
            .body(Bytes::new())
            .unwrap();
        signature(&mut request, &keys(Some("t0k3n")));
        let text = format!("{:?} {:?}", request.headers(), keys(Some("t0k3n")));
        assert!(
            !text.contains("t0k3n") && !text.contains("wJalr") && !text.contains("Signature="),
            "{text}"
        );
    }

    #[test]
    fn a_path_is_encoded_once_more() {
        assert_eq!(encoded("/a%20b/c"), "/a%2520b/c");
    }
}
