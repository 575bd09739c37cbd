//! Reads load balancers and what is on them: one by one, or in one list if many are needed.

use super::{step::Step, tree::Tree};
use crate::{
    api::{
        Session,
        neutron::floating_ips::{FloatingIp, FloatingIpQuery, floating_ips},
        octavia::{Id, Listener, LoadBalancer, Member, Monitor, Octavia, Pool},
    },
    load_balancers::{
        floating_ip::{self, Reservations},
        settings::Exposure,
    },
};
use cloud::{Error, Result};
use futures::future::try_join_all;
use provider_kit::{
    list_cache::ListCache,
    load_balancer::{Halt, Polls, State},
};
use std::{collections::HashMap, sync::Arc};

/// Lists that many callers share.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    balancers: ListCache<HashMap<String, LoadBalancer>>,
    children: ListCache<Children>,
    floating_ips: ListCache<HashMap<String, Vec<FloatingIp>>>,
    pub reserved: Arc<Reservations>,
}

/// Everything on every load balancer, except members: those can be listed for one pool only.
#[derive(Debug)]
struct Children {
    listeners: Vec<Listener>,
    pools: Vec<Pool>,
    monitors: Vec<Monitor>,
}

impl Children {
    /// What is on one load balancer.
    fn on(&self, balancer: &str) -> (Vec<Listener>, Vec<Pool>) {
        let on = |of: &[Id]| of.iter().any(|of| of.id == balancer);
        let listeners = self.listeners.iter().filter(|listener| on(&listener.loadbalancers));
        let pools = self.pools.iter().filter(|pool| on(&pool.loadbalancers));
        (listeners.cloned().collect(), pools.cloned().collect())
    }
}

/// Reads what exists.
#[derive(Clone, Copy)]
pub(crate) struct Observer<'a> {
    pub session: &'a Session,
    pub octavia: &'a Octavia,
    pub lists: &'a Lists,
    pub state: &'a State<Tree, Step>,
}

impl Observer<'_> {
    /// One load balancer. `None` is always Octavia's answer about this one, never its absence from a list.
    pub async fn balancer(&self, id: &str) -> Result<Option<LoadBalancer>> {
        let read = || balancers(self.octavia.clone());
        let changed = self.state.changed_at(id);
        let list = match self.state.polls(id) {
            Polls::Many => Some(self.lists.balancers.get(changed, read).await?),
            Polls::One => self.lists.balancers.get_if_busy(id, changed, read).await?,
        };
        match list.as_ref().and_then(|list| list.get(id)) {
            Some(balancer) => Ok(Some(balancer.clone())),
            None => self.octavia.find(id).await,
        }
    }

    /// Everything on a load balancer.
    pub async fn tree(&self, balancer: LoadBalancer) -> Result<Tree, Halt> {
        let id = balancer.id.as_str();
        let changed = self.state.changed_at(id);
        let read = || children(self.octavia.clone());
        let list = self.lists.children.get_if_busy(id, changed, read).await?;
        let (listeners, pools, monitors) = if let Some(all) = list {
            let (listeners, pools) = all.on(id);
            (listeners, pools, all.monitors.clone())
        } else {
            let (listeners, pools) = futures::try_join!(self.octavia.on::<Listener>(id), self.octavia.on::<Pool>(id))?;
            let monitors = self.monitors(&pools).await?;
            (listeners, pools, monitors)
        };
        let members = self.members(&pools).await?;
        Ok(Tree {
            balancer,
            listeners,
            pools,
            members,
            monitors: monitors
                .into_iter()
                .map(|monitor| (monitor.id.clone(), monitor))
                .collect(),
        })
    }

    /// The floating IPs of a port.
    pub async fn floating_ips(&self, balancer: &str, port: &str, exposure: Exposure) -> Result<Vec<FloatingIp>> {
        let (session, reserved) = (self.session.clone(), Arc::clone(&self.lists.reserved));
        let read = || async move {
            let mut by_port: HashMap<String, Vec<FloatingIp>> = HashMap::new();
            let all = floating_ips(&session, &FloatingIpQuery::default()).await?;
            reserved.learn(&all);
            for fip in all {
                if let Some(port) = fip.port_id.clone() {
                    by_port.entry(port).or_default().push(fip);
                }
            }
            Ok(by_port)
        };
        let changed = self.state.changed_at(balancer);
        match self.lists.floating_ips.get_if_busy(port, changed, read).await? {
            Some(list) if list.contains_key(port) => Ok(list[port].clone()),
            Some(_) if exposure == Exposure::Internal => Ok(Vec::new()),
            // Before one is created, it is checked that none was attached meanwhile.
            _ => floating_ip::observe(self.session, port).await,
        }
    }

    async fn monitors(&self, pools: &[Pool]) -> Result<Vec<Monitor>> {
        let ids = pools.iter().filter_map(|pool| pool.healthmonitor_id.as_deref());
        let monitors = try_join_all(ids.map(|id| self.octavia.find::<Monitor>(id))).await?;
        Ok(monitors.into_iter().flatten().collect())
    }

    async fn members(&self, pools: &[Pool]) -> Result<HashMap<String, Vec<Member>>, Halt> {
        let members = |pool: &Pool| {
            let id = pool.id.clone();
            async move {
                match self.octavia.members(&id).await {
                    Ok(members) => Ok((id, members)),
                    // The pool was deleted meanwhile: the next plan takes that into account.
                    Err(Error::NotFound { what }) => Err(Halt::changed(what)),
                    Err(error) => Err(error.into()),
                }
            }
        };
        Ok(try_join_all(pools.iter().map(members)).await?.into_iter().collect())
    }
}

async fn balancers(octavia: Octavia) -> Result<HashMap<String, LoadBalancer>> {
    let all = octavia.load_balancers().await?.into_iter();
    Ok(all.map(|balancer| (balancer.id.clone(), balancer)).collect())
}

async fn children(octavia: Octavia) -> Result<Children> {
    let (listeners, pools) = futures::try_join!(octavia.all::<Listener>(), octavia.all::<Pool>())?;
    let monitored = pools.iter().any(|pool| pool.healthmonitor_id.is_some());
    let monitors = if monitored { octavia.all().await? } else { Vec::new() };
    Ok(Children {
        listeners,
        pools,
        monitors,
    })
}
