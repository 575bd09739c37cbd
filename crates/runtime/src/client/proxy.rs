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
        let variable = |upper, lower| {
            std::env::var(upper)
                .or_else(|_| std::env::var(lower))
                .unwrap_or_default()
        };
        Self {
            http: variable("HTTP_PROXY", "http_proxy"),
            https: variable("HTTPS_PROXY", "https_proxy"),
            no: variable("NO_PROXY", "no_proxy"),
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
            Ok(url) if matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some() => Ok(Some(url)),
            // The value itself may have a password in it.
            _ => Err(ConfigError::new(format!(
                "{variable} in the environment is not the URL of an http or https proxy"
            ))),
        }
    }

    fn excludes(&self, server: &Uri) -> bool {
        let any = "http://any";
        Matcher::builder()
            .http(any)
            .https(any)
            .no(self.no.as_str())
            .build()
            .intercept(server)
            .is_none()
    }
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
    #[case::socks(
        "socks5://me:secret@proxy",
        Err("HTTPS_PROXY in the environment is not the URL of an http or https proxy")
    )]
    #[case::garbage(
        "http://",
        Err("HTTPS_PROXY in the environment is not the URL of an http or https proxy")
    )]
    fn is_read_off_the_variable(#[case] variable: &str, #[case] expected: Result<Option<&str>, &str>) {
        let proxy = environment(variable).proxy_for(&Uri::from_static("https://api.example"));
        let proxy = proxy
            .map(|proxy| proxy.map(|proxy| proxy.to_string()))
            .map_err(|error| error.to_string());
        assert_eq!(proxy.as_ref().map(Option::as_deref).map_err(String::as_str), expected);
    }
}
