//! The values of the Helm chart. Their schema is generated from these types.
//!
//! The names are those of the chart of openstack-cloud-controller-manager (occm) wherever that has a value for the same thing, so its values can be
//! used as they are.

use operator_api::cloud_controller_manager::{PLACEHOLDER, Spec};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Value, json};

/// Values of the chart.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is needed")]
struct Values {
    /// What is installed: the operator, which runs a manager for each entry of managers, or one manager without the operator.
    mode: Mode,
    /// The image of the operator and of the managers.
    image: Image,
    /// Secrets for pulling the image.
    #[schemars(schema_with = "list")]
    image_pull_secrets: Value,
    /// With mode=operator: managers, each with the spec of a `CloudControllerManager` under its name.
    #[schemars(schema_with = "managers")]
    managers: Value,
    /// With mode=manager: the cloud, by the name of its provider in --cloud-provider.
    #[schemars(extend("pattern" = "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    provider: String,
    /// With mode=manager: the workload.
    kind: Kind,
    /// The number of replicas, unless kind is `DaemonSet`. By default 1 operator, 2 managers.
    #[schemars(range(min = 1, max = 9))]
    replicas: Option<i32>,
    /// With mode=manager: the name of the cluster in the cloud.
    cluster: Cluster,
    /// With mode=manager: sections of cloud.conf, each with its keys.
    cloud_config: CloudConfig,
    /// With mode=manager: the whole cloud.conf, instead of cloudConfig.
    cloud_config_contents: String,
    /// With mode=manager: the Secret with cloud.conf.
    secret: ConfigSecret,
    /// With mode=manager: a Secret whose keys become files in /etc/outrigger/credentials.
    credentials: CredentialsSecret,
    /// With mode=manager: which controllers run; empty for those that run by default.
    enabled_controllers: Vec<String>,
    /// More flags: a list, or a text with a list in YAML, which may be a template.
    #[schemars(schema_with = "list_or_text")]
    controller_extra_args: Value,
    /// With mode=manager: the lease by which managers of one cluster exclude each other.
    leader_election: LeaderElection,
    /// With mode=manager: the port of metrics and health on each node that runs the manager.
    #[schemars(range(min = 1024, max = 65535))]
    secure_port: i32,
    /// The verbosity of the log: the flag -v.
    #[schemars(range(min = 0, max = 10))]
    log_verbosity_level: i32,
    /// How Prometheus finds the metrics.
    service_monitor: ServiceMonitor,
    /// Additional labels of every object.
    #[schemars(schema_with = "texts")]
    common_labels: Value,
    /// Additional annotations of every object and Pod.
    #[schemars(schema_with = "texts")]
    common_annotations: Value,
    /// Additional labels of the Pods.
    #[schemars(schema_with = "texts")]
    pod_labels: Value,
    /// Additional annotations of the Pods.
    #[schemars(schema_with = "texts")]
    pod_annotations: Value,
    /// Additional annotations of the `ServiceAccount`.
    #[schemars(schema_with = "texts")]
    service_account_annotations: Value,
    /// With mode=manager: the name of the `ServiceAccount`; empty for the name of the release.
    service_account_name: String,
    /// With mode=manager: the name of the `ClusterRole`; empty for one of this release alone.
    cluster_role_name: String,
    /// The name of the objects with mode=manager; empty for the name of the release with -cloud-controller-manager.
    #[schemars(length(max = 63))]
    name_override: String,
    /// The node selector of the Pods.
    #[schemars(schema_with = "map")]
    node_selector: Value,
    /// Taints that the Pods tolerate, besides those of the control plane and of nodes that are not ready.
    #[schemars(schema_with = "list")]
    tolerations: Value,
    /// The affinity of the Pods, instead of the default.
    #[schemars(schema_with = "map")]
    affinity: Value,
    /// The resources of each replica; empty for a small request.
    #[schemars(schema_with = "map")]
    resources: Value,
    /// The priority of the Pods; empty for system-cluster-critical.
    priority_class_name: Option<String>,
    /// Environment variables.
    #[schemars(schema_with = "list")]
    extra_env: Value,
    /// With mode=manager: the liveness probe, instead of the default.
    #[schemars(schema_with = "map")]
    liveness_probe: Value,
    /// With mode=manager: the readiness probe, instead of the default.
    #[schemars(schema_with = "map")]
    readiness_probe: Value,
    /// With mode=manager: further fields of the security context of the Pods. User, group and seccomp profile are fixed.
    #[schemars(schema_with = "map")]
    pod_security_context: Value,
    /// With mode=manager: further fields of the security context of the container. Privileges, capabilities and root file system are fixed.
    #[schemars(schema_with = "map")]
    security_context: Value,
    /// With mode=manager: init containers.
    #[schemars(schema_with = "list")]
    extra_init_containers: Value,
    /// With mode=manager: additional volumes.
    #[schemars(schema_with = "list")]
    extra_volumes: Value,
    /// With mode=manager: the mounts of these volumes.
    #[schemars(schema_with = "list")]
    extra_volume_mounts: Value,
    /// Entries of the hosts file.
    #[schemars(schema_with = "list")]
    host_aliases: Value,
    /// With mode=manager: the DNS policy. The Pods use the network of their nodes.
    dns_policy: DnsPolicy,
    /// With mode=manager: the DNS configuration.
    #[schemars(schema_with = "map")]
    dns_config: Value,
    /// Values for all charts of an umbrella chart; not used.
    #[schemars(schema_with = "map")]
    global: Value,
}

/// What is installed.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only the schema is needed")]
enum Mode {
    Operator,
    Manager,
}

/// The workload of a manager without the operator.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is needed")]
enum Kind {
    Deployment,
    DaemonSet,
}

/// The DNS policy.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is needed")]
enum DnsPolicy {
    Default,
    ClusterFirst,
    ClusterFirstWithHostNet,
    None,
}

/// An image.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is needed")]
struct Image {
    /// Its repository.
    #[schemars(length(min = 1))]
    repository: String,
    /// Its tag; empty for the version of the chart.
    tag: String,
    /// Its digest, instead of the tag.
    #[schemars(extend("pattern" = "^$|^sha256:[a-f0-9]{64}$"))]
    digest: String,
    /// The pull policy.
    pull_policy: PullPolicy,
}

/// When an image is pulled.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is needed")]
enum PullPolicy {
    IfNotPresent,
    Always,
    Never,
}

/// The cluster in the cloud.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is needed")]
struct Cluster {
    /// Part of the names of load balancers and other objects. It must be unique in the project, and must not change.
    #[schemars(length(max = 255), extend("pattern" = r"^\S*$", "not" = json!({"const": PLACEHOLDER})))]
    name: String,
}

/// Sections of cloud.conf.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is needed")]
struct CloudConfig {
    /// The section Global.
    #[schemars(schema_with = "section")]
    global: Value,
    /// The section Networking.
    #[schemars(schema_with = "section")]
    networking: Value,
    /// The section `LoadBalancer`.
    #[schemars(schema_with = "section")]
    load_balancer: Value,
    /// The section `BlockStorage`.
    #[schemars(schema_with = "section")]
    block_storage: Value,
    /// The section Metadata.
    #[schemars(schema_with = "section")]
    metadata: Value,
    /// The section Route.
    #[schemars(schema_with = "section")]
    route: Value,
}

/// The Secret with cloud.conf.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is needed")]
struct ConfigSecret {
    /// Whether the manager has a configuration.
    enabled: bool,
    /// Whether the chart creates it.
    create: bool,
    /// Its name.
    #[schemars(length(min = 1))]
    name: String,
}

/// A Secret with credentials.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is needed")]
struct CredentialsSecret {
    /// Its name; empty for none.
    name: String,
}

/// The lease.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is needed")]
struct LeaderElection {
    /// Its name. That of every cloud controller manager is the default.
    #[schemars(length(min = 1))]
    name: String,
    /// Its namespace.
    #[schemars(length(min = 1))]
    namespace: String,
}

/// How Prometheus finds the metrics.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is needed")]
struct ServiceMonitor {
    /// With mode=manager: whether there is a `ServiceMonitor`. The operator creates them wherever the Prometheus operator is installed.
    enabled: bool,
    /// Additional labels, for a Prometheus that selects by label.
    #[schemars(schema_with = "texts")]
    additional_labels: Value,
    /// With mode=manager: how often metrics are read.
    interval: String,
    /// With mode=manager: how long that may take.
    scrape_timeout: String,
}

fn list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["array", "null"], "items": {"type": "object"}})
}

/// The chart of occm has empty lists in place of empty maps.
fn map(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["object", "array", "null"], "maxItems": 0})
}

fn texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["object", "null"], "additionalProperties": {"type": "string"}})
}

fn section(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["object", "null"]})
}

fn list_or_text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["array", "string", "object", "null"], "items": {"type": "string"}, "maxProperties": 0})
}

/// The rules that only an API server knows stay with the API server.
fn managers(generator: &mut SchemaGenerator) -> Schema {
    let spec = generator.subschema_for::<Spec>();
    json_schema!({"type": ["object", "null"], "propertyNames": {"pattern": "^[a-z]([-a-z0-9]{0,36}[a-z0-9])?$"}, "additionalProperties": spec})
}

/// The schema of the values, in the form that Helm needs.
pub(super) fn schema() -> String {
    let mut schema = json!(
        SchemaSettings::draft07()
            .with(|settings| settings.inline_subschemas = true)
            .into_generator()
            .into_root_schema_for::<Values>()
    );
    tidy(&mut schema);
    // A value that is omitted is the chart's default.
    optional(&mut schema);
    format!("{schema:#}\n")
}

/// Removes rules that only the API server understands, and formatting from texts.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !name.starts_with("x-kubernetes-") && name != "title" && name != "format" && name != "default"
            });
            if let Some(Value::String(text)) = fields.get_mut("description") {
                let plain = text.replace('`', "");
                plain.split(" {").next().unwrap_or_default().clone_into(text);
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// No value of the chart is required, because all have defaults.
fn optional(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.remove("required");
    for (_, property) in fields
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        // The required fields of a manager's spec stay required.
        if property.get("propertyNames").is_none() {
            optional(property);
        }
    }
}
