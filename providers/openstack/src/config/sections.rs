//! `[LoadBalancer]`, its classes, `[Networking]` and `[Metadata]`.

use super::{Class, Ipv6, LoadBalancer, Networking, error::Error, keys::CLASS};
use ipnet::IpNet;
use provider_kit::keys::Settings;
use std::{collections::BTreeMap, time::Duration};

/// `[Metadata] request-timeout` if it is not given.
pub(super) const TIMEOUT: Duration = Duration::from_mins(1);

const LB: &str = "LoadBalancer";
const PROVIDERS: [&str; 5] = ["amphora", "octavia", "amphorav2", "ovn", "f5"];
const STORES: [&str; 2] = ["barbican", "external"];
const SEARCH: [&str; 2] = ["configDrive", "metadataService"];

/// `[LoadBalancer]`
pub(super) fn load_balancer(settings: &Settings, warnings: &mut Vec<String>) -> Result<LoadBalancer, Error> {
    let default = LoadBalancer::default();
    let flag = |key, default| settings.boolean(LB, key).unwrap_or(default);
    let number = |key, default| settings.number(LB, key).unwrap_or(default);
    let text = |key, default: String| settings.given(LB, "", key).map_or(default, str::to_owned);
    let read = LoadBalancer {
        enabled: flag("enabled", default.enabled),
        lb_provider: text("lb-provider", default.lb_provider),
        lb_method: text("lb-method", default.lb_method),
        networks: class(settings, LB, ""),
        create_monitor: flag("create-monitor", default.create_monitor),
        monitor_delay: seconds(settings, "monitor-delay", default.monitor_delay, warnings),
        monitor_timeout: seconds(settings, "monitor-timeout", default.monitor_timeout, warnings),
        monitor_max_retries: number("monitor-max-retries", default.monitor_max_retries),
        monitor_max_retries_down: number("monitor-max-retries-down", default.monitor_max_retries_down),
        manage_security_groups: flag("manage-security-groups", default.manage_security_groups),
        internal_lb: flag("internal-lb", default.internal_lb),
        node_selector: text("node-selector", default.node_selector),
        cascade_delete: flag("cascade-delete", default.cascade_delete),
        flavor_id: text("flavor-id", default.flavor_id),
        availability_zone: text("availability-zone", default.availability_zone),
        enable_ingress_hostname: flag("enable-ingress-hostname", default.enable_ingress_hostname),
        ingress_hostname_suffix: text("ingress-hostname-suffix", default.ingress_hostname_suffix),
        default_tls_container_ref: text("default-tls-container-ref", default.default_tls_container_ref),
        container_store: text("container-store", default.container_store),
        max_shared_lb: number("max-shared-lb", default.max_shared_lb),
        provider_requires_serial_api_calls: flag(
            "provider-requires-serial-api-calls",
            default.provider_requires_serial_api_calls,
        ),
    };
    check(settings, &read, warnings)?;
    Ok(read)
}

/// `[LoadBalancerClass "name"]`; the one without a name has an empty one.
pub(super) fn classes(settings: &Settings) -> BTreeMap<String, Class> {
    let names = settings.subsections(CLASS);
    names
        .map(|name| (name.to_owned(), class(settings, CLASS, name)))
        .collect()
}

/// `[Networking]`
pub(super) fn networking(settings: &Settings, warnings: &mut Vec<String>) -> Networking {
    const SECTION: &str = "Networking";
    let names = |key| settings.list(SECTION, key).unwrap_or_default().to_vec();
    let disabled = settings.boolean(SECTION, "ipv6-support-disabled").unwrap_or_default();
    Networking {
        ipv6: if disabled { Ipv6::Disabled } else { Ipv6::Enabled },
        public_network_names: names("public-network-name"),
        internal_network_names: names("internal-network-name"),
        address_sort_order: sort_order(settings, warnings),
    }
}

/// `[Metadata] request-timeout`
pub(super) fn request_timeout(settings: &Settings, warnings: &mut Vec<String>) -> Duration {
    let Some(given) = settings.duration("Metadata", "request-timeout") else {
        return TIMEOUT;
    };
    match given.to_std() {
        Some(Duration::ZERO) => TIMEOUT,
        Some(timeout) => timeout,
        None => {
            let place = settings.position("Metadata", "request-timeout");
            warnings.push(format!(
                "{place}: request-timeout is negative, {TIMEOUT:?} is used: write a positive one"
            ));
            TIMEOUT
        }
    }
}

/// `[Metadata] search-order`: nothing reads metadata, but a wrong one has always been refused.
pub(super) fn search_order(settings: &Settings) -> Result<String, Error> {
    let order = settings
        .text("Metadata", "search-order")
        .map_or_else(|| SEARCH.join(","), str::to_owned);
    let place = settings.position("Metadata", "search-order");
    check_search_order(&order).map_err(|problem| Error::new(format!("{place}: {problem}")))?;
    Ok(order)
}

fn check_search_order(order: &str) -> Result<(), String> {
    let items: Vec<&str> = order.split(',').map(str::trim).collect();
    if items.len() > SEARCH.len() {
        return Err("search-order has more than two items: write configDrive, metadataService or both".to_owned());
    }
    match items.iter().find(|item| !SEARCH.contains(item)) {
        Some(item) => Err(format!(
            "search-order has no item {item:?}: write configDrive, metadataService or both"
        )),
        None => Ok(()),
    }
}

fn class(settings: &Settings, section: &'static str, subsection: &str) -> Class {
    let text = |key| settings.given(section, subsection, key).unwrap_or_default().to_owned();
    Class {
        floating_network_id: text("floating-network-id"),
        floating_subnet_id: text("floating-subnet-id"),
        floating_subnet: text("floating-subnet"),
        floating_subnet_tags: text("floating-subnet-tags"),
        network_id: text("network-id"),
        subnet_id: text("subnet-id"),
        member_subnet_id: text("member-subnet-id"),
    }
}

/// Octavia knows whole seconds only.
fn seconds(settings: &Settings, key: &'static str, default: Duration, warnings: &mut Vec<String>) -> Duration {
    let Some(written) = settings.duration(LB, key) else {
        return default;
    };
    let place = settings.position(LB, key);
    let Some(given) = written.to_std() else {
        warnings.push(format!(
            "{place}: {key} is negative, {default:?} is used: write a positive one"
        ));
        return default;
    };
    let whole = Duration::from_secs(given.as_secs());
    if whole != given {
        warnings.push(format!(
            "{place}: {key} is cut to whole seconds, {whole:?}: write it so"
        ));
    }
    whole
}

fn check(settings: &Settings, read: &LoadBalancer, warnings: &mut Vec<String>) -> Result<(), Error> {
    let version = settings.text(LB, "lb-version");
    if let Some(version) = version.filter(|version| read.enabled && *version != "v2") {
        let place = settings.position(LB, "lb-version");
        return Err(Error::new(format!(
            "{place}: there is no lb-version {version:?}: write v2, or remove the line"
        )));
    }
    let mut doubt = |key, value: &str, known: &[&str]| {
        if !known.contains(&value) {
            let (place, known) = (settings.position(LB, key), known.join(", "));
            warnings.push(format!(
                "{place}: {key} {value:?} is not tested: known ones are {known}"
            ));
        }
    };
    doubt("lb-provider", &read.lb_provider, &PROVIDERS);
    doubt("container-store", &read.container_store, &STORES);
    Ok(())
}

fn sort_order(settings: &Settings, warnings: &mut Vec<String>) -> Vec<IpNet> {
    let (section, key) = ("Networking", "address-sort-order");
    let text = settings.text(section, key).unwrap_or_default();
    let mut order = Vec::new();
    let separates = |c: char| c == ',' || c.is_whitespace();
    for item in text.split(separates).filter(|item| !item.is_empty()) {
        if let Ok(range) = item.parse::<IpNet>() {
            order.push(range.trunc());
        } else {
            let place = settings.position(section, key);
            warnings.push(format!(
                "{place}: {item:?} in {key} is ignored: write ranges such as 10.0.0.0/8"
            ));
        }
    }
    order
}
