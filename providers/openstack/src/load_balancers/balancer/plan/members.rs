//! The members of a pool.

use crate::{
    api::octavia::{Member, NewMember, Pool},
    load_balancers::balancer::{
        desired::{Key, MemberMode},
        step::Step,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

/// Compares by what is sent, except for the subnet: Octavia does not change it.
pub(super) fn members(
    key: Key,
    pool: Option<&Pool>,
    there: &[Member],
    wanted: &[NewMember],
    mode: MemberMode,
) -> Vec<Step> {
    let pool = pool.map(|pool| pool.id.clone());
    match mode {
        MemberMode::Serial => serial_members(key, pool.as_ref(), there, wanted),
        MemberMode::Batch => {
            let differences = differences(there, wanted);
            let step = (!differences.is_empty()).then(|| Step::SetMembers {
                key,
                pool,
                members: wanted.iter().map(|new| with_monitor_port(there, new)).collect(),
                differences,
            });
            Vec::from_iter(step)
        }
    }
}

/// The body of a member. If it is probed at another port than its own, and should not be, that is sent explicitly: not every Octavia resets what
/// is left out.
fn with_monitor_port(there: &[Member], new: &NewMember) -> NewMember {
    let asked_elsewhere = there
        .iter()
        .any(|member| is_at(member, new) && member.monitor_port.is_some());
    NewMember {
        monitor_port: new.monitor_port.or(asked_elsewhere.then_some(None)),
        ..new.clone()
    }
}

fn is_at(member: &Member, new: &NewMember) -> bool {
    (canonical(&member.address), member.protocol_port) == (canonical(&new.address), new.protocol_port)
}

/// `+a` is added, `-b` is removed, `~c` changes.
fn differences(there: &[Member], wanted: &[NewMember]) -> Vec<String> {
    let at = |address: &str, port: u16| (canonical(address), port);
    let known: BTreeMap<_, _> = there
        .iter()
        .map(|member| (at(&member.address, member.protocol_port), member))
        .collect();
    let asked: BTreeSet<_> = wanted
        .iter()
        .map(|member| at(&member.address, member.protocol_port))
        .collect();
    let gone = known
        .iter()
        .filter(|(member_network, _)| !asked.contains(member_network))
        .map(|(_, member)| format!("-{}", member.name));
    let new = wanted
        .iter()
        .filter_map(|member| match known.get(&at(&member.address, member.protocol_port)) {
            None => Some(format!("+{}", member.name)),
            Some(there) if (&there.name, there.monitor_port) != (&member.name, member.monitor_port.flatten()) => {
                Some(format!("~{}", member.name))
            }
            Some(_) => None,
        });
    new.chain(gone).collect()
}

/// Members whose monitor port changes are kept: occm never sends that port here, and a pool must not be empty for a moment because of it. So are
/// members that have another address of their host.
fn serial_members(key: Key, pool: Option<&String>, there: &[Member], wanted: &[NewMember]) -> Vec<Step> {
    let add = |new: &NewMember| Step::AddMember {
        key,
        pool: pool.cloned(),
        new: new.clone(),
    };
    let remove = |member: &Member| {
        Some(Step::RemoveMember {
            key,
            pool: pool?.clone(),
            id: member.id.clone(),
            name: member.name.clone(),
        })
    };
    let pairs = paired(there, wanted);
    let new = wanted
        .iter()
        .filter(|new| !pairs.iter().any(|(_, paired)| std::ptr::eq(*paired, *new)));
    let gone = there
        .iter()
        .filter(|member| !pairs.iter().any(|(paired, _)| std::ptr::eq(*paired, *member)));
    let asked_elsewhere = pairs.iter().filter_map(|(member, new)| {
        (new.monitor_port.flatten() != member.monitor_port).then_some(Step::AskMember {
            key,
            pool: pool?.clone(),
            id: member.id.clone(),
            name: member.name.clone(),
            monitor_port: new.monitor_port.flatten(),
        })
    });
    new.map(add)
        .chain(asked_elsewhere)
        .chain(gone.filter_map(remove))
        .collect()
}

/// The existing members of the desired ones: by the desired address, or else by another address of the host that is not desired itself.
fn paired<'a>(there: &'a [Member], wanted: &'a [NewMember]) -> Vec<(&'a Member, &'a NewMember)> {
    let exact = |new: &'a NewMember| Some((there.iter().find(|member| is_at(member, new))?, new));
    let mut pairs: Vec<_> = wanted.iter().filter_map(exact).collect();
    for new in wanted
        .iter()
        .filter(|new| !there.iter().any(|member| is_at(member, new)))
    {
        let is_free = |member: &Member| !pairs.iter().any(|(paired, _)| std::ptr::eq(*paired, member));
        let found = there.iter().find(|member| is_alias(member, new) && is_free(member));
        pairs.extend(found.map(|member| (member, new)));
    }
    pairs
}

fn is_alias(member: &Member, new: &NewMember) -> bool {
    let address = canonical(&member.address);
    member.protocol_port == new.protocol_port && new.aliases.iter().any(|alias| canonical(alias) == address)
}

/// Octavia writes IPv6 addresses in its own way.
fn canonical(address: &str) -> Result<IpAddr, String> {
    address.parse().map_err(|_| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloud::Protocol;
    use rstest::rstest;
    use serde_json::{Value, json};

    /// Only a member that was probed at another port than its own gets an explicit port.
    #[rstest]
    #[case::nothing_to_tell(None, None, None)]
    #[case::is_removed(Some(32_000), None, Some(json!(null)))]
    #[case::comes(None, Some(32_000), Some(json!(32_000)))]
    #[case::another(Some(32_000), Some(32_001), Some(json!(32_001)))]
    fn monitor_port_is_sent(#[case] there: Option<u16>, #[case] wanted: Option<u16>, #[case] sent: Option<Value>) {
        let there = Member {
            address: "10.0.0.1".into(),
            protocol_port: 30_080,
            monitor_port: there,
            ..Member::default()
        };
        let new = NewMember {
            address: "10.0.0.1".into(),
            protocol_port: 30_080,
            monitor_port: wanted.map(Some),
            ..NewMember::default()
        };
        let body = serde_json::to_value(with_monitor_port(&[there], &new)).unwrap();
        assert_eq!(body.get("monitor_port"), sent.as_ref());
    }

    /// `10.0.0.1|fd00::1`: the address, and another one of the same host.
    #[rstest]
    #[case::no_member("", "10.0.0.1|fd00::1", "+member 80/TCP 10.0.0.1")]
    #[case::as_occm_made_it("fd00::1", "10.0.0.1|fd00:0::1", "")]
    #[case::of_both("10.0.0.1 fd00::1", "10.0.0.1|fd00::1", "-member 80/TCP fd00::1")]
    #[case::both_are_wanted("fd00::1", "10.0.0.1|fd00::1 fd00::1|10.0.0.1", "+member 80/TCP 10.0.0.1")]
    #[case::of_another_host("fd00::2", "10.0.0.1|fd00::1", "+member 80/TCP 10.0.0.1, -member 80/TCP fd00::2")]
    fn a_member_with_any_address_of_its_host_is_kept(#[case] there: &str, #[case] wanted: &str, #[case] steps: &str) {
        let there = there.split_whitespace().map(|address| Member {
            name: address.into(),
            address: address.into(),
            protocol_port: 30_080,
            ..Member::default()
        });
        let wanted = wanted.split_whitespace().map(|text| {
            let (address, alias) = text.split_once('|').unwrap();
            NewMember {
                name: address.into(),
                address: address.into(),
                protocol_port: 30_080,
                aliases: vec![alias.into()],
                ..NewMember::default()
            }
        });
        let key = Key {
            protocol: Protocol::Tcp,
            port: 80,
        };
        let (there, wanted): (Vec<_>, Vec<_>) = (there.collect(), wanted.collect());
        let planned = members(key, Some(&Pool::default()), &there, &wanted, MemberMode::Serial);
        let planned: Vec<String> = planned.iter().map(ToString::to_string).collect();
        assert_eq!(planned.join(", "), steps);
    }
}
