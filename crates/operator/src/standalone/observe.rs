//! The managers of the cluster. A manager that cannot be parsed is reported, not ignored.

use super::{
    leftovers::Leftover,
    scope::{self, Lasts},
    status::Cause,
};
use crate::{Key, Unread, cache::Resource};
use kube::ResourceExt;
use operator_api::{
    CloudControllerManager,
    cloud_controller_manager::{Claim, ManagementState, Spec, Status},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

const API: &str = "outrigger.dev/v1alpha1";
pub(super) const KIND: &str = "CloudControllerManager";
/// The reason of the condition of a manager of which it is not known whether it overlaps with another one.
const UNKNOWN: &str = "ScopeUnknown";

/// Every manager that exists and is not being deleted.
#[derive(Debug, Default)]
pub(super) struct Managers {
    pub(super) readable: Vec<CloudControllerManager>,
    pub(super) unreadable: Vec<Unreadable>,
    /// Those that are being deleted: Kubernetes deletes their objects, and their Pods may run until then.
    leaving: Vec<CloudControllerManager>,
}

/// An invalid object of our kind: its definition is older or newer than this program.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) name: String,
    pub(super) object: Arc<Value>,
    /// The invalid field, and why.
    pub(super) why: String,
}

impl Managers {
    /// Sorts the objects of a watch.
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

    /// The names of all managers.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let unreadable = self.unreadable.iter().map(|unreadable| unreadable.name.clone());
        self.readable.iter().map(ResourceExt::name_any).chain(unreadable)
    }

    /// Whether every managed one runs with its current spec.
    pub(super) fn all_settled(&self) -> bool {
        let runs = |manager: &&CloudControllerManager| manager.spec.management_state == ManagementState::Managed;
        self.readable.iter().filter(runs).all(scope::is_settled)
    }

    /// The managers that are not run, each with the reason: leftovers of others, the platform's own manager, or that these are not known.
    pub(super) fn refusals(
        &self,
        leftovers: &Result<Vec<Leftover>, Unread>,
        platform: &Result<Option<Claim>, Unread>,
    ) -> BTreeMap<String, Cause> {
        let mut overlaps: BTreeMap<String, Vec<scope::Overlap>> = BTreeMap::new();
        let left = leftovers.as_deref().unwrap_or_default();
        let own = platform.as_ref().ok().and_then(Option::as_ref);
        for overlap in scope::overlaps(&[&self.readable[..], &self.leaving].concat(), left, own) {
            overlaps.entry(overlap.refused.clone()).or_default().push(overlap);
        }
        let overlaps = overlaps.into_iter();
        let mut refusals: BTreeMap<_, Cause> = overlaps.map(|(name, all)| (name, refusal(&all))).collect();
        let doubt = self.doubt().map(|doubt| Cause::Terminal((UNKNOWN, doubt)));
        let ignorance = leftovers.as_ref().err().or(platform.as_ref().err()).cloned();
        let ignorance = ignorance.map(|reason| Cause::Transient((UNKNOWN, reason.0)));
        if let Some(problem) = doubt.or(ignorance) {
            for manager in self.readable.iter().filter(|manager| !scope::is_settled(manager)) {
                refusals.entry(manager.name_any()).or_insert_with(|| problem.clone());
            }
        }
        refusals
    }

    /// Why it is not known whether the scope of a new or changed manager overlaps: another manager cannot be parsed.
    fn doubt(&self) -> Option<String> {
        let names: Vec<_> = self.unreadable.iter().map(|each| format!("{:?}", each.name)).collect();
        (!names.is_empty()).then(|| {
            let names = names.join(" and ");
            format!("{KIND} {names} cannot be read, and may manage the same nodes: correct or delete it first")
        })
    }
}

/// Why a manager is not run. A temporary reason raises an alert only if it lasts.
fn refusal(overlaps: &[scope::Overlap]) -> Cause {
    let sentences: Vec<_> = overlaps.iter().map(|overlap| overlap.sentence.as_str()).collect();
    let message = (scope::OVERLAP, sentences.join("; "));
    if overlaps.iter().all(|overlap| overlap.lasts == Lasts::UntilGone) {
        Cause::Transient(message)
    } else {
        Cause::Terminal(message)
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

/// The first invalid field.
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
    fn names_the_invalid_field(#[case] spec: Value, #[case] why: &str) {
        let fine = object("fine", &json!({"provider": "memory"}));
        let managers = Managers::of(&[fine, object("wrong", &spec)]);
        assert_eq!(managers.names().collect::<Vec<_>>(), ["fine", "wrong"]);
        assert_eq!(managers.unreadable[0].why, why);
        let Cause::Terminal((reason, sentence)) = &managers.refusals(&Ok(Vec::new()), &Ok(None))["fine"] else {
            panic!("it passes by itself");
        };
        assert_eq!(*reason, "ScopeUnknown");
        assert!(sentence.contains("\"wrong\""), "{sentence}");
    }

    #[test]
    fn a_deleted_manager_is_left_to_kubernetes() {
        let mut going = (*object("going", &json!({"provider": "memory"}))).clone();
        going["metadata"]["deletionTimestamp"] = json!("2026-11-16T05:00:00Z");
        let managers = Managers::of(&[Arc::new(going)]);
        assert_eq!(managers.names().count(), 0);
        assert!(managers.refusals(&Ok(Vec::new()), &Ok(None)).is_empty());
    }

    fn related() -> Value {
        json!([{"group": "apps", "resource": "deployments", "namespace": "ns", "name": "x"}])
    }

    /// A finalizer of another program may keep it for a long time.
    #[test]
    fn a_manager_keeps_its_scope_until_it_is_deleted() {
        let mut going = (*object("going", &json!({"provider": "memory"}))).clone();
        going["metadata"]["deletionTimestamp"] = json!("2026-11-16T05:00:00Z");
        going["status"] = json!({ "relatedObjects": related() });
        let managers = Managers::of(&[Arc::new(going), object("new", &json!({"provider": "memory"}))]);
        assert_eq!(managers.names().collect::<Vec<_>>(), ["new"]);
        assert_eq!(
            managers.refusals(&Ok(Vec::new()), &Ok(None))["new"].message().0,
            scope::OVERLAP
        );
    }

    /// A running manager keeps running, but may not change its scope.
    #[test]
    fn an_unreadable_manager_stops_no_running_one() {
        let mut runs = (*object("runs", &json!({"provider": "memory"}))).clone();
        runs["status"] = json!({ "relatedObjects": related() });
        let managers = Managers::of(&[Arc::new(runs.clone()), object("wrong", &json!({}))]);
        assert!(managers.refusals(&Ok(Vec::new()), &Ok(None)).is_empty());
        runs["status"]["claims"] = json!([{"provider": "memory", "securePort": 1}]);
        let managers = Managers::of(&[Arc::new(runs), object("wrong", &json!({}))]);
        assert_eq!(
            managers.refusals(&Ok(Vec::new()), &Ok(None))["runs"].message().0,
            "ScopeUnknown"
        );
    }

    /// Pods of a deleted manager may be left over: this is temporary, so there is no alert at once; and a running manager is not stopped.
    #[test]
    fn leftover_pods_of_a_deleted_manager_are_waited_for() {
        let spec = |cloud: &str, port: u16| {
            let scope = json!({"providerIDSchemes": [cloud], "loadBalancerClasses": [cloud]});
            json!({"provider": "memory", "securePort": port, "scope": scope})
        };
        let left = Leftover {
            manager: "gone".to_owned(),
            what: "Pod ns/gone-1".to_owned(),
            claim: None,
        };
        let mut runs = (*object("runs", &spec("y", 10300))).clone();
        runs["status"] = json!({ "relatedObjects": related() });
        let managers = Managers::of(&[Arc::new(runs), object("new", &spec("x", 10301))]);
        assert!(!managers.all_settled());
        let refusals = managers.refusals(&Ok(vec![left]), &Ok(None));
        assert_eq!(refusals.keys().collect::<Vec<_>>(), ["new"]);
        assert!(matches!(&refusals["new"], Cause::Transient((scope::OVERLAP, why)) if why.contains("Pod ns/gone-1")));
        let unlisted = managers.refusals(&Err(Unread("cannot list pods: no".to_owned())), &Ok(None));
        assert_eq!(unlisted.keys().collect::<Vec<_>>(), ["new"]);
        let unknown = Cause::Transient((UNKNOWN, "cannot list pods: no".to_owned()));
        assert_eq!(unlisted["new"], unknown);
    }

    /// A running manager keeps running, also if the platform is set later; but the conflict is reported.
    #[rstest]
    #[case::all_of_it("AWS", json!({}), "ScopeOverlap")]
    #[case::nodes_of_its_own("AWS", json!({"scope": {"providerIDSchemes": ["memory"]}, "securePort": 10300}), "ScopeOverlap")]
    #[case::apart(
        "AWS",
        json!({"scope": {"providerIDSchemes": ["memory"], "loadBalancerClasses": ["memory"]}, "securePort": 10300}),
        ""
    )]
    #[case::labels_have_no_effect_on_the_platform(
        "AWS",
        json!({"scope": {"nodeSelector": {"matchLabels": {"a": "b"}}, "loadBalancerClasses": ["memory"]}, "securePort": 10300}),
        "ScopeOverlap"
    )]
    #[case::services_only("VSphere", json!({"scope": {"loadBalancerClasses": ["memory"]}, "controllers": ["service"], "securePort": 10300}), "")]
    #[case::a_platform_that_manages_all_nodes(
        "VSphere",
        json!({"scope": {"providerIDSchemes": ["memory"], "loadBalancerClasses": ["memory"]}, "securePort": 10300}),
        "ScopeOverlap"
    )]
    fn the_manager_of_the_platform_has_precedence(
        #[case] platform: &str,
        #[case] mut spec: Value,
        #[case] expected: &str,
    ) {
        spec["provider"] = json!("memory");
        let mut runs = (*object("runs", &spec)).clone();
        let claim = Claim::of(&serde_json::from_value(spec.clone()).unwrap());
        runs["status"] = json!({ "relatedObjects": related(), "claims": [claim] });
        for one in [object("new", &spec), Arc::new(runs)] {
            let managers = Managers::of(&[one]);
            assert!(managers.refusals(&Ok(Vec::new()), &Ok(None)).is_empty());
            let refusals = managers.refusals(&Ok(Vec::new()), &Ok(Some(scope::platform_claim::claim(platform))));
            let refused = refusals.values().next();
            assert_eq!(refused.map_or("", |problem| problem.message().0), expected);
            if let Some(problem) = refused {
                let why = format!("in conflict with the platform's own manager ({platform}), which goes first: ");
                assert!(
                    matches!(problem, Cause::Terminal((_, message)) if message.starts_with(&why)),
                    "{problem:?}"
                );
            }
        }
        let unknown = Managers::of(&[object("new", &spec)]).refusals(&Ok(Vec::new()), &Err(Unread("no".to_owned())));
        assert_eq!(unknown["new"], Cause::Transient((UNKNOWN, "no".to_owned())));
    }
}
