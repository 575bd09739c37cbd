//! The proxy of the operands.

use crate::platforms::manifest::pod;
use operator_api::proxy::Status;
use serde_json::{Value, json};

/// The Proxy's status, which is in force, not its spec.
pub type Values = Status;

/// Adds the variables that are not empty to the environment of the containers; init containers send no requests
/// to other machines.
pub fn put(object: &mut Value, proxy: &Values) {
    let Status {
        http_proxy,
        https_proxy,
        no_proxy,
    } = proxy;
    let variables = [
        ("HTTP_PROXY", http_proxy),
        ("HTTPS_PROXY", https_proxy),
        ("NO_PROXY", no_proxy),
    ];
    let variables = variables.into_iter().filter(|(_, value)| !value.is_empty());
    let variables: Vec<_> = variables
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    if variables.is_empty() {
        return;
    }
    for container in pod::containers(object) {
        match container["env"].as_array_mut() {
            Some(env) => env.extend(variables.clone()),
            None => container["env"] = variables.clone().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn proxy(http: &str, https: &str, no: &str) -> Values {
        Values {
            http_proxy: http.to_owned(),
            https_proxy: https.to_owned(),
            no_proxy: no.to_owned(),
        }
    }

    #[rstest]
    #[case::none(proxy("", "", ""), json!([{"name": "A", "value": "1"}]))]
    #[case::some(proxy("", "s", ""), json!([{"name": "A", "value": "1"}, {"name": "HTTPS_PROXY", "value": "s"}]))]
    #[case::all(proxy("h", "s", "n"), json!([
        {"name": "A", "value": "1"},
        {"name": "HTTP_PROXY", "value": "h"},
        {"name": "HTTPS_PROXY", "value": "s"},
        {"name": "NO_PROXY", "value": "n"},
    ]))]
    fn proxy_variables_are_last(#[case] proxy: Values, #[case] expected: Value) {
        let spec = json!({"containers": [{"env": [{"name": "A", "value": "1"}]}]});
        let mut object = json!({"kind": "Deployment", "spec": {"template": {"spec": spec}}});
        put(&mut object, &proxy);
        assert_eq!(object.pointer("/spec/template/spec/containers/0/env"), Some(&expected));
    }

    #[test]
    fn init_containers_get_none() {
        let spec = json!({"initContainers": [{"name": "i"}], "containers": [{"name": "c"}]});
        let mut object = json!({"kind": "DaemonSet", "spec": {"template": {"spec": spec}}});
        put(&mut object, &proxy("h", "", ""));
        let expected = json!({
            "initContainers": [{"name": "i"}],
            "containers": [{"name": "c", "env": [{"name": "HTTP_PROXY", "value": "h"}]}],
        });
        assert_eq!(object.pointer("/spec/template/spec"), Some(&expected));
    }

    #[test]
    fn other_kinds_are_left_alone() {
        let service = json!({"kind": "Service", "spec": {"containers": [{}]}});
        let mut object = service.clone();
        put(&mut object, &proxy("h", "s", "n"));
        assert_eq!(object, service);
    }
}
