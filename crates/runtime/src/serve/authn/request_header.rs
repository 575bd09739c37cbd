//! Authentication by a front proxy, which names the user in headers.

use super::rejection::Rejection;
use crate::serve::{
    trust::{HeaderNames, Proxy},
    user::User,
};
use http::HeaderMap;
use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;
use std::collections::BTreeMap;

/// The user that a front proxy names, if its certificate is trusted and its common name allowed.
pub(super) fn authenticate(
    proxy: &Proxy,
    chain: &[CertificateDer<'_>],
    headers: &HeaderMap,
) -> Result<Option<User>, Rejection> {
    let Some(leaf) = chain.first() else { return Ok(None) };
    proxy.authority.verify(chain).map_err(Rejection::Proxy)?;
    let common = super::client_cert::common_name(leaf)?;
    let allowed = &proxy.names.allowed_names;
    if !allowed.is_empty() && !allowed.contains(&common) {
        return Err(Rejection::ProxyName(common));
    }
    Ok(user(&proxy.names, headers))
}

/// The user that the headers name.
fn user(names: &HeaderNames, headers: &HeaderMap) -> Option<User> {
    Some(User {
        name: first(headers, &names.username)?,
        uid: first(headers, &names.uid).unwrap_or_default(),
        groups: names.group.iter().flat_map(|name| all(headers, name)).collect(),
        extra: extra(headers, &names.extra_prefix),
    })
}

/// Removes all headers that name a user.
pub(super) fn clear(headers: &mut HeaderMap, names: &HeaderNames) {
    for name in names.username.iter().chain(&names.uid).chain(&names.group) {
        headers.remove(name.to_lowercase());
    }
    let prefixes: Vec<_> = names.extra_prefix.iter().map(|prefix| prefix.to_lowercase()).collect();
    let extra = headers
        .keys()
        .filter(|name| prefixes.iter().any(|prefix| name.as_str().starts_with(prefix)));
    for name in extra.cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
}

/// The default names, which are removed in any case.
pub(super) fn standard() -> HeaderNames {
    HeaderNames {
        allowed_names: Vec::new(),
        username: vec!["x-remote-user".into()],
        uid: vec!["x-remote-uid".into()],
        group: vec!["x-remote-group".into()],
        extra_prefix: vec!["x-remote-extra-".into()],
    }
}

fn first(headers: &HeaderMap, names: &[String]) -> Option<String> {
    names.iter().find_map(|name| {
        let value = headers.get(name.to_lowercase())?;
        std::str::from_utf8(value.as_bytes())
            .ok()
            .filter(|value| !value.is_empty())
            .map(str::to_owned)
    })
}

fn all(headers: &HeaderMap, name: &str) -> Vec<String> {
    let values = headers.get_all(name.to_lowercase()).into_iter();
    let values = values.filter_map(|value| std::str::from_utf8(value.as_bytes()).ok());
    values.filter(|value| !value.is_empty()).map(str::to_owned).collect()
}

fn extra(headers: &HeaderMap, prefixes: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut extra = BTreeMap::<String, Vec<String>>::new();
    for prefix in prefixes.iter().map(|prefix| prefix.to_lowercase()) {
        for name in headers.keys() {
            let Some(key) = name.as_str().strip_prefix(&prefix) else {
                continue;
            };
            let values = headers.get_all(name).into_iter();
            let values = values
                .filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
                .map(str::to_owned);
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            extra.entry(key).or_default().extend(values);
        }
    }
    extra
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};
    use rstest::rstest;

    fn names() -> HeaderNames {
        HeaderNames {
            allowed_names: Vec::new(),
            username: vec!["X-Remote-User".into(), "X-Other-User".into()],
            uid: vec!["X-Remote-Uid".into()],
            group: vec!["X-Remote-Group".into(), "X-Other-Group".into()],
            extra_prefix: vec!["X-Remote-Extra-".into(), "X-Other-Extra-".into()],
        }
    }

    fn headers(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let name = HeaderName::from_bytes(name.to_lowercase().as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    #[rstest]
    #[case::no_user(&["X-Remote-Group: a"], "no user")]
    #[case::empty_name(&["X-Remote-User: "], "no user")]
    #[case::user(&["X-Remote-User: bob"], "bob uid= [] {}")]
    #[case::first_user_counts(&["X-Other-User: eve", "X-Remote-User: bob"], "bob uid= [] {}")]
    #[case::second_header(&["X-Other-User: eve"], "eve uid= [] {}")]
    #[case::uid(&["X-Remote-User: bob", "X-Remote-Uid: 7"], "bob uid=7 [] {}")]
    #[case::all_groups(&["X-Remote-User: bob", "X-Remote-Group: a", "X-Remote-Group: b", "X-Other-Group: c", "X-Remote-Group: "],
        "bob uid= [\"a\", \"b\", \"c\"] {}")]
    #[case::extra(&["X-Remote-User: bob", "X-Remote-Extra-Scopes: one", "X-Remote-Extra-Scopes: two", "X-Other-Extra-Scopes: three"],
        "bob uid= [] {\"scopes\": [\"one\", \"two\", \"three\"]}")]
    #[case::extra_encoded(&["X-Remote-User: bob", "X-Remote-Extra-Example.com%2fA: 1"], "bob uid= [] {\"example.com/a\": [\"1\"]}")]
    #[case::extra_badly_encoded(&["X-Remote-User: bob", "X-Remote-Extra-A%zz: 1"], "bob uid= [] {\"a%zz\": [\"1\"]}")]
    #[case::utf8(&["X-Remote-User: Jürgen"], "Jürgen uid= [] {}")]
    fn reads_the_user(#[case] lines: &[&str], #[case] expected: &str) {
        let shown = match user(&names(), &headers(lines)) {
            Some(User {
                name,
                uid,
                groups,
                extra,
            }) => format!("{name} uid={uid} {groups:?} {extra:?}"),
            None => "no user".into(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn removes_the_headers_that_name_a_user() {
        let mut headers = headers(&[
            "X-Remote-User: bob",
            "X-Other-User: eve",
            "X-Remote-Uid: 1",
            "X-Remote-Group: a",
            "X-Remote-Extra-B: c",
            "X-Remote-Extra: stays",
            "Accept: stays",
        ]);
        clear(&mut headers, &names());
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept", "x-remote-extra"]);
    }
}
