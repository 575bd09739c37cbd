//! The proxy settings of the environment, as in Go: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case, and
//! no `ALL_PROXY`.

use crate::Exceptions;
use secrecy::{ExposeSecret, SecretString};

/// The proxy settings of the environment.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// For servers without TLS.
    pub http: Option<Proxy>,
    /// For servers with TLS.
    pub https: Option<Proxy>,
    /// The servers without a proxy.
    pub exceptions: Exceptions,
}

/// A proxy from the environment.
#[derive(Debug, Clone)]
pub struct Proxy {
    /// The name of the variable, in upper case.
    pub variable: &'static str,
    /// The URL, with a scheme. Secret, because it may contain a password.
    pub url: SecretString,
}

impl Environment {
    /// The settings of this process.
    #[must_use]
    pub fn read() -> Self {
        Self::of(|name| std::env::var(name).ok())
    }

    /// The settings in these variables. Upper case wins; an empty variable counts as not set.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let get = |name: &str| given(name).or_else(|| given(&name.to_ascii_lowercase()));
        let proxy = |variable| {
            get(variable).map(|value| Proxy {
                variable,
                url: with_scheme(value).into(),
            })
        };
        Self {
            http: proxy("HTTP_PROXY"),
            https: proxy("HTTPS_PROXY"),
            exceptions: Exceptions::parse(&get("NO_PROXY").unwrap_or_default()),
        }
    }

    /// The proxy for this server, if any. The default port is that of the scheme.
    #[must_use]
    pub fn proxy_for(&self, scheme: &str, host: &str, port: Option<u16>) -> Option<&Proxy> {
        let (proxy, usual) = match scheme {
            "https" => (&self.https, 443),
            _ => (&self.http, 80),
        };
        let excepted = self.exceptions.contain(host, port.unwrap_or(usual));
        proxy.as_ref().filter(|_| !excepted)
    }
}

impl Proxy {
    /// The URL, with a scheme.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.expose_secret()
    }
}

fn with_scheme(value: String) -> String {
    if value.contains("://") {
        value
    } else {
        format!("http://{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// The variables, a server, and its proxy.
    #[rstest]
    #[case::none("", "https api.example", "")]
    #[case::with_tls("HTTPS_PROXY=one HTTP_PROXY=two", "https api.example", "http://one")]
    #[case::without_tls("HTTPS_PROXY=one HTTP_PROXY=two", "http api.example", "http://two")]
    #[case::upper_case_wins("HTTPS_PROXY=one https_proxy=two", "https api.example", "http://one")]
    #[case::lower_case("https_proxy=socks5://two", "https api.example", "socks5://two")]
    #[case::empty_is_not_set("HTTPS_PROXY= https_proxy=two", "https api.example", "http://two")]
    #[case::not_for_all("ALL_PROXY=one all_proxy=one", "https api.example", "")]
    #[case::empty_exceptions("HTTPS_PROXY=one NO_PROXY= no_proxy=example", "https api.example", "")]
    #[case::the_usual_port("HTTPS_PROXY=one NO_PROXY=example:443", "https api.example", "")]
    #[case::the_usual_port_without_tls("HTTP_PROXY=one NO_PROXY=example:80", "http api.example", "")]
    #[case::another_port("HTTPS_PROXY=one NO_PROXY=example:443", "https api.example 6443", "http://one")]
    fn selects_a_proxy(#[case] variables: &str, #[case] server: &str, #[case] expected: &str) {
        let environment = Environment::of(|name| {
            let mut variables = variables.split(' ').filter_map(|variable| variable.split_once('='));
            let found = variables.find(|(other, _)| *other == name);
            found.map(|(_, value)| value.to_owned())
        });
        let parts: Vec<_> = server.split(' ').collect();
        let port = parts.get(2).map(|port| port.parse().unwrap());
        let proxy = environment.proxy_for(parts[0], parts[1], port);
        assert_eq!(proxy.map_or("", Proxy::url), expected);
    }
}
