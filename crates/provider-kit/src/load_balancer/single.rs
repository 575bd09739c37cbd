//! Load balancers that are one object each, which is created, replaced and deleted as a whole: most small clouds have such.
//!
//! The API is a [`Collection`]. A provider implements [`Single`], and [`SingleObjects`] is then its [`cloud::LoadBalancers`]: it finds the
//! load balancer of a Service, waits for it, writes only what differs, keeps two Services from using one load balancer, and finds again what
//! was created if the answer was lost.

mod engine;
#[cfg(test)]
mod tests;

use super::{Cloud, Condition, Scope, State, Step};
use crate::{annotations::Annotation, json::Object, list_cache::ListCache, load_balancer, rest::Collection};
use async_trait::async_trait;
use cloud::{BadRanges, Error, LoadBalancers, Noted, Notes, Owned, Progress, Result, Spec, Status, default_name};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// When to reconcile a Service again that a user, or a node, has to change first.
const RECHECK: Duration = Duration::from_mins(1);
/// How long the cloud may take to list a load balancer whose creation was not answered; longer than a list is used.
const APPEARS_WITHIN: Duration = Duration::from_secs(10);

/// A load balancer as the cloud shows it. Serialized, it changes whenever the load balancer does.
pub trait Whole: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The cloud's ID of it.
    fn id(&self) -> &str;
    /// Its name.
    fn name(&self) -> &str;
    /// Whether it can be changed now.
    fn condition(&self) -> Condition;
}

/// A cloud whose load balancers are one object each.
///
/// Source ranges count only if they are in `spec.loadBalancerSourceRanges`: those of the annotation are neither used nor checked.
#[async_trait]
pub trait Single: Send + Sync + 'static {
    /// A load balancer as the cloud shows it.
    type Object: Whole;

    /// The annotation with the ID of the load balancer, which is written once it serves.
    const ID: Annotation;
    /// The annotation that leaves a load balancer alone, for another Service to take over.
    const DISOWN: Annotation;
    /// All annotations that count.
    const ANNOTATIONS: &'static [Annotation];

    /// The name of the load balancer. One with the default name is found, too.
    fn name(&self, spec: &Spec) -> String;
    /// What the result depends on besides the Service.
    fn configuration(&self) -> Value;
    /// Whether it carries the mark of this cluster.
    fn is_marked(&self, object: &Self::Object) -> bool;
    /// The load balancers of this cloud.
    fn collection(&self) -> &Collection<Self::Object>;
    /// What the Service asks for: everything, or only its hosts on the existing load balancer.
    async fn body(&self, spec: &Spec, existing: Option<&Self::Object>, scope: Scope) -> Result<Object>;
    /// The names of the fields that differ. Pure.
    fn differences(&self, object: &Self::Object, body: &Object) -> Vec<String>;
    /// Whether the cloud refused a change because it has not finished the last one.
    fn is_busy(&self, error: &Error) -> bool;
    /// Does what is left around a load balancer that matches.
    async fn finish(&self, spec: &Spec, object: &Self::Object, notes: &mut Notes) -> Result<()>;
    /// What goes into the Service's status.
    fn status(&self, spec: &Spec, object: &Self::Object) -> Status;
    /// The reason of the event about this error, if it gets one: the Service is then reconciled again after a while.
    fn event(&self, error: &Error) -> Option<&'static str> {
        let _ = error;
        None
    }
}

/// The load balancers of a cloud that is [`Single`].
pub struct SingleObjects<S: Single> {
    cloud: Arc<S>,
    state: State<S::Object, Replace>,
    list: ListCache<Vec<S::Object>>,
    users: Mutex<HashMap<String, User>>,
}

/// Which Service uses a load balancer, as far as this process has seen.
enum User {
    /// The one with this UID.
    Service(String),
    /// None: its Service has disowned it.
    None,
}

/// The one change that there is.
#[derive(Debug, Clone, PartialEq)]
pub struct Replace {
    id: String,
    fields: Vec<String>,
    body: Object,
}

impl Step for Replace {
    fn target(&self) -> Option<String> {
        Some(self.id.clone())
    }
}

impl fmt::Display for Replace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "update {}", self.fields.join(", "))
    }
}

impl<S: Single> SingleObjects<S> {
    /// The load balancers of this cloud. Makes no call yet.
    pub fn new(cloud: S) -> Self {
        Self {
            cloud: Arc::new(cloud),
            state: State::default(),
            list: ListCache::default(),
            users: Mutex::default(),
        }
    }

    /// By the ID in the Service's annotation, by that of the one that is being created, or else by name.
    async fn find_object(&self, spec: &Spec) -> Result<Option<S::Object>> {
        let named = S::ID.non_empty(spec).map(str::to_owned);
        for id in named.into_iter().chain(self.state.created(spec)) {
            if let Some(object) = Cloud::get(self, &id).await? {
                return Ok(Some(object));
            }
        }
        let names = self.own_names(spec);
        let find = |all: &[S::Object]| {
            let mut found = names
                .iter()
                .filter_map(|name| all.iter().find(|object| object.name() == name));
            found.next().cloned()
        };
        match find(&self.all(None).await?) {
            // The list may be older than the last change of it.
            Some(object) => Ok(find(&self.all(self.state.changed_at(object.id())).await?)),
            None => Ok(None),
        }
    }

    fn own_names(&self, spec: &Spec) -> [String; 2] {
        [self.cloud.name(spec), default_name(&spec.service.uid)]
    }

    async fn all(&self, changed: Option<Instant>) -> Result<Arc<Vec<S::Object>>> {
        let cloud = Arc::clone(&self.cloud);
        self.list
            .get(changed, || async move { cloud.collection().list(None).await })
            .await
    }

    fn users(&self) -> MutexGuard<'_, HashMap<String, User>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another Service of this cluster uses the load balancer, or may: it was created for another one, and this process has not seen
    /// that one disown it.
    fn is_of_another(&self, spec: &Spec, object: &S::Object) -> bool {
        match self.users().get(object.id()) {
            Some(User::Service(uid)) => *uid != spec.service.uid,
            Some(User::None) => false,
            None => {
                let is_ours = self.own_names(spec).iter().any(|name| name == object.name());
                !is_ours && is_default_name(object.name()) && self.cloud.is_marked(object)
            }
        }
    }

    /// The status of a Service that has disowned its load balancer: nothing is done.
    async fn disowned(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let object = self.find_object(spec).await?;
        if let Some(object) = &object {
            self.users().insert(object.id().to_owned(), User::None);
        }
        let status = object.map_or_else(|| spec.status.clone(), |object| self.cloud.status(spec, &object));
        Ok(Progress::Done(status).into())
    }

    /// An error that gets an event is something to wait for.
    fn with_event(&self, answer: Result<Noted<Progress<Status>>>) -> Result<Noted<Progress<Status>>> {
        let Err(error) = &answer else { return answer };
        let Some(reason) = self.cloud.event(error) else {
            return answer;
        };
        let (mut notes, waiting_for) = (Notes::default(), error.to_string());
        notes.warn(reason, &waiting_for);
        let pending = Progress::Pending {
            poll_after: RECHECK,
            waiting_for,
        };
        Ok(Noted::new(pending, notes))
    }
}

/// `a` and 31 hexadecimal digits, as [`default_name`] returns them.
fn is_default_name(name: &str) -> bool {
    let digits = name.strip_prefix('a').unwrap_or_default();
    digits.len() == 31 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[async_trait]
impl<S: Single> LoadBalancers for SingleObjects<S> {
    fn bad_ranges(&self) -> BadRanges {
        BadRanges::Report
    }

    async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        let object = self.find_object(spec).await?;
        Ok(object.map(|object| self.cloud.status(spec, &object)))
    }

    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        match S::DISOWN.boolean(spec)? {
            Some(true) => self.disowned(spec).await,
            _ => self.with_event(load_balancer::ensure(self, spec).await),
        }
    }

    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        match S::DISOWN.boolean(spec)? {
            Some(true) => Ok(Progress::Done(spec.status.clone()).into()),
            _ => self.with_event(load_balancer::update_hosts(self, spec).await),
        }
    }

    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        load_balancer::delete(self, spec).await
    }

    async fn owned(&self, _: &str) -> Result<Vec<Owned>> {
        let all = self.cloud.collection().list(None).await?;
        let ours = all.iter().filter(|object| self.cloud.is_marked(object));
        let owned = |object: &S::Object| Owned {
            kind: "load balancer".to_owned(),
            id: object.id().to_owned(),
            name: object.name().to_owned(),
            service: None,
        };
        Ok(ours.map(owned).collect())
    }
}
