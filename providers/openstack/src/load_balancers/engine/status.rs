//! The status of a Service. Pure.

use crate::{config::LoadBalancer as Defaults, load_balancers::settings::Settings};
use cloud::{Ingress, IpMode, Status};

/// The status of a Service that is reached by these addresses, in order.
pub(crate) fn status(addresses: &[String], settings: &Settings, defaults: &Defaults) -> Status {
    if let Some(hostname) = &settings.hostname {
        return Status {
            ingress: vec![named(hostname.clone())],
        };
    }
    let ingress = addresses.iter().map(|address| match settings.proxy {
        Some(_) if defaults.enable_ingress_hostname => named(format!("{address}.{}", defaults.ingress_hostname_suffix)),
        // Nodes must send traffic through the load balancer: only it speaks the PROXY protocol.
        Some(_) => addressed(address, IpMode::Proxy),
        None => addressed(address, IpMode::Vip),
    });
    Status {
        ingress: ingress.collect(),
    }
}

fn named(hostname: String) -> Ingress {
    Ingress {
        hostname: Some(hostname),
        ..Ingress::default()
    }
}

fn addressed(ip: &str, mode: IpMode) -> Ingress {
    Ingress {
        ip: Some(ip.to_owned()),
        ip_mode: Some(mode),
        ..Ingress::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Config,
        load_balancers::{annotations as key, settings::Settings},
    };
    use cloud::Spec;
    use rstest::rstest;

    fn words(status: &Status) -> String {
        let one = |ingress: &Ingress| match (&ingress.hostname, &ingress.ip, ingress.ip_mode) {
            (Some(name), None, None) => name.clone(),
            (None, Some(ip), Some(mode)) => format!("{ip} {mode:?}"),
            other => format!("{other:?}"),
        };
        status.ingress.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    // upstream: openstack 37
    #[rstest]
    #[case("hostname annotation", "testHostName", "false", false, "testHostName")]
    #[case(
        "PROXY + enable-ingress-hostname",
        "",
        "true",
        true,
        "10.10.0.6.test, 2001:db8::6.test"
    )]
    #[case("plain", "", "false", true, "10.10.0.6 Vip, 2001:db8::6 Vip")]
    #[case(
        "PROXY without hostname option",
        "",
        "v2",
        false,
        "10.10.0.6 Proxy, 2001:db8::6 Proxy"
    )]
    fn status_of_the_service(
        #[case] row: &str,
        #[case] hostname: &str,
        #[case] proxy: &str,
        #[case] names: bool,
        #[case] expected: &str,
    ) {
        let mut config = Config::default();
        config.load_balancer.enable_ingress_hostname = names;
        config.load_balancer.ingress_hostname_suffix = "test".into();
        let annotations = [(key::HOSTNAME.key, hostname), (key::PROXY_PROTOCOL.key, proxy)];
        let spec = Spec {
            annotations: annotations
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..Spec::default()
        };
        let settings = Settings::of(&spec, &config).unwrap();
        let addresses = ["10.10.0.6".to_owned(), "2001:db8::6".to_owned()];
        assert_eq!(
            words(&status(&addresses, &settings, &config.load_balancer)),
            expected,
            "{row}"
        );
    }
}
