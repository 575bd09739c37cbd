//! The managers that there are. What cannot be read is said, not left out.

use super::{scope, status::Said};
use crate::{
    Key,
    watching::{Lookup, Resource, Watches},
};
use kube::ResourceExt;
use operator_api::{
    CloudControllerManager,
    cloud_controller_manager::{Spec, Status},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

const API: &str = "outrigger.dev/v1alpha1";
const KIND: &str = "CloudControllerManager";

/// Every manager that is there and stays.
#[derive(Debug, Default)]
pub(super) struct Managers {
    pub(super) readable: Vec<CloudControllerManager>,
    pub(super) unreadable: Vec<Unreadable>,
    /// Those that do not stay: Kubernetes takes care of them, but until they are gone their Pods may run.
    leaving: Vec<CloudControllerManager>,
}

/// An object of our kind that says what cannot be: of a definition that is older or younger than this program.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) name: String,
    pub(super) object: Arc<Value>,
    /// Which field is wrong, and why.
    pub(super) why: String,
}

impl Managers {
    /// Sorts what a watch has seen.
    pub(super) fn of(objects: &[Arc<Value>]) -> Self {
        let mut managers = Self::default();
        for object in objects {
            let stays = object["metadata"].get("deletionTimestamp").is_none();
            match CloudControllerManager::deserialize(&**object) {
                Ok(manager) if stays => managers.readable.push(manager),
                Ok(manager) => managers.leaving.push(manager),
                Err(_) if !stays => {}
                Err(error) => managers.unreadable.push(Unreadable {
                    name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
                    object: object.clone(),
                    why: culprit(object).unwrap_or_else(|| error.to_string()),
                }),
            }
        }
        managers
    }

    /// All of them.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let unreadable = self.unreadable.iter().map(|unreadable| unreadable.name.clone());
        self.readable.iter().map(ResourceExt::name_any).chain(unreadable)
    }

    /// The managers that are not run, each with the reason.
    pub(super) fn refusals(&self) -> BTreeMap<String, Said> {
        let mut overlaps: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for overlap in scope::overlaps(&[&self.readable[..], &self.leaving].concat()) {
            overlaps.entry(overlap.refused).or_default().push(overlap.sentence);
        }
        let overlaps = overlaps.into_iter();
        let mut refusals: BTreeMap<_, Said> = overlaps
            .map(|(name, sentences)| (name, (scope::OVERLAP, sentences.join("; "))))
            .collect();
        let others = self.readable.iter().filter(|manager| !scope::is_settled(manager));
        for (manager, doubt) in others.zip(std::iter::repeat(self.doubt())) {
            if let Some(doubt) = doubt {
                refusals.entry(manager.name_any()).or_insert(("ScopeUnknown", doubt));
            }
        }
        refusals
    }

    /// Whether the scope of a manager that is new or changed meets that of one which cannot be read nobody knows.
    fn doubt(&self) -> Option<String> {
        let names: Vec<_> = self.unreadable.iter().map(|each| format!("{:?}", each.name)).collect();
        (!names.is_empty()).then(|| {
            let names = names.join(" and ");
            format!("{KIND} {names} cannot be read, and may look after the same nodes: correct or delete it first")
        })
    }
}

/// The kind, to be watched.
pub(super) fn resource() -> Resource {
    Resource::new(API, KIND, "cloudcontrollermanagers")
}

/// One manager.
pub(super) fn key(name: &str) -> Key {
    Key::of_cluster(API, KIND, name)
}

/// An object as it is; or why nobody knows.
pub(super) fn find<T: DeserializeOwned>(watches: &Watches, key: &Key) -> Result<Option<T>, String> {
    match watches.find(key) {
        Lookup::Absent => Ok(None),
        Lookup::Unknown(reason) => Err(format!("cannot read {key}: {reason}")),
        Lookup::Found(value) => T::deserialize(&*value)
            .map(Some)
            .map_err(|error| format!("cannot make sense of {key}: {error}")),
    }
}

/// The first field that is wrong by itself.
fn culprit(object: &Value) -> Option<String> {
    let wrong = |part: &str, field: &str| {
        let alone = json!({ "provider": "", field: object[part][field] });
        let error = match part {
            "spec" => Spec::deserialize(alone).err(),
            _ => Status::deserialize(alone).err(),
        };
        error.map(|error| format!("{part}.{field}: {error}"))
    };
    let fields = ["spec", "status"].into_iter().flat_map(|part| {
        let fields = object[part].as_object().into_iter().flatten();
        fields.map(move |(field, _)| (part, field))
    });
    fields.into_iter().find_map(|(part, field)| wrong(part, field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn object(name: &str, spec: &Value) -> Arc<Value> {
        Arc::new(json!({"apiVersion": API, "kind": KIND, "metadata": {"name": name}, "spec": spec}))
    }

    #[rstest]
    #[case::a_number(json!({"provider": "memory", "replicas": "two"}), "spec.replicas: invalid type: string \"two\", expected i32")]
    #[case::a_choice(
        json!({"provider": "memory", "managementState": "Gone"}),
        "spec.managementState: unknown variant `Gone`, expected one of `Managed`, `Unmanaged`, `Removed`"
    )]
    #[case::deeper(json!({"provider": "memory", "cloudConfig": {"secret": {}}}), "spec.cloudConfig: missing field `name`")]
    #[case::nothing(json!({}), "missing field `provider`")]
    #[case::the_provider(json!({"provider": 1}), "spec.provider: invalid type: integer `1`, expected a string")]
    fn says_which_field_is_wrong(#[case] spec: Value, #[case] why: &str) {
        let fine = object("fine", &json!({"provider": "memory"}));
        let managers = Managers::of(&[fine, object("wrong", &spec)]);
        assert_eq!(managers.names().collect::<Vec<_>>(), ["fine", "wrong"]);
        assert_eq!(managers.unreadable[0].why, why);
        let (reason, sentence) = &managers.refusals()["fine"];
        assert_eq!(*reason, "ScopeUnknown");
        assert!(sentence.contains("\"wrong\""), "{sentence}");
    }

    #[test]
    fn what_is_being_deleted_is_left_to_kubernetes() {
        let mut going = (*object("going", &json!({"provider": "memory"}))).clone();
        going["metadata"]["deletionTimestamp"] = json!("2026-11-16T05:00:00Z");
        let managers = Managers::of(&[Arc::new(going)]);
        assert_eq!(managers.names().count(), 0);
        assert!(managers.refusals().is_empty());
    }

    fn related() -> Value {
        json!([{"group": "apps", "resource": "deployments", "namespace": "ns", "name": "x"}])
    }

    /// A finalizer of somebody else's may keep it for long.
    #[test]
    fn what_is_being_deleted_runs_until_it_is_gone() {
        let mut going = (*object("going", &json!({"provider": "memory"}))).clone();
        going["metadata"]["deletionTimestamp"] = json!("2026-11-16T05:00:00Z");
        going["status"] = json!({ "relatedObjects": related() });
        let managers = Managers::of(&[Arc::new(going), object("new", &json!({"provider": "memory"}))]);
        assert_eq!(managers.names().collect::<Vec<_>>(), ["new"]);
        assert_eq!(managers.refusals()["new"].0, scope::OVERLAP);
    }

    /// Whoever runs already goes on, but does not change places.
    #[test]
    fn what_cannot_be_read_stops_nobody() {
        let mut runs = (*object("runs", &json!({"provider": "memory"}))).clone();
        runs["status"] = json!({ "relatedObjects": related() });
        let managers = Managers::of(&[Arc::new(runs.clone()), object("wrong", &json!({}))]);
        assert!(managers.refusals().is_empty());
        runs["status"]["claims"] = json!([{"provider": "memory", "securePort": 1}]);
        let managers = Managers::of(&[Arc::new(runs), object("wrong", &json!({}))]);
        assert_eq!(managers.refusals()["runs"].0, "ScopeUnknown");
    }
}
