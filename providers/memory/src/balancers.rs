//! The load balancers of a memory cloud. Pure: the time is an argument.

use crate::{
    Balancer, Phase, Settings, Step,
    balancer::{MIN_POLL, apply, owned},
    plan::{families, family, plan, plan_hosts},
    pool::Pool,
};
use cloud::{Affinity, Error, Host, Owned, Progress, Result, Spec, Status, TrafficPolicy, default_name};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// By cluster and UID.
type Key = (String, String);

/// All load balancers.
#[derive(Debug, Default)]
pub struct Balancers {
    by_key: BTreeMap<Key, Balancer>,
    pool: Pool,
    created: u64,
    /// Most load balancers have the same hosts; each is stored once.
    hosts: HashMap<String, Arc<Host>>,
}

impl Balancers {
    /// All load balancers, of all clusters.
    pub fn all(&self) -> impl Iterator<Item = &Balancer> {
        self.by_key.values()
    }

    /// Applies the changes that are due by now.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.by_key
            .retain(|_, balancer| !matches!(balancer.phase, Phase::Deleting { until } if until <= now));
        for balancer in self.by_key.values_mut() {
            if matches!(balancer.phase, Phase::Provisioning { until } if until <= now) {
                balancer.phase = Phase::Ready;
            }
        }
    }

    pub(crate) fn find(&self, spec: &Spec, settings: &Settings) -> Option<Status> {
        self.by_key.get(&key(spec)).map(|balancer| balancer.status(settings))
    }

    /// Applies at most this many steps towards the spec.
    pub(crate) fn ensure(
        &mut self,
        spec: &Spec,
        limit: usize,
        now: Instant,
        settings: &Settings,
    ) -> Result<(Progress<Status>, Vec<Step>)> {
        let current = self.by_key.get(&key(spec));
        if let Some(balancer) = current.filter(|balancer| matches!(balancer.phase, Phase::Deleting { .. })) {
            return Ok((balancer.progress(now, settings), Vec::new()));
        }
        let steps = plan(current, spec);
        self.perform(spec, steps, limit, now, settings)
    }

    /// Applies at most this many steps towards the hosts of the spec.
    pub(crate) fn update_hosts(
        &mut self,
        spec: &Spec,
        limit: usize,
        now: Instant,
        settings: &Settings,
    ) -> Result<(Progress<Status>, Vec<Step>)> {
        let current = self
            .by_key
            .get(&key(spec))
            .filter(|balancer| !matches!(balancer.phase, Phase::Deleting { .. }));
        let Some(current) = current else {
            return Err(Error::NotFound {
                what: format!("load balancer {}", default_name(&spec.service.uid)),
            });
        };
        let steps = plan_hosts(current, spec);
        self.perform(spec, steps, limit, now, settings)
    }

    /// Deletes the load balancer; also returns what changed.
    pub(crate) fn delete(
        &mut self,
        spec: &Spec,
        now: Instant,
        settings: &Settings,
    ) -> (Progress<()>, Vec<&'static str>) {
        let key = key(spec);
        if settings.deletion.is_zero() {
            let change = self.by_key.remove(&key).map(|_| "delete");
            return (Progress::Done(()), change.into_iter().collect());
        }
        let Some(balancer) = self.by_key.get_mut(&key) else {
            return (Progress::Done(()), Vec::new());
        };
        let mut changes = Vec::new();
        if !matches!(balancer.phase, Phase::Deleting { .. }) {
            balancer.phase = Phase::Deleting {
                until: after(now, settings.deletion),
            };
            changes.push("delete");
        }
        (balancer.progress(now, settings).map(drop), changes)
    }

    pub(crate) fn owned(&self, cluster: &str) -> Vec<Owned> {
        self.all()
            .filter(|balancer| balancer.cluster == cluster)
            .map(owned)
            .collect()
    }

    fn perform(
        &mut self,
        spec: &Spec,
        mut steps: Vec<Step>,
        limit: usize,
        now: Instant,
        settings: &Settings,
    ) -> Result<(Progress<Status>, Vec<Step>)> {
        steps.truncate(limit);
        let readdress = steps.iter().any(|step| matches!(step, Step::Create | Step::Readdress));
        let ips = if readdress {
            Some(self.addresses(spec, settings)?)
        } else {
            None
        };
        if steps.contains(&Step::Create) {
            self.insert(spec, now, settings);
        }
        let Some(balancer) = self.by_key.get_mut(&key(spec)) else {
            return Ok((
                Progress::Pending {
                    poll_after: MIN_POLL,
                    waiting_for: "the first step".into(),
                },
                steps,
            ));
        };
        balancer.ips = ips.unwrap_or_else(|| balancer.ips.clone());
        for step in &steps {
            apply(balancer, step, &mut self.hosts);
        }
        let progress = balancer.progress(now, settings);
        self.forget_hosts();
        Ok((progress, steps))
    }

    /// Drops the hosts that no load balancer has any more.
    fn forget_hosts(&mut self) {
        self.hosts.retain(|_, host| Arc::strong_count(host) > 1);
    }

    fn insert(&mut self, spec: &Spec, now: Instant, settings: &Settings) {
        self.created += 1;
        let phase = if settings.provisioning.is_zero() {
            Phase::Ready
        } else {
            Phase::Provisioning {
                until: after(now, settings.provisioning),
            }
        };
        let balancer = Balancer {
            id: format!("lb-{}", self.created),
            name: default_name(&spec.service.uid),
            cluster: spec.cluster.clone(),
            service: spec.service.clone(),
            ips: Vec::new(),
            ports: Vec::new(),
            hosts: Vec::new(),
            source_ranges: Vec::new(),
            affinity: Affinity::default(),
            traffic: TrafficPolicy::default(),
            phase,
        };
        self.by_key.insert(key(spec), balancer);
    }

    /// The addresses that the load balancer of this Service is to have: those asked for, else those it has or had.
    fn addresses(&mut self, spec: &Spec, settings: &Settings) -> Result<Vec<IpAddr>> {
        let key = key(spec);
        let used: HashSet<IpAddr> = self
            .by_key
            .iter()
            .filter(|(other, _)| **other != key)
            .flat_map(|(_, other)| other.ips.clone())
            .collect();
        let asked = asked_ip(spec, &used)?;
        let mut wishes: Vec<IpAddr> = self
            .by_key
            .get(&key)
            .map(|balancer| balancer.ips.clone())
            .unwrap_or_default();
        wishes.extend(
            spec.status
                .ingress
                .iter()
                .filter_map(|ingress| ingress.ip.as_deref()?.parse::<IpAddr>().ok()),
        );
        let mut ips = Vec::new();
        for wanted in families(spec) {
            match asked.filter(|ip| family(ip) == wanted) {
                Some(ip) => ips.push(ip),
                None => ips.push(self.pool.take(wanted, &wishes, &used, settings)?),
            }
        }
        Ok(ips)
    }
}

fn asked_ip(spec: &Spec, used: &HashSet<IpAddr>) -> Result<Option<IpAddr>> {
    const FIELD: &str = "spec.loadBalancerIP";
    let Some(text) = spec.ip.as_deref().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let ip: IpAddr = text
        .parse()
        .map_err(|_| Error::invalid(FIELD, format!("{text} is not an IP address")))?;
    if !families(spec).contains(&family(&ip)) {
        return Err(Error::invalid(FIELD, format!("{ip} is not of a family of the Service")));
    }
    if used.contains(&ip) {
        // Until that one is deleted.
        return Err(Error::quota(
            "addresses",
            format!("{FIELD}: {ip} is used by another load balancer"),
        ));
    }
    Ok(Some(ip))
}

fn key(spec: &Spec) -> Key {
    (spec.cluster.clone(), spec.service.uid.clone())
}

/// Limited to what a clock can represent.
fn after(now: Instant, delay: Duration) -> Instant {
    const FAR: Duration = Duration::from_hours(24 * 365 * 30);
    now + delay.min(FAR)
}

#[cfg(test)]
mod tests;
