use super::*;
use crate::standalone::{
    Cluster,
    provider::{Config, Credentials, Needs},
};
use serde_json::Value;

fn settings() -> Settings {
    let needs = Needs {
        config: Config::Optional,
        credentials: Credentials::None,
        changes: Changes::Unseen,
    };
    Settings {
        namespace: "ns".to_owned(),
        images: "images.json".into(),
        providers: [Provider { name: "memory", needs }].into(),
        flags: ["profiling".to_owned()].into(),
        monitoring: Monitoring::Absent,
        cluster: Cluster::Kubernetes,
        reserved: BTreeSet::new(),
    }
}

fn manager(spec: Value) -> CloudControllerManager {
    CloudControllerManager::new("a", serde_json::from_value(spec).unwrap())
}

fn decided(spec: Value) -> Decision {
    let images = Ok(json!({"cloudControllerManagerOperator": "example.test/outrigger:1"}).to_string());
    let (manager, mut objects) = (manager(spec), BTreeMap::new());
    loop {
        let decision = decide(&manager, &objects, &images, &settings());
        let unread: Vec<_> = decision
            .reads
            .iter()
            .filter(|key| !objects.contains_key(*key))
            .cloned()
            .collect();
        if unread.is_empty() {
            return decision;
        }
        objects.extend(unread.into_iter().map(|key| (key, Lookup::Absent)));
    }
}

#[test]
fn a_secret_that_does_not_exist_is_named() {
    let decision = decided(json!({"provider": "memory", "credentials": {"secret": {"name": "keys"}}}));
    assert!(decision.objects.is_ok());
    assert_eq!(decision.missing, [Key::secret("ns", "keys")].into());
    assert_eq!(decision.events.len(), 1);
}

#[test]
fn a_flag_that_the_manager_does_not_have_is_refused() {
    let problem = |spec| decided(spec).objects.err();
    assert_eq!(
        problem(json!({"provider": "memory", "extraArgs": ["--profiling=false"]})),
        None
    );
    let message = "spec.extraArgs: the manager has no flag --profilin: correct or remove it".to_owned();
    let unknown = json!({"provider": "memory", "extraArgs": ["--profilin"]});
    assert_eq!(problem(unknown), Some(Problem::Terminal((INVALID, message))));
    let another = json!({"provider": "memory", "extraArgs": ["--profilin"], "image": "example.test/other:1"});
    assert_eq!(problem(another), None);
}
