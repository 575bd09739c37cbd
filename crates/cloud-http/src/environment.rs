//! Configures a client's proxies from the environment.

use outbound::{Environment, Exceptions, Proxy};
use reqwest::{ClientBuilder, Url};

/// Makes a client go that way and no other.
pub(crate) fn lead(environment: &Environment, builder: ClientBuilder) -> cloud::Result<ClientBuilder> {
    let Environment {
        http,
        https,
        exceptions,
    } = environment;
    let http = http.as_ref().map(usable).transpose()?;
    let https = https.as_ref().map(usable).transpose()?;
    Ok(through(builder, exceptions.clone(), move |server| {
        match server.scheme() {
            "https" => https.clone(),
            _ => http.clone(),
        }
    }))
}

/// Makes a client go through the proxy of each server, save for the exceptions.
pub(crate) fn through(
    builder: ClientBuilder,
    exceptions: Exceptions,
    proxy: impl Fn(&Url) -> Option<Url> + Send + Sync + 'static,
) -> ClientBuilder {
    let choose = move |server: &Url| {
        let port = server.port_or_known_default().unwrap_or_default();
        let direct = exceptions.contain(server.host_str().unwrap_or_default(), port);
        proxy(server).filter(|_| !direct)
    };
    builder.no_proxy().proxy(reqwest::Proxy::custom(choose))
}

/// The URL of a proxy that can be used. As in Go, a SOCKS proxy resolves names with either scheme; to the layer beneath
/// only the second means that.
pub(crate) fn parse(url: &str) -> Option<Url> {
    let told_names = url
        .strip_prefix("socks5://")
        .map_or_else(|| url.to_owned(), |rest| format!("socks5h://{rest}"));
    let url = Url::parse(&told_names).ok()?;
    (matches!(url.scheme(), "http" | "https" | "socks5h") && url.has_host()).then_some(url)
}

/// The reason is not shown: it quotes the URL.
fn usable(proxy: &Proxy) -> cloud::Result<Url> {
    let refused = || cloud::Error::invalid(proxy.variable, "not a URL like http://proxy.example:3128");
    parse(proxy.url()).ok_or_else(refused)
}
