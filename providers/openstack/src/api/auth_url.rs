//! The URL of Keystone, and of its version 3. Pure.

use super::keystone::Version;
use cloud::{Error, Result};
use cloud_http::Url;

/// What `auth-url` is.
pub enum AuthUrl {
    /// It names the version.
    Versioned(Url),
    /// It does not.
    Plain(Url),
}

/// Reads `auth-url`.
///
/// # Errors
/// [`Error::Invalid`] if it is missing or no URL.
pub fn parse(auth_url: &str) -> Result<AuthUrl> {
    if auth_url.is_empty() {
        return Err(Error::invalid("auth-url", "the URL of Keystone is missing"));
    }
    let trimmed = auth_url.trim_end_matches('/');
    let parsed = |text: &str| {
        let url = Url::parse(text).ok().filter(Url::has_host);
        url.ok_or_else(|| {
            Error::invalid(
                "auth-url",
                format!("{text:?} is no URL like https://cloud.example:5000/v3"),
            )
        })
    };
    if trimmed.ends_with("/v3") {
        return Ok(AuthUrl::Versioned(parsed(trimmed)?));
    }
    // Keystone has had no v2.0 since 2018, but old files still name it.
    let plain = trimmed.strip_suffix("/v2.0").unwrap_or(trimmed);
    Ok(AuthUrl::Plain(parsed(plain)?))
}

/// The URL of version 3: the link that Keystone gives, unless that is on another host. Behind a proxy, Keystone may not know its
/// own name.
///
/// # Errors
/// [`Error::Invalid`] if Keystone has no version 3.
pub fn newest(url: &Url, versions: &[Version]) -> Result<Url> {
    const USABLE: [&str; 3] = ["stable", "current", "supported"];
    let usable = |version: &&Version| {
        version.id.starts_with("v3") && USABLE.contains(&version.status.to_ascii_lowercase().as_str())
    };
    let Some(version) = versions.iter().find(usable) else {
        let ids: Vec<_> = versions.iter().map(|version| version.id.as_str()).collect();
        return Err(Error::invalid(
            "auth-url",
            format!("Keystone has no version 3; it has {}", ids.join(", ")),
        ));
    };
    let link = version.links.iter().find(|link| link.rel == "self");
    let link = link.and_then(|link| Url::parse(&link.href).ok());
    Ok(link
        .filter(|link| link.origin() == url.origin())
        .unwrap_or_else(|| v3(url)))
}

/// The usual URL of version 3.
pub fn v3(url: &Url) -> Url {
    let mut url = url.clone();
    let path = format!("{}/v3", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::versioned("https://k:5000/v3", "as is https://k:5000/v3")]
    #[case::slash("https://k/identity/v3/", "as is https://k/identity/v3")]
    #[case::plain("https://k:5000", "ask https://k:5000/")]
    #[case::path("https://k/identity/", "ask https://k/identity")]
    #[case::old("https://k:5000/v2.0/", "ask https://k:5000/")]
    #[case::missing("", "invalid auth-url: the URL of Keystone is missing")]
    #[case::no_url(
        "keystone",
        r#"invalid auth-url: "keystone" is no URL like https://cloud.example:5000/v3"#
    )]
    fn auth_urls(#[case] given: &str, #[case] expected: &str) {
        let found = match parse(given) {
            Ok(AuthUrl::Versioned(url)) => format!("as is {url}"),
            Ok(AuthUrl::Plain(url)) => format!("ask {url}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case::link("v3.14", "stable", "https://k:5000/other/v3/", "https://k:5000/other/v3/")]
    #[case::foreign_host("v3.14", "stable", "http://10.0.0.1/v3/", "https://k:5000/v3")]
    #[case::no_link("v3.14", "CURRENT", "", "https://k:5000/v3")]
    #[case::too_old("v2.0", "stable", "", "invalid auth-url: Keystone has no version 3; it has v2.0")]
    #[case::experimental(
        "v3.99",
        "experimental",
        "",
        "invalid auth-url: Keystone has no version 3; it has v3.99"
    )]
    fn versions(#[case] id: &str, #[case] status: &str, #[case] href: &str, #[case] expected: &str) {
        let version: Version = serde_json::from_value(serde_json::json!({
            "id": id, "status": status, "links": [{"rel": "self", "href": href}],
        }))
        .unwrap();
        let found = newest(&Url::parse("https://k:5000").unwrap(), &[version]);
        assert_eq!(found.map_or_else(|error| error.to_string(), String::from), expected);
    }
}
