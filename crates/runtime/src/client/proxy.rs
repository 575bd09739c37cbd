//! Which proxy the environment asks for, by the rules of Go's `http.ProxyFromEnvironment`.

use super::config::ConfigError;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use std::net::IpAddr;

/// What the environment says about proxies.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment {
    /// `HTTP_PROXY`
    http: String,
    /// `HTTPS_PROXY`
    https: String,
    /// `NO_PROXY`
    no: String,
}

impl Environment {
    pub(super) fn of_process() -> Self {
        Self::of(|name| std::env::var(name).ok())
    }

    /// What these variables say. Capitals win; an empty one counts as not given.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let get = |name: &str| {
            given(name)
                .or_else(|| given(&name.to_ascii_lowercase()))
                .unwrap_or_default()
        };
        Self {
            http: get("HTTP_PROXY"),
            https: get("HTTPS_PROXY"),
            no: get("NO_PROXY"),
        }
    }

    /// The proxy for this server, if any. The machine itself is never reached through one.
    pub(super) fn proxy_for(&self, server: &Uri) -> Result<Option<Uri>, ConfigError> {
        let (variable, proxy) = match server.scheme_str() {
            Some("https") => ("HTTPS_PROXY", &self.https),
            _ => ("HTTP_PROXY", &self.http),
        };
        let host = server.host().unwrap_or_default();
        if proxy.is_empty() || is_local(host) || self.excludes(server) {
            return Ok(None);
        }
        let url = if proxy.contains("://") {
            proxy.clone()
        } else {
            format!("http://{proxy}")
        };
        match url.parse::<Uri>() {
            Ok(url) if is_supported(&url) => Ok(Some(url)),
            // The value itself may have a password in it.
            _ => Err(ConfigError::new(format!(
                "{variable} in the environment is not the URL of an http, https or socks5 proxy"
            ))),
        }
    }

    fn excludes(&self, server: &Uri) -> bool {
        let entries: Vec<_> = self.no.split(',').map(|entry| without_star(entry.trim())).collect();
        // To the layer beneath this means all names, and no addresses.
        if entries.contains(&"*") {
            return true;
        }
        let any = "http://any";
        Matcher::builder()
            .http(any)
            .https(any)
            .no(entries.join(","))
            .build()
            .intercept(server)
            .is_none()
    }
}

/// Whether this is the URL of a proxy that we can go through.
pub(super) fn is_supported(url: &Uri) -> bool {
    matches!(url.scheme_str(), Some("http" | "https" | "socks5" | "socks5h")) && url.host().is_some()
}

/// `*.example.com` is `.example.com`, which the layer beneath knows.
fn without_star(entry: &str) -> &str {
    entry
        .strip_prefix('*')
        .filter(|rest| rest.starts_with('.'))
        .unwrap_or(entry)
}

fn is_local(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn environment(https: &str) -> Environment {
        Environment {
            https: https.into(),
            http: "http://plain:3128".into(),
            no: "internal,10.0.0.0/8".into(),
        }
    }

    #[rstest]
    #[case::https("https://api.example:6443", Some("http://proxy:3128/"))]
    #[case::http("http://api.example", Some("http://plain:3128/"))]
    #[case::excluded_name("https://internal", None)]
    #[case::excluded_subdomain("https://a.b.internal:6443", None)]
    #[case::excluded_network("https://10.1.2.3:6443", None)]
    #[case::other_network("https://192.0.2.1:6443", Some("http://proxy:3128/"))]
    #[case::localhost("https://localhost:6443", None)]
    #[case::loopback("https://127.0.0.5:6443", None)]
    #[case::loopback_v6("https://[::1]:6443", None)]
    fn is_chosen_by_the_server(#[case] server: &'static str, #[case] expected: Option<&str>) {
        let proxy = environment("http://proxy:3128")
            .proxy_for(&Uri::from_static(server))
            .unwrap();
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
    fn is_read_off_the_variable(#[case] variable: &str, #[case] expected: Result<Option<&str>, &str>) {
        let proxy = environment(variable).proxy_for(&Uri::from_static("https://api.example"));
        let proxy = proxy
            .map(|proxy| proxy.map(|proxy| proxy.to_string()))
            .map_err(|error| error.to_string());
        assert_eq!(proxy.as_ref().map(Option::as_deref).map_err(String::as_str), expected);
    }

    /// By the variables, which server is reached through which proxy.
    #[rstest]
    #[case::capitals_win("HTTPS_PROXY=one https_proxy=two", "https://api.example", Some("http://one/"))]
    #[case::small_letters("https_proxy=two", "https://api.example", Some("http://two/"))]
    #[case::empty_is_not_given("HTTPS_PROXY= https_proxy=two", "https://api.example", Some("http://two/"))]
    #[case::empty_exceptions("HTTPS_PROXY=one NO_PROXY= no_proxy=example", "https://api.example", None)]
    #[case::no_name("HTTPS_PROXY=one NO_PROXY=*", "https://api.example", None)]
    #[case::no_address("HTTPS_PROXY=one NO_PROXY=10.0.0.1,*", "https://192.0.2.1:6443", None)]
    #[case::no_address_v6("HTTPS_PROXY=one NO_PROXY=*", "https://[2001:db8::1]:6443", None)]
    #[case::star("HTTPS_PROXY=one NO_PROXY=*.example", "https://api.example", None)]
    #[case::star_of_another("HTTPS_PROXY=one NO_PROXY=*.sample", "https://api.example", Some("http://one/"))]
    fn is_read_off_the_environment(
        #[case] variables: &str,
        #[case] server: &'static str,
        #[case] expected: Option<&str>,
    ) {
        let environment = Environment::of(|name| {
            let mut variables = variables.split(' ').filter_map(|variable| variable.split_once('='));
            let found = variables.find(|(other, _)| *other == name);
            found.map(|(_, value)| value.to_owned())
        });
        let proxy = environment.proxy_for(&Uri::from_static(server)).unwrap();
        assert_eq!(proxy.map(|proxy| proxy.to_string()).as_deref(), expected);
    }
}
