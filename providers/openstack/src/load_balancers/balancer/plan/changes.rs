//! The differences between an observed object and the desired one.

use crate::{
    api::octavia::{
        Listener, ListenerChange, Monitor, MonitorChange, NewListener, NewMonitor, NewPool, Persistence, Pool,
        PoolChange,
    },
    load_balancers::{balancer::desired::merged_headers, names, ownership::Relation},
};
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};

/// All tags, if any of the desired ones is missing: existing tags are kept, except for the previous name of the Service.
pub(super) fn marked(there: &[String], wanted: &[String], relation: &Relation) -> Option<Vec<String>> {
    let is_previous = |tag: &&String| relation.previous_name.as_ref() == Some(*tag);
    let missing = wanted.iter().any(|tag| !there.contains(tag));
    if !missing && !there.iter().any(|tag| is_previous(&tag)) {
        return None;
    }
    let mut tags: Vec<String> = there.iter().filter(|tag| !is_previous(tag)).cloned().collect();
    tags.extend(wanted.iter().filter(|tag| !there.contains(tag)).cloned());
    Some(tags)
}

/// The name of a child, if it still has the previous name of the cluster.
pub(super) fn renamed(kind: &str, name: &str, relation: &Relation) -> Option<String> {
    let previous_name = relation.previous_name.as_ref()?;
    let renamed = names::renamed_child(kind, name, previous_name, &relation.name)?;
    // Two long names may be truncated to the same.
    Some(renamed).filter(|renamed| renamed != name)
}

/// What to change about a listener; of its headers only those that are `governed`.
pub(super) fn listener_change(
    there: &Listener,
    wanted: &NewListener,
    governed: &[&str],
    relation: &Relation,
) -> Option<ListenerChange> {
    let differs = |there: Option<i64>, wanted: Option<i64>| wanted.filter(|wanted| there != Some(*wanted));
    let certificate = wanted.default_tls_container_ref.clone().unwrap_or_default();
    let has = |headers: &BTreeMap<String, String>, name: &str| headers.get(name).is_some_and(|on| on == "true");
    let other_headers = governed
        .iter()
        .any(|name| has(&there.insert_headers, name) != has(&wanted.insert_headers, name));
    let change = ListenerChange {
        name: renamed("listener", &there.name, relation),
        connection_limit: Some(wanted.connection_limit).filter(|limit| *limit != there.connection_limit),
        default_tls_container_ref: Some(certificate).filter(|text| *text != there.default_tls_container_ref),
        insert_headers: other_headers.then(|| merged_headers(&there.insert_headers, &wanted.insert_headers, governed)),
        timeout_client_data: differs(there.timeout_client_data, wanted.timeout_client_data),
        timeout_member_connect: differs(there.timeout_member_connect, wanted.timeout_member_connect),
        timeout_member_data: differs(there.timeout_member_data, wanted.timeout_member_data),
        // Octavia's default, which not every release shows.
        timeout_tcp_inspect: differs(there.timeout_tcp_inspect.or(Some(0)), wanted.timeout_tcp_inspect),
        tags: marked(&there.tags, &wanted.tags, relation),
        allowed_cidrs: (!wanted.allowed_cidrs.is_empty() && !same_ranges(&there.allowed_cidrs, &wanted.allowed_cidrs))
            .then(|| wanted.allowed_cidrs.clone()),
    };
    (change != ListenerChange::default()).then_some(change)
}

/// Whether both allow the same clients; without ranges all clients are allowed.
fn same_ranges(there: &[String], wanted: &[String]) -> bool {
    let read = |texts: &[String]| -> BTreeSet<IpNet> {
        texts
            .iter()
            .filter_map(|text| text.parse().ok())
            .map(|net: IpNet| net.trunc())
            .collect()
    };
    let wanted = read(wanted);
    if there.is_empty() {
        return wanted.iter().all(|range| range.prefix_len() == 0);
    }
    read(there) == wanted
}

/// One change for each field that Octavia may refuse by itself.
pub(super) fn pool_changes(there: &Pool, wanted: &NewPool, relation: &Relation) -> Vec<PoolChange> {
    let sticky = |persistence: Option<&str>| persistence == Some("SOURCE_IP");
    let (is, should) = (&there.session_persistence, &wanted.session_persistence);
    // Persistence of another kind was set by a user, and is kept unless the Service asks for its own.
    let kind = |persistence: &Option<Persistence>| persistence.as_ref().map(|persistence| persistence.kind.clone());
    let affinity = sticky(kind(is).as_deref()) != sticky(kind(should).as_deref());
    let marks = PoolChange {
        name: renamed("pool", &there.name, relation),
        tags: marked(&there.tags, &wanted.tags, relation),
        ..PoolChange::default()
    };
    let algorithm = PoolChange {
        lb_algorithm: Some(wanted.lb_algorithm.clone()).filter(|algorithm| *algorithm != there.lb_algorithm),
        ..PoolChange::default()
    };
    let persistence = PoolChange {
        session_persistence: affinity.then(|| should.clone()),
        ..PoolChange::default()
    };
    let changes = [marks, algorithm, persistence];
    changes
        .into_iter()
        .filter(|change| *change != PoolChange::default())
        .collect()
}

pub(super) fn monitor_change(there: &Monitor, wanted: &NewMonitor) -> Option<MonitorChange> {
    // As in occm, 0 is never sent: the existing value is kept.
    let differs = |there: i64, wanted: i64| Some(wanted).filter(|wanted| *wanted != there && *wanted != 0);
    let change = MonitorChange {
        name: Some(wanted.name.clone()).filter(|name| *name != there.name),
        delay: differs(there.delay, wanted.delay),
        timeout: differs(there.timeout, wanted.timeout),
        max_retries: differs(there.max_retries, wanted.max_retries),
        max_retries_down: differs(there.max_retries_down, wanted.max_retries_down),
    };
    (change != MonitorChange::default()).then_some(change)
}
