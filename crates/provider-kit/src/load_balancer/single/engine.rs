//! How the engine works with load balancers that are one object each.

use super::{APPEARS_WITHIN, Replace, Single, SingleObjects, User, Whole};
use crate::{
    json::Object,
    load_balancer::{
        self as engine, Applied, Cloud, Condition, Content, Created, Digest, Fate, Fields, Finished, Halt, Polls,
        Request, Scope, State, Use, fingerprint,
    },
};
use async_trait::async_trait;
use cloud::{Error, Notes, RangesFrom, Result, Spec};
use serde_json::json;
use std::{collections::BTreeSet, sync::Arc};

#[async_trait]
impl<S: Single> Cloud for SingleObjects<S> {
    type Settings = ();
    type Balancer = S::Object;
    type Observed = S::Object;
    type Desired = Object;
    type Step = Replace;

    fn state(&self) -> &State<S::Object, Replace> {
        &self.state
    }

    async fn settings(&self, spec: &Spec, _: Scope) -> Result<()> {
        match spec.bad_ranges.first() {
            Some(range) if spec.ranges_from == RangesFrom::Spec => {
                let reason = format!("{range:?} is not an IP range; write ranges like 10.0.0.0/24 or 2001:db8::/64");
                Err(Error::invalid("spec.loadBalancerSourceRanges", reason))
            }
            _ => Ok(()),
        }
    }

    fn digest(&self, request: &Request<'_, Self>) -> Digest {
        let hosts = &request.spec.hosts;
        // A machine may be replaced by one with the same name and addresses.
        let ids = hosts.iter().filter_map(|host| host.provider_id.as_ref());
        let ids: BTreeSet<&str> = ids.map(cloud::ProviderId::as_str).collect();
        let more = Fields::from([
            ("configuration", self.cloud.configuration()),
            ("instances", json!(ids)),
            // The same ranges in the annotation have no meaning.
            ("ranges_from_spec", json!(request.spec.ranges_from == RangesFrom::Spec)),
        ]);
        let counts = |key: &str| key != S::ID.key && S::ANNOTATIONS.iter().any(|row| row.key == key);
        Digest::new(request.spec, counts, hosts.iter().map(Arc::as_ref), &more)
    }

    fn name(&self, spec: &Spec) -> String {
        self.cloud.name(spec)
    }

    async fn locate(&self, request: &Request<'_, Self>) -> Result<Option<S::Object>> {
        self.find_object(request.spec).await
    }

    async fn get(&self, id: &str) -> Result<Option<S::Object>> {
        let (cloud, changed) = (Arc::clone(&self.cloud), self.state.changed_at(id));
        let read = || async move { cloud.collection().list(None).await };
        let list = match self.state.polls(id) {
            Polls::Many => Some(self.list.get(changed, read).await?),
            Polls::One => self.list.get_if_busy(id, changed, read).await?,
        };
        match list.and_then(|list| list.iter().find(|object| object.id() == id).cloned()) {
            Some(object) => Ok(Some(object)),
            None => self.cloud.collection().find(id).await,
        }
    }

    fn id<'a>(&self, object: &'a S::Object) -> &'a str {
        object.id()
    }

    fn version(&self, object: &S::Object) -> String {
        fingerprint(object)
    }

    fn condition(&self, object: &S::Object) -> Condition {
        object.condition()
    }

    fn admit(&self, request: &Request<'_, Self>, object: &S::Object) -> Result<()> {
        if !self.is_of_another(request.spec, object) {
            return Ok(());
        }
        let reason = format!(
            "another Service uses it, whose ports would be lost; let {} name another one, or set {} on the other Service",
            S::ID.key,
            S::DISOWN.key
        );
        Err(Error::unusable(format!("load balancer {}", object.id()), reason))
    }

    async fn create(&self, request: &Request<'_, Self>) -> Result<Created, Halt> {
        let body = self.cloud.body(request.spec, None, Scope::All).await?;
        // Also if this call is cancelled.
        self.state.unanswered(request.spec, APPEARS_WITHIN);
        let created = self.cloud.collection().create(&body).await;
        let is_lost = |error: &Error| matches!(error, Error::Unavailable { .. });
        if !created.as_ref().is_err_and(is_lost) {
            self.state.appeared(request.spec);
        }
        Ok(Created {
            id: created?.id().to_owned(),
            content: Content::Complete,
        })
    }

    async fn desired(&self, request: &Request<'_, Self>, object: &S::Object) -> Result<Object> {
        self.cloud.body(request.spec, Some(object), request.scope).await
    }

    async fn observe(&self, object: &S::Object) -> Result<S::Object, Halt> {
        Ok(object.clone())
    }

    fn plan(&self, _: &Request<'_, Self>, observed: &S::Object, desired: &Object) -> Result<Vec<Replace>> {
        let fields = self.cloud.differences(observed, desired);
        let replace = (!fields.is_empty()).then(|| Replace {
            id: observed.id().to_owned(),
            fields,
            body: desired.clone(),
        });
        Ok(replace.into_iter().collect())
    }

    async fn apply(
        &self,
        _: &Request<'_, Self>,
        object: &S::Object,
        _: Option<&S::Object>,
        step: &Replace,
    ) -> Result<Applied<S::Object>, Halt> {
        match self.cloud.collection().update(object.id(), &step.body).await {
            Ok(Some(_)) => Ok(Applied::Changed(None)),
            // It was deleted meanwhile.
            Ok(None) => Ok(Applied::Conflict),
            Err(error) if self.cloud.is_busy(&error) => Ok(Applied::Conflict),
            Err(error) => Err(error.into()),
        }
    }

    async fn finish(
        &self,
        request: &Request<'_, Self>,
        object: &S::Object,
        notes: &mut Notes,
    ) -> Result<Finished, Halt> {
        let spec = request.spec;
        self.cloud.finish(spec, object, notes).await?;
        self.users()
            .insert(object.id().to_owned(), User::Service(spec.service.uid.clone()));
        if S::ID.text(spec) != Some(object.id()) {
            notes.annotate(S::ID.key, object.id());
        }
        Ok(Finished {
            status: self.cloud.status(spec, object),
            ..Finished::default()
        })
    }

    fn fate(&self, request: &Request<'_, Self>, object: &S::Object, use_: Use) -> Fate {
        let disowned = S::DISOWN.boolean(request.spec).unwrap_or(Some(true)) == Some(true);
        if disowned || use_ == Use::Previous || self.is_of_another(request.spec, object) {
            Fate::Keep
        } else {
            Fate::Delete
        }
    }

    fn located_by<'a>(&self, request: &'a Request<'_, Self>) -> Option<&'a str> {
        S::ID.non_empty(request.spec)
    }

    async fn delete(&self, _: &Request<'_, Self>, object: &S::Object) -> Result<(), Halt> {
        match self.cloud.collection().delete(object.id()).await {
            Err(error) if self.cloud.is_busy(&error) => Err(engine::busy(object.id())),
            other => {
                self.users().remove(object.id());
                Ok(other?)
            }
        }
    }

    async fn clean_up(&self, _: &Request<'_, Self>, _: Option<&S::Object>, _: &mut Notes) -> Result<(), Halt> {
        Ok(())
    }
}
