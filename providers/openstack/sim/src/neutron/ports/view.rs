//! A port as Neutron shows it.

use super::{Fixed, Pair, Port};
use crate::{
    keystone::Rights,
    neutron::{Context, Neutron},
};
use serde_json::{Value, json};
use std::net::IpAddr;

pub(super) fn view(port: &Port, neutron: &Neutron, context: &Context<'_>) -> Value {
    let mut view = port.standard.complete(json!({
        "id": port.id, "network_id": port.network, "mac_address": port.mac_text(), "admin_state_up": port.admin_up,
        "status": port.status.as_str(), "device_id": port.device_id, "device_owner": port.device_owner,
        "fixed_ips": port.fixed.iter().map(fixed).collect::<Vec<_>>(), "security_groups": port.groups,
        "extra_dhcp_opts": [], "binding:vnic_type": "normal", "port_security_enabled": port.secured,
        "dns_name": port.dns_name, "dns_assignment": port.fixed.iter().map(|one| assignment(port, one)).collect::<Vec<_>>(),
    }));
    if context.is_on("allowed-address-pairs") {
        view["allowed_address_pairs"] = port.pairs.iter().map(pair).collect();
    }
    if context.is_on("trunk-details")
        && let Some(details) = neutron.trunk_details(port.id)
    {
        view["trunk_details"] = details;
    }
    if context.ask.caller.rights == Rights::Admin {
        bind(&mut view, port);
    }
    view
}

fn bind(view: &mut Value, port: &Port) {
    let bound = !port.host.is_empty();
    view["binding:host_id"] = json!(port.host);
    view["binding:profile"] = json!({});
    view["binding:vif_type"] = json!(if bound { "ovs" } else { "unbound" });
    view["binding:vif_details"] = if bound {
        json!({"port_filter": true, "bound_drivers": {"0": "lab"}})
    } else {
        json!({})
    };
}

fn fixed(one: &Fixed) -> Value {
    json!({"subnet_id": one.subnet, "ip_address": one.address})
}

fn pair(pair: &Pair) -> Value {
    json!({"ip_address": pair.address, "mac_address": pair.mac})
}

fn assignment(port: &Port, one: &Fixed) -> Value {
    let hostname = if port.dns_name.is_empty() {
        hostname(one.address)
    } else {
        port.dns_name.to_string()
    };
    json!({"ip_address": one.address, "fqdn": format!("{hostname}.lab.local."), "hostname": hostname})
}

fn hostname(address: IpAddr) -> String {
    format!("host-{}", address.to_string().replace(['.', ':'], "-"))
}
