//! The manager's flags.

use crate::standalone::scope::selector;
use crate::standalone::{Context, names};
use operator_api::{CloudControllerManager, cloud_controller_manager::Routes};

/// Where the provider's configuration is mounted.
pub(crate) const CONFIG: &str = "/etc/outrigger/config";
/// The name of the configuration there.
pub(crate) const CONFIG_FILE: &str = "cloud.conf";
/// Where the certificate of the secure port is mounted.
pub(in crate::standalone) const SERVING_CERT: &str = "/etc/outrigger/serving-cert";

/// The command line: the user's own flags are last.
pub(in crate::standalone) fn of(manager: &CloudControllerManager, name: &str, context: &Context<'_>) -> Vec<String> {
    let spec = &manager.spec;
    let mut args = vec![
        "ccm".to_owned(),
        flag("cloud-provider", &spec.provider),
        flag("controllers", &spec.controllers.join(",")),
        flag("leader-elect", "true"),
        flag("leader-elect-resource-name", &names::full(name)),
        flag("leader-elect-resource-namespace", context.namespace),
        flag("secure-port", &spec.secure_port.to_string()),
        flag("tls-cert-file", &format!("{SERVING_CERT}/tls.crt")),
        flag("tls-private-key-file", &format!("{SERVING_CERT}/tls.key")),
        flag("v", &spec.log_verbosity.to_string()),
    ];
    if spec.cloud_config.is_some() {
        args.push(flag("cloud-config", &format!("{CONFIG}/{CONFIG_FILE}")));
    }
    if let Some(cluster) = &spec.cluster_name {
        args.push(flag("cluster-name", cluster));
    }
    args.extend(routes(manager));
    args.extend(scope(manager));
    args.extend(spec.extra_args.iter().cloned());
    args
}

fn routes(manager: &CloudControllerManager) -> Vec<String> {
    let spec = &manager.spec;
    let wanted = (spec.routes == Routes::Enabled).to_string();
    let mut args = vec![flag("configure-cloud-routes", &wanted)];
    if !spec.cluster_cidrs.is_empty() {
        args.push(flag("cluster-cidr", &spec.cluster_cidrs.join(",")));
    }
    args
}

fn scope(manager: &CloudControllerManager) -> Vec<String> {
    let scope = &manager.spec.scope;
    let mut args = Vec::new();
    let selector = selector::text(&scope.node_selector);
    if !selector.is_empty() {
        args.push(flag("node-selector", &selector));
    }
    if !scope.provider_id_schemes.is_empty() {
        args.push(flag("provider-id-scheme", &scope.provider_id_schemes.join(",")));
    }
    if !scope.load_balancer_classes.is_empty() {
        args.push(flag("load-balancer-class", &scope.load_balancer_classes.join(",")));
    }
    if !scope.serves_classless() {
        args.push(flag("load-balancer-without-class", "false"));
    }
    args
}

/// Kubernetes would replace `$(NAME)` by the value of a variable.
fn flag(name: &str, value: &str) -> String {
    format!("--{name}={}", value.replace("$(", "$$("))
}
