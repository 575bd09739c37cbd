//! The Pod in an object: a Pod itself, or the template of a workload.

use serde_json::Value;

/// The specification of the Pods.
pub fn spec(object: &Value) -> Option<&Value> {
    object.pointer(pointer(object)?)
}

/// The containers, without init containers.
pub fn containers(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    lists(object, &["containers"])
}

/// All containers, with init containers.
pub fn all_containers(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    lists(object, &["initContainers", "containers"])
}

fn lists<'a>(object: &'a mut Value, keys: &'static [&'static str]) -> impl Iterator<Item = &'a mut Value> {
    let spec = pointer(object).and_then(|pointer| object.pointer_mut(pointer));
    let lists = spec.and_then(Value::as_object_mut).into_iter().flatten();
    lists
        .filter(|(key, _)| keys.contains(&key.as_str()))
        .filter_map(|(_, list)| list.as_array_mut())
        .flatten()
}

fn pointer(object: &Value) -> Option<&'static str> {
    match object["kind"].as_str()? {
        "Deployment" | "DaemonSet" => Some("/spec/template/spec"),
        "Pod" => Some("/spec"),
        _ => None,
    }
}
