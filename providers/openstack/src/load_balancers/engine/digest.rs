//! The inputs of a reconcile: the fingerprint in the record, and the version of a load balancer.

use crate::{
    api::octavia::LoadBalancer,
    config::{Class, Config, LoadBalancer as Defaults},
    load_balancers::{annotations as key, features::Features, settings::Settings},
};
use cloud::Spec;
use provider_kit::load_balancer::{Digest, Fields, fingerprint};
use serde_json::{Value, json};
use std::sync::Arc;

/// What the Service asks for, and the features of Octavia, which may be more after an upgrade. What the manager writes itself does not count.
pub(super) fn digest(spec: &Spec, settings: &Settings, features: Features, config: &Config) -> Digest {
    let written = [
        key::LOAD_BALANCER_ADDRESS.key,
        key::LOAD_BALANCER_ID.key,
        key::RECORD.key,
    ];
    let is_relevant = |name: &str| name.contains("openstack") && !written.contains(&name);
    let hosts = settings.node_selector.select(&spec.hosts);
    let chosen = spec
        .annotations
        .get(key::CLASS.key)
        .and_then(|name| config.classes.get(name));
    let mut more = defaults(&config.load_balancer);
    more.insert("features", self::features(features));
    more.insert("class", chosen.map_or(Value::Null, class));
    Digest::new(spec, is_relevant, hosts.into_iter().map(Arc::as_ref), &more)
}

/// Changes whenever a load balancer or anything on it does, except if another program changes something in place within the same second as the
/// change before: Octavia's timestamps are in whole seconds.
pub(super) fn version(balancer: &LoadBalancer) -> String {
    let children = balancer.listeners.iter().chain(&balancer.pools);
    let mut children: Vec<&str> = children.map(|of| of.id.as_str()).collect();
    children.sort_unstable();
    let changed = balancer.updated_at.as_ref().or(balancer.created_at.as_ref());
    let children = fingerprint(&children);
    format!("{} {}", changed.map_or("", String::as_str), &children[..16])
}

/// Each key of `[LoadBalancer]` that a load balancer depends on, by its name in the file.
fn defaults(defaults: &Defaults) -> Fields {
    let Defaults {
        enabled: _,
        lb_provider,
        lb_method,
        networks,
        create_monitor,
        monitor_delay,
        monitor_timeout,
        monitor_max_retries,
        monitor_max_retries_down,
        manage_security_groups,
        internal_lb,
        node_selector,
        cascade_delete: _,
        flavor_id,
        availability_zone,
        enable_ingress_hostname,
        ingress_hostname_suffix,
        default_tls_container_ref,
        container_store,
        max_shared_lb: _,
        provider_requires_serial_api_calls,
    } = defaults;
    Fields::from([
        ("lb-provider", json!(lb_provider)),
        ("lb-method", json!(lb_method)),
        ("networks", class(networks)),
        ("create-monitor", json!(create_monitor)),
        ("monitor-delay", json!(monitor_delay.as_secs())),
        ("monitor-timeout", json!(monitor_timeout.as_secs())),
        ("monitor-max-retries", json!(monitor_max_retries)),
        ("monitor-max-retries-down", json!(monitor_max_retries_down)),
        ("manage-security-groups", json!(manage_security_groups)),
        ("internal-lb", json!(internal_lb)),
        ("node-selector", json!(node_selector)),
        ("flavor-id", json!(flavor_id)),
        ("availability-zone", json!(availability_zone)),
        ("enable-ingress-hostname", json!(enable_ingress_hostname)),
        ("ingress-hostname-suffix", json!(ingress_hostname_suffix)),
        ("default-tls-container-ref", json!(default_tls_container_ref)),
        ("container-store", json!(container_store)),
        (
            "provider-requires-serial-api-calls",
            json!(provider_requires_serial_api_calls),
        ),
    ])
}

fn class(class: &Class) -> Value {
    let Class {
        floating_network_id,
        floating_subnet_id,
        floating_subnet,
        floating_subnet_tags,
        network_id,
        subnet_id,
        member_subnet_id,
    } = class;
    json!([
        floating_network_id,
        floating_subnet_id,
        floating_subnet,
        floating_subnet_tags,
        network_id,
        subnet_id,
        member_subnet_id
    ])
}

fn features(features: Features) -> Value {
    let Features {
        tags,
        source_ranges,
        flavors,
        timeouts,
        zones,
        http_monitors,
        http_monitors_on_udp,
        additional_vips,
    } = features;
    json!([
        tags,
        source_ranges,
        flavors,
        timeouts,
        zones,
        http_monitors,
        http_monitors_on_udp,
        additional_vips
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::octavia::Id;
    use cloud::Host;
    use provider_kit::load_balancer::record;
    use rstest::rstest;

    fn spec() -> Spec {
        let host = |name: &str| {
            Arc::new(Host {
                name: name.into(),
                ..Host::default()
            })
        };
        Spec {
            hosts: [host("a"), host("b")].into(),
            ..Spec::default()
        }
    }

    fn labelled(spec: &mut Spec, label: &str) {
        let host = Host {
            labels: [(label.to_owned(), "v".to_owned())].into(),
            ..(*spec.hosts[0]).clone()
        };
        spec.hosts = [Arc::new(host), Arc::clone(&spec.hosts[1])].into();
    }

    fn of(spec: &Spec, config: &Config) -> Digest {
        let features = Features::oldest("amphora");
        digest(spec, &Settings::unchecked(spec, config), features, config)
    }

    #[rstest]
    #[case::nothing(|_: &mut Spec, _: &mut Config| (), true)]
    #[case::a_label_that_is_not_selected_by(|spec: &mut Spec, _: &mut Config| labelled(spec, "k"), true)]
    #[case::written(|spec: &mut Spec, _: &mut Config| { spec.annotations.insert(key::LOAD_BALANCER_ID.key.into(), "x".into()); }, true)]
    #[case::another_annotation(|spec: &mut Spec, _: &mut Config| { spec.annotations.insert("example.com/x".into(), "x".into()); }, true)]
    #[case::an_annotation(|spec: &mut Spec, _: &mut Config| { spec.annotations.insert(key::LB_METHOD.key.into(), "x".into()); }, false)]
    #[case::a_default(|_: &mut Spec, config: &mut Config| config.load_balancer.create_monitor = true, false)]
    #[case::a_network(|_: &mut Spec, config: &mut Config| config.load_balancer.networks.subnet_id = "x".into(), false)]
    #[case::how_it_is_deleted(|_: &mut Spec, config: &mut Config| config.load_balancer.cascade_delete = false, true)]
    #[case::the_selected_nodes(|_: &mut Spec, config: &mut Config| config.load_balancer.node_selector = "k".into(), false)]
    fn depends(#[case] change: fn(&mut Spec, &mut Config), #[case] same: bool) {
        let (mut spec, mut config) = (spec(), Config::default());
        let before = of(&spec, &config);
        change(&mut spec, &mut config);
        assert_eq!(of(&spec, &config) == before, same);
    }

    #[rstest]
    #[case::nothing(|_: &mut LoadBalancer| (), true)]
    #[case::changed(|balancer: &mut LoadBalancer| balancer.updated_at = Some("2026-11-16T02:00:01".into()), false)]
    #[case::within_the_same_second(|balancer: &mut LoadBalancer| balancer.pools.push(Id::of("pool")), false)]
    fn versions(#[case] change: fn(&mut LoadBalancer), #[case] same: bool) {
        let mut balancer = LoadBalancer {
            updated_at: Some("2026-11-16T02:00:00".into()),
            ..LoadBalancer::default()
        };
        let before = version(&balancer);
        change(&mut balancer);
        assert_eq!(version(&balancer) == before, same);
    }

    #[test]
    fn the_record_is_documented_under_its_key() {
        assert_eq!(key::RECORD.key, record::ANNOTATION);
    }
}
