//! How an unchanged Service is known without reading its load balancer.
//!
//! Octavia notes on a load balancer when it, or anything on it, was changed last. A seal is that time together with a digest
//! of all that the Service asks for, written on the Service once both were seen to match: as long as both are what they
//! were, the load balancer is what it was, and one look at it is enough, also after a restart. It tells as well which load
//! balancer served the Service last, and whether that was its own.

use super::{annotations as key, features::Features, names, role::Role, settings::Settings};
use crate::{
    api::octavia::LoadBalancer,
    config::{Class, Config},
};
use cloud::Spec;
use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

/// Changes when the same wish leads to another load balancer than before.
const EDITION: u32 = 1;

/// Follows what matches on a load balancer that was not made for the Service.
const GUEST: &str = " guest";

/// Stands before the load balancers that the Service had before and could not leave yet.
const FORMER: &str = " former ";

/// Stands before the address that a Service asks for and goes without.
const WITHOUT: &str = " without ";

/// Begins a seal that is none: not all matches.
const BROKEN: &str = "broken ";

/// A digest of all that a Service asks for and all that it is configured to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest(u128);

impl Digest {
    /// What this Service asks for, and what of it Octavia can do: that may be more after an upgrade. What we write
    /// ourselves does not count.
    pub fn of(spec: &Spec, settings: &Settings, features: Features, config: &Config) -> Self {
        let Spec {
            cluster,
            service,
            annotations,
            class,
            ip,
            ports,
            source_ranges,
            ranges_from: _,
            bad_ranges: _,
            affinity,
            traffic,
            families,
            external_ips: _,
            hosts,
            status: _,
        } = spec;
        let written = [key::LOAD_BALANCER_ADDRESS, key::LOAD_BALANCER_ID, key::SEAL];
        let ours = |name: &&String| name.contains("openstack") && !written.contains(&name.as_str());
        let asked: BTreeMap<_, _> = annotations.iter().filter(|(name, _)| ours(name)).collect();
        let chosen: Option<&Class> = annotations.get(key::CLASS).and_then(|name| config.classes.get(name));
        let mut digest = Fnv::default();
        let _ = write!(
            digest,
            "{EDITION} {cluster:?} {service:?} {asked:?} {class:?} {ip:?} {ports:?} {affinity:?} {traffic:?} {families:?} {features:?} {:?} {chosen:?}",
            config.load_balancer
        );
        let mut ranges: Vec<_> = source_ranges.iter().collect();
        ranges.sort_unstable();
        let _ = write!(digest, "{ranges:?}");
        let mut members = settings.node_selector.select(hosts);
        members.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for host in members {
            let _ = write!(digest, "{:?} {:?}", host.name, host.addresses);
        }
        Self(digest.0)
    }

    /// The seal on this load balancer.
    pub fn seal(self, balancer: &LoadBalancer, more: &More<'_>) -> String {
        let More { role, former, without } = more;
        let role = match role {
            Role::Owner => "",
            Role::Guest => GUEST,
        };
        let former = match former.as_slice() {
            [] => String::new(),
            ids => format!("{FORMER}{}", ids.join(",")),
        };
        let without = without.map_or_else(String::new, |ip| format!("{WITHOUT}{ip}"));
        format!("{}{role}{former}{without}", self.matching(balancer))
    }

    /// What only says that the Service was seen to: something that it asks for is refused.
    pub fn broken_seal(self, balancer: &LoadBalancer, more: &More<'_>) -> String {
        format!("{BROKEN}{}", self.seal(balancer, more))
    }

    fn matching(self, balancer: &LoadBalancer) -> String {
        format!("{:032x} {} {}", self.0, balancer.id, version(balancer))
    }

    /// Whether the Service bears this seal.
    pub fn is_sealed(self, spec: &Spec, balancer: &LoadBalancer) -> bool {
        let marked = balancer.tags.is_empty()
            || balancer
                .tags
                .contains(&names::load_balancer(&spec.cluster, &spec.service));
        marked && Told::of(spec).is_some_and(|told| told.matching == Some(self.matching(balancer).as_str()))
    }
}

/// What a seal tells besides that all matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct More<'a> {
    /// Whether the load balancer is the Service's own.
    pub role: Role,
    /// The load balancers that the Service had before and could not leave yet.
    pub former: Vec<String>,
    /// The address that the Service asks for and goes without.
    pub without: Option<&'a str>,
}

/// What a Service's seal tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told<'a> {
    /// What matched, if everything did.
    matching: Option<&'a str>,
    /// The load balancer that served it last.
    pub balancer: &'a str,
    /// The rest; in a seal that an earlier version wrote every load balancer is the Service's own.
    pub more: More<'a>,
}

impl<'a> Told<'a> {
    /// What this Service's seal tells, if it has one.
    pub fn of(spec: &'a Spec) -> Option<Self> {
        let seal = spec.annotations.get(key::SEAL)?;
        let (seal, without) = parts(seal, WITHOUT);
        let (seal, former) = parts(seal, FORMER);
        let (seal, role) = match seal.strip_suffix(GUEST) {
            Some(seal) => (seal, Role::Guest),
            None => (seal, Role::Owner),
        };
        let (matching, seal) = match seal.strip_prefix(BROKEN) {
            Some(seal) => (None, seal),
            None => (Some(seal), seal),
        };
        Some(Self {
            matching,
            balancer: seal.split(' ').nth(1).unwrap_or_default(),
            more: More {
                role,
                former: former
                    .into_iter()
                    .flat_map(|ids| ids.split(','))
                    .map(str::to_owned)
                    .collect(),
                without,
            },
        })
    }

    /// The load balancers that the Service had before this one.
    pub fn before(&self, now: &str) -> Vec<String> {
        let all = self.more.former.iter().map(String::as_str).chain([self.balancer]);
        all.filter(|id| !id.is_empty() && *id != now)
            .map(str::to_owned)
            .collect()
    }
}

/// What a Service's seal tells of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past<'a> {
    /// We have not seen to this Service before; another program may have.
    Unknown,
    /// We have, and it went without this `spec.loadBalancerIP`, if any.
    Handled { without: Option<&'a str> },
}

impl<'a> Past<'a> {
    /// The past of this Service.
    pub fn of(spec: &'a Spec) -> Self {
        Told::of(spec).map_or(Self::Unknown, |told| Self::Handled {
            without: told.more.without,
        })
    }
}

fn parts<'a>(seal: &'a str, mark: &str) -> (&'a str, Option<&'a str>) {
    seal.split_once(mark)
        .map_or((seal, None), |(seal, more)| (seal, Some(more)))
}

/// Changes whenever a load balancer or anything on it does, except for what somebody changes in place within the second in
/// which the change before was done: Octavia's clock has whole seconds.
pub(crate) fn version(balancer: &LoadBalancer) -> String {
    let mut children: Vec<&str> = balancer
        .listeners
        .iter()
        .chain(&balancer.pools)
        .map(|of| of.id.as_str())
        .collect();
    children.sort_unstable();
    let mut digest = Fnv::default();
    let _ = write!(digest, "{children:?}");
    let changed = balancer.updated_at.as_ref().or(balancer.created_at.as_ref());
    format!(
        "{} {:016x}",
        changed.map_or("", String::as_str),
        digest.0 & u128::from(u64::MAX)
    )
}

/// FNV-1a with 128 bits: the same in every version of this program.
struct Fnv(u128);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        for byte in text.bytes() {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(PRIME);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::octavia::Id;
    use cloud::{Host, IpFamily};
    use rstest::rstest;
    use std::sync::Arc;

    fn balancer(updated_at: &str) -> LoadBalancer {
        LoadBalancer {
            id: "lb".into(),
            updated_at: Some(updated_at.into()),
            ..LoadBalancer::default()
        }
    }

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

    fn sealed(mut spec: Spec) -> Spec {
        let seal = digest(&spec, &Config::default()).seal(&balancer("2026-11-16T02:00:00"), &owner(None));
        spec.annotations.insert(key::SEAL.into(), seal);
        spec
    }

    fn owner(without: Option<&str>) -> More<'_> {
        More {
            role: Role::Owner,
            former: Vec::new(),
            without,
        }
    }

    fn holds(spec: &Spec, config: &Config, balancer: &LoadBalancer) -> bool {
        digest(spec, config).is_sealed(spec, balancer)
    }

    fn digest(spec: &Spec, config: &Config) -> Digest {
        digest_on(27, spec, config)
    }

    fn digest_on(minor: u32, spec: &Spec, config: &Config) -> Digest {
        let features = Features::of((2, minor), &config.load_balancer.lb_provider);
        Digest::of(spec, &Settings::of(spec, config).unwrap(), features, config)
    }

    #[rstest]
    #[case::same_features(27, true)]
    #[case::without_source_ranges(11, false)]
    fn another_octavia_may_do_more(#[case] minor: u32, #[case] expected: bool) {
        let (spec, config) = (sealed(spec()), Config::default());
        let digest = digest_on(minor, &spec, &config);
        assert_eq!(digest.is_sealed(&spec, &balancer("2026-11-16T02:00:00")), expected);
    }

    #[rstest]
    #[case::as_it_was(|_: &mut Spec| {}, true)]
    #[case::what_we_write(|spec: &mut Spec| { spec.annotations.insert(key::LOAD_BALANCER_ID.into(), "lb".into()); }, true)]
    #[case::another_program_s_annotation(|spec: &mut Spec| { spec.annotations.insert("example.com/a".into(), "b".into()); }, true)]
    #[case::hosts_in_another_order(|spec: &mut Spec| { spec.hosts = spec.hosts.iter().rev().cloned().collect(); }, true)]
    #[case::a_label_that_nobody_selects_by(|spec: &mut Spec| {
        let labelled = Host { labels: [("k".to_owned(), "v".to_owned())].into(), ..(*spec.hosts[0]).clone() };
        spec.hosts = [Arc::new(labelled), spec.hosts[1].clone()].into();
    }, true)]
    #[case::an_annotation(|spec: &mut Spec| { spec.annotations.insert(key::LB_METHOD.into(), "x".into()); }, false)]
    #[case::a_host_left(|spec: &mut Spec| { spec.hosts = spec.hosts[..1].into(); }, false)]
    #[case::a_family(|spec: &mut Spec| { spec.families = vec![IpFamily::V6]; }, false)]
    #[case::another_service(|spec: &mut Spec| { spec.service.uid = "u".into(); }, false)]
    #[case::no_seal(|spec: &mut Spec| { spec.annotations.clear(); }, false)]
    fn breaks(#[case] change: fn(&mut Spec), #[case] expected: bool) {
        let mut spec = sealed(spec());
        change(&mut spec);
        assert_eq!(
            holds(&spec, &Config::default(), &balancer("2026-11-16T02:00:00")),
            expected
        );
    }

    #[test]
    fn breaks_when_the_load_balancer_or_the_configuration_changes() {
        let spec = sealed(spec());
        assert!(!holds(&spec, &Config::default(), &balancer("2026-11-16T02:00:01")));
        let mut config = Config::default();
        config.load_balancer.create_monitor = true;
        assert!(!holds(&spec, &config, &balancer("2026-11-16T02:00:00")));
        let mut grown = balancer("2026-11-16T02:00:00");
        grown.pools.push(Id::of("pool"));
        assert!(!holds(&spec, &Config::default(), &grown), "within the same second");
        let mut tagged = balancer("2026-11-16T02:00:00");
        tagged.tags.push("kube_service_another".into());
        assert!(!holds(&spec, &Config::default(), &tagged));
    }

    #[rstest]
    #[case::occm_s(Past::Unknown)]
    #[case::as_asked(Past::Handled { without: None })]
    #[case::kept_another(Past::Handled { without: Some("203.0.113.9") })]
    fn tells_what_a_service_goes_without(#[case] past: Past<'_>) {
        let (mut spec, balancer) = (spec(), balancer("2026-11-16T02:00:00"));
        let digest = digest(&spec, &Config::default());
        if let Past::Handled { without } = past {
            let seal = digest.seal(&balancer, &owner(without));
            spec.annotations.insert(key::SEAL.into(), seal);
        }
        assert_eq!(Past::of(&spec), past);
        assert_eq!(
            digest.is_sealed(&spec, &balancer),
            past != Past::Unknown,
            "it matches either way"
        );
        if let Past::Handled { without } = past {
            let broken = digest.broken_seal(&balancer, &owner(without));
            spec.annotations.insert(key::SEAL.into(), broken);
            assert!(!digest.is_sealed(&spec, &balancer));
            assert_eq!(Past::of(&spec), past);
        }
    }

    /// The first rows are what earlier versions wrote, too.
    #[rstest]
    #[case::own("d lb t h", Role::Owner, &[], None)]
    #[case::own_and_refused("broken d lb t h", Role::Owner, &[], None)]
    #[case::own_without("d lb t h without 203.0.113.9", Role::Owner, &[], Some("203.0.113.9"))]
    #[case::another_s("d lb t h guest", Role::Guest, &[], None)]
    #[case::left_one("d lb t h former a", Role::Owner, &["a"], None)]
    #[case::all("broken d lb t h guest former a,b without 203.0.113.9", Role::Guest, &["a", "b"], Some("203.0.113.9"))]
    fn tells(#[case] seal: &str, #[case] role: Role, #[case] former: &[&str], #[case] without: Option<&str>) {
        let mut spec = spec();
        spec.annotations.insert(key::SEAL.into(), seal.into());
        let told = Told::of(&spec).unwrap();
        let former: Vec<String> = former.iter().map(|id| (*id).to_owned()).collect();
        let more = More { role, former, without };
        assert_eq!((told.balancer, &told.more), ("lb", &more));
        assert_eq!(told.matching, (!seal.starts_with(BROKEN)).then_some("d lb t h"));
    }

    #[rstest]
    #[case::the_same("d lb t h", "lb", &[])]
    #[case::another("d lb t h", "new", &["lb"])]
    #[case::not_left_yet("d lb t h former a", "lb", &["a"])]
    #[case::not_left_and_another("d lb t h former a,new", "new", &["a", "lb"])]
    #[case::nonsense("nonsense", "lb", &[])]
    fn tells_what_was_before(#[case] seal: &str, #[case] now: &str, #[case] expected: &[&str]) {
        let mut spec = spec();
        spec.annotations.insert(key::SEAL.into(), seal.into());
        assert_eq!(Told::of(&spec).unwrap().before(now), expected);
    }

    #[rstest]
    #[case::own(Role::Owner, &[])]
    #[case::another_s(Role::Guest, &[])]
    #[case::another_s_with_one_to_leave(Role::Guest, &["a"])]
    fn matches_whoever_s_it_is(#[case] role: Role, #[case] former: &[&str]) {
        let (mut spec, balancer) = (spec(), balancer("2026-11-16T02:00:00"));
        let digest = digest(&spec, &Config::default());
        let former = former.iter().map(|id| (*id).to_owned()).collect();
        let more = More {
            role,
            former,
            without: Some("203.0.113.9"),
        };
        spec.annotations.insert(key::SEAL.into(), digest.seal(&balancer, &more));
        assert!(digest.is_sealed(&spec, &balancer));
        assert_eq!(Told::of(&spec).map(|told| told.more), Some(more));
    }

    #[test]
    fn the_digest_is_the_same_in_every_version() {
        let mut digest = Fnv::default();
        digest.write_str("a").unwrap();
        assert_eq!(format!("{:032x}", digest.0), "d228cb696f1a8caf78912b704e4a8964");
    }
}
