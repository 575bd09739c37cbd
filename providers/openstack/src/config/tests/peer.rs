//! A configuration that the Go program accepts is accepted, with the same result.
//!
//! If the Go program fails later, or has a defect that ours does not have, the results may differ.

mod inputs;
mod program;

use super::*;
use serde_json::{Value, json};

#[test]
fn both_programs_read_the_same() {
    let folder = program::Folder::new();
    let inputs = inputs::all(&folder.0);
    let theirs = program::answers(&folder.0, &inputs).unwrap();
    assert_eq!(theirs.len(), inputs.len());
    let accepted = theirs.iter().filter(|answer| answer["request"].is_object()).count();
    assert!(accepted > 500, "only {accepted} of {} are accepted", inputs.len());
    let environment = Environment {
        home: std::env::var_os("HOME").map(PathBuf::from),
        directory: Some(folder.0.clone()),
        ..Environment::default()
    };
    let different = inputs.iter().zip(&theirs).filter_map(|(input, theirs)| {
        let difference = difference(input, theirs, &environment)?;
        Some(format!("{input}\n  {difference}\n"))
    });
    let different: Vec<String> = different.collect();
    assert!(
        different.is_empty(),
        "{} differ:\n{}",
        different.len(),
        different.join("\n")
    );
}

fn difference(input: &str, theirs: &Value, environment: &Environment) -> Option<String> {
    let sources = Sources {
        file: Some(File {
            name: "cloud.conf",
            content: input.as_bytes(),
        }),
        data: &LiveData::default(),
        files: &Disk,
    };
    let ours = load(&sources, environment).map(|loaded| loaded.config);
    match (theirs["failed"].as_str(), ours) {
        (Some("crash"), _) | (Some(_), Err(_)) => None,
        (Some(stage), Ok(_)) => Some(format!("theirs fails ({stage})")),
        (None, Err(error)) if stands(input, theirs) => Some(format!("ours fails: {error}")),
        (None, Err(_)) => None,
        (None, Ok(config)) => compare(&config, input, theirs),
    }
}

fn compare(config: &Config, input: &str, theirs: &Value) -> Option<String> {
    let shown = show(config);
    if shown != normal(&theirs["config"]) {
        return Some(format!("ours:   {shown}\n  theirs: {}", normal(&theirs["config"])));
    }
    let request = request(&config.global);
    let same = !stands(input, theirs) || request == theirs["request"]["auth"];
    (!same).then(|| format!("ours:   {request}\n  theirs: {}", theirs["request"]["auth"]))
}

/// Whether the Go program accepts the input, and ours should, too.
fn stands(input: &str, theirs: &Value) -> bool {
    let auth = &theirs["request"]["auth"];
    let endpoint = theirs["config"]["os-endpoint-type"].as_str().unwrap_or_default();
    let given = |key: &str| input.lines().any(|line| line.starts_with(key));
    // occm requests no scope with an application credential, so the token cannot be used
    let scope_expected = given("application-credential") || given("tenant-");
    let useless = scope_expected && auth["scope"].is_null() && !auth["identity"]["password"].is_null();
    // Keystone: an application credential cannot ask for a scope
    let doomed = !auth["identity"]["application_credential"].is_null() && !auth["scope"].is_null();
    // then keys in [Global] have no effect
    let overruled = given("cloud=")
        && ["user", "password", "tenant", "domain", "token", "app"]
            .iter()
            .any(|key| given(key));
    let refused = !["", "public", "internal", "admin"].contains(&endpoint) || theirs["config"]["auth-url"] == "";
    auth.is_object() && !useless && !doomed && !overruled && !refused
}

/// Their configuration, where ours expresses the same differently.
fn normal(theirs: &Value) -> Value {
    let mut theirs = theirs.clone();
    let defaults = [5, 3, 0, 0, 0, 60_000];
    if let Some(numbers) = theirs["numbers"].as_array_mut() {
        for (number, default) in numbers.iter_mut().zip(defaults) {
            let given = number.as_i64().unwrap_or_default();
            if given < 0 || (given == 0 && default == 60_000) {
                *number = json!(default);
            }
        }
    }
    if theirs["os-endpoint-type"] == "" {
        theirs["os-endpoint-type"] = json!("public");
    }
    theirs
}

fn show(config: &Config) -> Value {
    let (global, lb, networking) = (&config.global, &config.load_balancer, &config.networking);
    let Class {
        floating_network_id,
        floating_subnet_id,
        floating_subnet,
        floating_subnet_tags,
        network_id,
        subnet_id,
        member_subnet_id,
    } = &lb.networks;
    let interface = match global.interface {
        Interface::Public => "public",
        Interface::Internal => "internal",
        Interface::Admin => "admin",
    };
    json!({
        "auth-url": global.auth_url,
        "region": global.region,
        "os-endpoint-type": interface,
        "insecure": global.tls.verification == Verification::Off,
        "flags": [lb.enabled, lb.create_monitor, lb.manage_security_groups, lb.internal_lb, lb.cascade_delete,
            lb.enable_ingress_hostname, lb.provider_requires_serial_api_calls, networking.ipv6 == Ipv6::Disabled],
        "texts": [lb.lb_provider, lb.lb_method, lb.node_selector, lb.flavor_id, lb.availability_zone,
            lb.ingress_hostname_suffix, lb.default_tls_container_ref, lb.container_store, floating_network_id,
            floating_subnet_id, floating_subnet, floating_subnet_tags, network_id, subnet_id, member_subnet_id,
            config.router_id.as_deref().unwrap_or_default(), config.search_order],
        "numbers": [lb.monitor_delay.as_secs(), lb.monitor_timeout.as_secs(), lb.monitor_max_retries,
            lb.monitor_max_retries_down, lb.max_shared_lb, u64::try_from(config.request_timeout.as_millis()).unwrap()],
        "public": networking.public_network_names,
        "internal": networking.internal_network_names,
        "classes": config.classes.iter().map(|(name, class)| (name.clone(), of_class(class))).collect::<serde_json::Map<_, _>>(),
    })
}

fn of_class(class: &Class) -> Value {
    json!([
        class.floating_network_id,
        class.floating_subnet_id,
        class.floating_subnet,
        class.floating_subnet_tags,
        class.network_id,
        class.subnet_id,
        class.member_subnet_id
    ])
}

/// The request of ours to Keystone.
fn request(global: &Global) -> Value {
    let identity = match &global.method {
        Method::Password { user, password } => {
            let mut user = of_user(user);
            user["password"] = json!(password.expose_secret());
            json!({"methods": ["password"], "password": {"user": user}})
        }
        Method::ApplicationCredential { credential, secret } => {
            let mut asked = match credential {
                Credential::Id(id) => json!({"id": id}),
                Credential::Name { name, user } => json!({"name": name, "user": of_user(user)}),
            };
            asked["secret"] = json!(secret.expose_secret());
            json!({"methods": ["application_credential"], "application_credential": asked})
        }
        Method::Token(token) => json!({"methods": ["token"], "token": {"id": token.expose_secret()}}),
    };
    match &global.scope {
        Scope::None => json!({"identity": identity}),
        Scope::ProjectId(id) => json!({"identity": identity, "scope": {"project": {"id": id}}}),
        Scope::ProjectName { name, domain } => {
            json!({"identity": identity, "scope": {"project": {"name": name, "domain": of_domain(domain.as_ref())}}})
        }
        Scope::Domain(domain) => json!({"identity": identity, "scope": {"domain": of_domain(Some(domain))}}),
        Scope::Trust(id) => json!({"identity": identity, "scope": {"OS-TRUST:trust": {"id": id}}}),
    }
}

fn of_user(user: &User) -> Value {
    match user {
        User::Id(id) => json!({"id": id}),
        User::Name { name, domain } => json!({"name": name, "domain": of_domain(domain.as_ref())}),
    }
}

fn of_domain(domain: Option<&Domain>) -> Value {
    match domain {
        None => Value::Null,
        Some(Domain::Id(id)) => json!({"id": id}),
        Some(Domain::Name(name)) => json!({"name": name}),
    }
}
