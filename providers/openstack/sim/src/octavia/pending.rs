//! What is under way, and how it ends.

use super::{Common, Context, Octavia, Operating, Provisioning, immutable};
use crate::{exchange::Response, state::Now};
use tokio::time::Instant;
use uuid::Uuid;

/// What a load balancer is waiting for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    /// When it is over.
    pub(crate) due: Instant,
    /// How it ends.
    pub(crate) fate: Fate,
}

/// How something ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Well,
    Badly,
}

impl Context<'_> {
    /// What a change that begins now is waiting for.
    pub(super) fn pending(&mut self) -> Pending {
        let fate = if self.settings.balancer_failures > 0 {
            Fate::Badly
        } else {
            Fate::Well
        };
        self.settings.balancer_failures = self.settings.balancer_failures.saturating_sub(1);
        Pending {
            due: self.now.instant + self.settings.balancer_delay,
            fate,
        }
    }
}

impl Octavia {
    /// Begins a change of a load balancer and of the listeners that it goes through; refused while another is under way.
    pub(super) fn begin(
        &mut self,
        context: &mut Context<'_>,
        balancer: Uuid,
        listeners: &[Uuid],
    ) -> Result<(), Response> {
        let free = |common: &Common| common.provisioning == Provisioning::Active;
        let found = self
            .balancers
            .get_mut(&balancer)
            .filter(|balancer| free(&balancer.common));
        let Some(found) = found else {
            return Err(immutable("Load Balancer", balancer));
        };
        if listeners
            .iter()
            .any(|id| self.listeners.get(id).is_some_and(|listener| !free(&listener.common)))
        {
            return Err(immutable("Load Balancer", balancer));
        }
        found.common.change();
        found.common.updated = Some(context.now.wall);
        found.pending = Some(context.pending());
        for id in listeners {
            if let Some(listener) = self.listeners.get_mut(id) {
                listener.common.change();
            }
        }
        Ok(())
    }

    /// Makes the change of a load balancer be over.
    pub(crate) fn hurry(&mut self, id: Uuid) {
        if let Some(pending) = self
            .balancers
            .get_mut(&id)
            .and_then(|balancer| balancer.pending.as_mut())
        {
            pending.due = Instant::now();
        }
    }

    /// When the next change is over.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.balancers
            .values()
            .filter_map(|balancer| balancer.pending)
            .map(|pending| pending.due)
            .min()
    }

    /// Completes the changes that are due; returns the ports that are not needed any more.
    pub(crate) fn settle(&mut self, now: Now) -> Vec<Uuid> {
        let over: Vec<(Uuid, Fate)> = self
            .balancers
            .iter()
            .filter_map(|(id, balancer)| {
                balancer
                    .pending
                    .filter(|pending| pending.due <= now.instant)
                    .map(|pending| (*id, pending.fate))
            })
            .collect();
        over.into_iter()
            .filter_map(|(id, fate)| self.end(id, fate, now))
            .collect()
    }

    fn end(&mut self, id: Uuid, fate: Fate, now: Now) -> Option<Uuid> {
        let balancer = self.balancers.get_mut(&id)?;
        balancer.pending = None;
        if balancer.common.provisioning == Provisioning::PendingDelete && fate == Fate::Well {
            return self.drop_balancer(id);
        }
        end(&mut balancer.common, Operating::Online, fate, now);
        self.end_children(id, fate, now);
        None
    }

    fn end_children(&mut self, balancer: Uuid, fate: Fate, now: Now) {
        let watched: Vec<Uuid> = self.monitors.values().map(|monitor| monitor.pool).collect();
        let pools: Vec<Uuid> = self
            .pools
            .values()
            .filter(|pool| pool.balancer == balancer)
            .map(|pool| pool.common.id)
            .collect();
        for listener in self
            .listeners
            .values_mut()
            .filter(|listener| listener.balancer == balancer)
        {
            end(&mut listener.common, Operating::Online, fate, now);
        }
        for member in self.members.values_mut().filter(|member| pools.contains(&member.pool)) {
            let works = if watched.contains(&member.pool) {
                Operating::Online
            } else {
                Operating::NoMonitor
            };
            end(&mut member.common, works, fate, now);
        }
        for monitor in self
            .monitors
            .values_mut()
            .filter(|monitor| pools.contains(&monitor.pool))
        {
            end(&mut monitor.common, Operating::Online, fate, now);
        }
        for pool in self.pools.values_mut().filter(|pool| pool.balancer == balancer) {
            end(&mut pool.common, Operating::Online, fate, now);
        }
        self.sweep();
    }

    /// Removes what was to be removed, and what hung on it.
    pub(crate) fn sweep(&mut self) {
        let gone = |common: &Common| common.provisioning == Provisioning::Deleted;
        self.listeners.retain(|_, listener| !gone(&listener.common));
        self.pools.retain(|_, pool| !gone(&pool.common));
        let pools = &self.pools;
        self.members
            .retain(|_, member| !gone(&member.common) && pools.contains_key(&member.pool));
        self.monitors
            .retain(|_, monitor| !gone(&monitor.common) && pools.contains_key(&monitor.pool));
        for listener in self.listeners.values_mut() {
            listener.default_pool = listener.default_pool.filter(|pool| pools.contains_key(pool));
        }
    }

    /// Removes a load balancer with everything in it; returns its port, if it was created for it.
    pub(crate) fn drop_balancer(&mut self, id: Uuid) -> Option<Uuid> {
        let balancer = self.balancers.remove(&id)?;
        self.listeners.retain(|_, listener| listener.balancer != id);
        self.pools.retain(|_, pool| pool.balancer != id);
        self.sweep();
        balancer.vip.owned.then_some(balancer.vip.port)
    }
}

/// What was pending is so no more.
fn end(common: &mut Common, works: Operating, fate: Fate, now: Now) {
    match (common.provisioning, fate) {
        (Provisioning::PendingDelete, Fate::Well) => common.provisioning = Provisioning::Deleted,
        (status, fate) if status.is_pending() => {
            common.updated = Some(now.wall);
            let works = if common.admin_up { works } else { Operating::Offline };
            (common.provisioning, common.operating) = match fate {
                Fate::Well => (Provisioning::Active, works),
                Fate::Badly => (Provisioning::Error, Operating::Error),
            };
        }
        _ => {}
    }
}
