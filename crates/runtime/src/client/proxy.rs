//! Proxy selection by the environment.

use super::config::ConfigError;
use http::Uri;
use outbound::Environment;

/// The proxy for this server, if any. A server on this machine never has one.
pub(super) fn find(environment: &Environment, server: &Uri) -> Result<Option<Uri>, ConfigError> {
    let (scheme, host) = (
        server.scheme_str().unwrap_or_default(),
        server.host().unwrap_or_default(),
    );
    let Some(proxy) = environment.proxy_for(scheme, host, server.port_u16()) else {
        return Ok(None);
    };
    match proxy.url().parse::<Uri>() {
        Ok(url) if is_supported(&url) => Ok(Some(url)),
        // The value may contain a password.
        _ => Err(ConfigError::new(format!(
            "{} in the environment is not the URL of an http, https or socks5 proxy",
            proxy.variable
        ))),
    }
}

/// Whether this is the URL of a supported proxy.
pub(super) fn is_supported(url: &Uri) -> bool {
    matches!(url.scheme_str(), Some("http" | "https" | "socks5" | "socks5h")) && url.host().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn environment(https: &str) -> Environment {
        Environment::of(|name| match name {
            "HTTPS_PROXY" => Some(https.to_owned()),
            "HTTP_PROXY" => Some("http://plain:3128".to_owned()),
            "NO_PROXY" => Some("internal,10.0.0.0/8,.below:6443".to_owned()),
            _ => None,
        })
    }

    #[rstest]
    #[case::https("https://api.example:6443", Some("http://proxy:3128/"))]
    #[case::http("http://api.example", Some("http://plain:3128/"))]
    #[case::excluded_name("https://internal", None)]
    #[case::excluded_subdomain("https://a.b.internal:6443", None)]
    #[case::excluded_network("https://10.1.2.3:6443", None)]
    #[case::excluded_port("https://api.below:6443", None)]
    #[case::another_port("https://api.below", Some("http://proxy:3128/"))]
    #[case::other_network("https://192.0.2.1:6443", Some("http://proxy:3128/"))]
    #[case::localhost("https://localhost:6443", None)]
    #[case::loopback("https://127.0.0.5:6443", None)]
    #[case::loopback_v6("https://[::1]:6443", None)]
    fn is_chosen_by_the_server(#[case] server: &'static str, #[case] expected: Option<&str>) {
        let proxy = find(&environment("http://proxy:3128"), &Uri::from_static(server)).unwrap();
        assert_eq!(proxy.map(|proxy| proxy.to_string()).as_deref(), expected);
    }

    #[rstest]
    #[case::without_a_scheme("proxy:3128", Ok(Some("http://proxy:3128/")))]
    #[case::with_credentials("http://me:secret@proxy:3128", Ok(Some("http://me:secret@proxy:3128/")))]
    #[case::over_tls("https://proxy", Ok(Some("https://proxy/")))]
    #[case::none("", Ok(None))]
    #[case::socks("socks5://me:secret@proxy", Ok(Some("socks5://me:secret@proxy/")))]
    #[case::socks_with_names("socks5h://proxy:1080", Ok(Some("socks5h://proxy:1080/")))]
    #[case::other_scheme(
        "ftp://me:secret@proxy",
        Err("HTTPS_PROXY in the environment is not the URL of an http, https or socks5 proxy")
    )]
    #[case::garbage(
        "http://",
        Err("HTTPS_PROXY in the environment is not the URL of an http, https or socks5 proxy")
    )]
    fn is_parsed_from_the_variable(#[case] variable: &str, #[case] expected: Result<Option<&str>, &str>) {
        let proxy = find(&environment(variable), &Uri::from_static("https://api.example"));
        let proxy = proxy
            .map(|proxy| proxy.map(|proxy| proxy.to_string()))
            .map_err(|error| error.to_string());
        assert_eq!(proxy.as_ref().map(Option::as_deref).map_err(String::as_str), expected);
    }
}
