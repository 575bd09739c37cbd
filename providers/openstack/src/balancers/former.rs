//! Load balancers that a Service had before its `load-balancer-id` was changed: once another one serves it, it leaves them, and
//! its own go.

use super::{
    Pass, Reconciler,
    ensure::doing,
    halt::{Halt, Result},
    names,
    role::{Identity, Role},
    seal::Told,
    settings::Settings,
};
use crate::api::octavia::{LoadBalancer, Provisioning};
use cloud::{Error, Notes, Progress, Spec, Status};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(1);

/// How far a Service has left those that it had before.
pub(super) enum Farewell {
    /// It has to wait.
    Waiting(Progress<Status>),
    /// It has, except for these, which are broken.
    Said { but: Vec<String> },
}

/// How far a Service has left one of them.
enum Parting {
    /// Nothing of it is there any more.
    Over,
    /// It is going away by itself.
    Going(Progress<()>),
    /// A step was taken, or cannot be taken now.
    Waiting(Progress<()>),
    /// It may be somebody else's and was left as it is.
    Kept,
    /// It is broken, so that nothing comes off it.
    Stuck(Error),
}

/// What becomes of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It goes.
    Delete,
    /// What the Service has on it comes off.
    Leave,
    /// It stays as it is.
    Keep,
}

/// Whether a load balancer was made for a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    /// Surely.
    ForIt,
    /// Its name alone says so, if at all: another cluster of our name may have made it.
    Perhaps,
}

impl Reconciler {
    /// Leaves those that the Service had before the one that serves it now.
    pub(super) async fn say_farewell(
        &self,
        pass: &Pass<'_>,
        now: &LoadBalancer,
        notes: &mut Notes,
    ) -> Result<Farewell> {
        let mut but = Vec::new();
        for id in self.former(pass.spec, &now.id) {
            match Box::pin(self.part(pass.spec, &pass.settings, &id)).await? {
                Parting::Waiting(Progress::Pending {
                    poll_after,
                    waiting_for,
                }) => {
                    return Ok(Farewell::Waiting(Progress::Pending {
                        poll_after,
                        waiting_for,
                    }));
                }
                Parting::Waiting(Progress::Done(())) | Parting::Going(_) | Parting::Over => {}
                Parting::Kept => kept(pass.spec, &id, notes),
                Parting::Stuck(error) => {
                    notes.warn("LoadBalancerNotLeft", error.report());
                    but.push(id);
                    continue;
                }
            }
            self.memory.left(pass.spec, &id);
        }
        Ok(Farewell::Said { but })
    }

    /// Leaves all that the Service had besides the one that was found for it, when the Service goes; `None` once nothing is
    /// left.
    pub(super) async fn leave_others(
        &self,
        spec: &Spec,
        settings: &Settings,
        found: Option<&LoadBalancer>,
        notes: &mut Notes,
    ) -> Result<Option<Progress<()>>> {
        let mut ids = self.former(spec, found.map_or("", |found| &found.id));
        match found {
            Some(found) => {
                let marked = self.all_marked(spec).await?.into_iter().map(|balancer| balancer.id);
                let more: Vec<_> = marked.filter(|id| *id != found.id && !ids.contains(id)).collect();
                ids.extend(more);
            }
            // These were looked for before.
            None => ids.retain(|id| {
                settings.load_balancer_id.as_ref() != Some(id) && self.memory.made(spec).as_ref() != Some(id)
            }),
        }
        for id in ids {
            match Box::pin(self.part(spec, settings, &id)).await? {
                Parting::Waiting(waiting) | Parting::Going(waiting) => return Ok(Some(waiting)),
                Parting::Over => {}
                Parting::Kept => kept(spec, &id, notes),
                Parting::Stuck(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Those that the seal tells of, and one that was being made when the Service got another.
    fn former(&self, spec: &Spec, now: &str) -> Vec<String> {
        let mut ids = Told::of(spec).map_or_else(Vec::new, |told| told.before(now));
        let made = self.memory.made(spec).filter(|id| id != now && !ids.contains(id));
        ids.extend(made);
        ids
    }

    async fn part(&self, spec: &Spec, settings: &Settings, id: &str) -> Result<Parting> {
        let Some(balancer) = self.observer().balancer(id).await? else {
            return Ok(Parting::Over);
        };
        let identity = visitor(&balancer, spec, settings);
        let made = if self.is_made_for(spec, &balancer) {
            Made::ForIt
        } else {
            Made::Perhaps
        };
        let fate = fate(&balancer, &identity, made);
        match (fate, balancer.provisioning_status) {
            (_, Provisioning::Deleted) => return Ok(Parting::Over),
            (_, Provisioning::PendingDelete) => {
                return Ok(Parting::Going(self.going(&balancer, "to go away").answer));
            }
            (Fate::Keep, _) => return Ok(Parting::Kept),
            (_, Provisioning::Active | Provisioning::Error) => {}
            (_, state) => return Ok(Parting::Waiting(self.going(&balancer, doing(state)).answer)),
        }
        let Some(_claim) = self.memory.claim(&balancer.id) else {
            let busy = self.deleting(&balancer, "another change of it to be done", SOON);
            return Ok(Parting::Waiting(busy.answer));
        };
        self.memory.ready(&balancer.id);
        if fate == Fate::Delete {
            let going = Box::pin(self.delete_balancer(&balancer, settings)).await?;
            return Ok(Parting::Waiting(going.answer));
        }
        match Box::pin(self.leave(&balancer, &identity)).await {
            Ok(Some(waiting)) => Ok(Parting::Waiting(waiting.answer)),
            Ok(None) => Ok(Parting::Over),
            Err(Halt::Failed(error)) if balancer.provisioning_status == Provisioning::Error => {
                Ok(Parting::Stuck(error))
            }
            Err(halt) => Err(halt),
        }
    }
}

/// What the Service is to a load balancer that it had. On one that is not its own only its name of today counts: under another
/// name of the cluster it may be another one's.
fn visitor(balancer: &LoadBalancer, spec: &Spec, settings: &Settings) -> Identity {
    let identity = Identity::of(balancer, spec, settings);
    Identity {
        former: identity.former.filter(|_| identity.role == Role::Owner),
        ..identity
    }
}

fn fate(balancer: &LoadBalancer, identity: &Identity, made: Made) -> Fate {
    match (identity.role, made) {
        (Role::Owner, Made::Perhaps) => Fate::Keep,
        _ if identity.may_delete(balancer) => Fate::Delete,
        _ => Fate::Leave,
    }
}

fn kept(spec: &Spec, id: &str, notes: &mut Notes) {
    notes.warn(
        "LoadBalancerLeft",
        format!(
            "Service {}/{} does not use load balancer {id} any more, which has the name {} but not the Service's UID and is left \
             as it is: delete it if nobody needs it",
            spec.service.namespace,
            spec.service.name,
            names::load_balancer(&spec.cluster, &spec.service)
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balancers::sample::asked;
    use rstest::rstest;

    const OWN: &str = "kube_service_kubernetes_default_web";
    const OTHER: &str = "kube_service_kubernetes_default_other";
    const UID: &str = "kubernetes_service_uid_uid";

    #[rstest]
    #[case::own(OWN, &[OWN, UID], Fate::Delete)]
    #[case::own_and_shared(OWN, &[OWN, OTHER, UID], Fate::Leave)]
    #[case::occm_s(OWN, &[OWN], Fate::Keep)]
    #[case::occm_s_and_shared(OWN, &[OWN, OTHER], Fate::Keep)]
    #[case::another_cluster_s_of_our_name(OWN, &[OWN, "kubernetes_service_uid_another"], Fate::Keep)]
    #[case::another_service_s(OTHER, &[OTHER, OWN, "kubernetes_service_uid_another"], Fate::Leave)]
    #[case::another_service_s_that_left(OTHER, &[OWN], Fate::Delete)]
    #[case::never_let_in(OTHER, &[OTHER], Fate::Leave)]
    #[case::user_s("mine", &[OWN], Fate::Leave)]
    fn fates(#[case] name: &str, #[case] tags: &[&str], #[case] expected: Fate) {
        let asked = asked("80 -> a; load-balancer-id=new load-balancer-address=203.0.113.1");
        let balancer = LoadBalancer {
            name: name.into(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..LoadBalancer::default()
        };
        let made = if tags.contains(&UID) {
            Made::ForIt
        } else {
            Made::Perhaps
        };
        let identity = visitor(&balancer, &asked.spec, &asked.settings());
        assert_eq!(fate(&balancer, &identity, made), expected);
    }

    /// Its namesake of another cluster is a guest there, too, and stays.
    #[test]
    fn a_visitor_has_no_former_name() {
        let asked = asked("80 -> a; load-balancer-id=new load-balancer-address=203.0.113.1");
        let balancer = LoadBalancer {
            name: OTHER.into(),
            tags: vec![OTHER.into(), "kube_service_theirs_default_web".into()],
            ..LoadBalancer::default()
        };
        let identity = visitor(&balancer, &asked.spec, &asked.settings());
        assert_eq!((identity.role, identity.former), (Role::Guest, None));
    }
}
