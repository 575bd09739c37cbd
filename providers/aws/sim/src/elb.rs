//! Classic load balancers: Elastic Load Balancing.

use crate::{
    Account, REGION,
    ec2::tags_in,
    elb_v2::{invalid, known_groups, page, pairs},
    wire::{Answer, Params, Refusal},
};
use fakecloud::{Now, Value, json};

type Act = fn(&mut Account, &Params, Now) -> Answer;

pub const ACTIONS: &[(&str, Act)] = &[
    ("CreateLoadBalancer", create),
    ("DescribeLoadBalancers", describe),
    ("DeleteLoadBalancer", delete),
    ("AttachLoadBalancerToSubnets", attach),
    ("DetachLoadBalancerFromSubnets", detach),
    ("ApplySecurityGroupsToLoadBalancer", apply_groups),
    ("CreateLoadBalancerListeners", create_listeners),
    ("DeleteLoadBalancerListeners", delete_listeners),
    ("CreateLoadBalancerPolicy", create_policy),
    ("DescribeLoadBalancerPolicies", policies),
    ("SetLoadBalancerPoliciesForBackendServer", set_backend_policies),
    ("SetLoadBalancerPoliciesOfListener", set_listener_policies),
    ("ConfigureHealthCheck", configure_check),
    ("RegisterInstancesWithLoadBalancer", register),
    ("DeregisterInstancesFromLoadBalancer", deregister),
    ("DescribeLoadBalancerAttributes", attributes),
    ("ModifyLoadBalancerAttributes", modify_attributes),
    ("AddTags", add_tags),
    ("DescribeTags", tags),
];

/// A classic load balancer.
#[derive(Debug)]
pub struct Classic {
    /// As answers have it, without its policies.
    pub fields: Value,
    attributes: Value,
    policies: Vec<Value>,
}

impl Classic {
    fn items(&mut self, list: &str) -> &mut Vec<Value> {
        if !self.fields[list].is_array() {
            self.fields[list] = json!([]);
        }
        match &mut self.fields[list] {
            Value::Array(items) => items,
            _ => unreachable!("it was made a list"),
        }
    }

    fn answer(&self) -> Value {
        let names: Value = self
            .policies
            .iter()
            .map(|policy| policy["PolicyName"].clone())
            .collect();
        let mut fields = self.fields.clone();
        fields["Policies"] =
            json!({"OtherPolicies": names, "AppCookieStickinessPolicies": [], "LBCookieStickinessPolicies": []});
        fields
    }
}

fn create(account: &mut Account, params: &Params, _: Now) -> Answer {
    let name = params.required("LoadBalancerName")?;
    let (subnets, groups) = (params.texts("Subnets"), params.texts("SecurityGroups"));
    known_groups(account, &groups)?;
    let scheme = Some(params.text("Scheme"))
        .filter(|scheme| !scheme.is_empty())
        .unwrap_or("internet-facing");
    let listeners: Vec<Value> = params.list("Listeners").iter().map(listener).collect();
    let first = listeners
        .first()
        .map(|one| one["Listener"]["InstancePort"].as_str().unwrap_or_default());
    let target = format!(
        "TCP:{}",
        first.ok_or_else(|| invalid("a load balancer has a listener"))?
    );
    let dns = format!("{name}-123456789.{REGION}.elb.amazonaws.com");
    let fields = json!({
        "LoadBalancerName": name, "DNSName": dns, "CanonicalHostedZoneName": dns, "Scheme": scheme, "VPCId": account.vpc,
        "Subnets": subnets, "AvailabilityZones": [], "SecurityGroups": groups, "ListenerDescriptions": listeners,
        "BackendServerDescriptions": [], "Instances": [],
        "HealthCheck": {"Target": target, "Interval": "30", "Timeout": "5", "UnhealthyThreshold": "2", "HealthyThreshold": "10"},
    });
    if let Some(existing) = account.classic.get(name) {
        let same = ["Scheme", "ListenerDescriptions"]
            .iter()
            .all(|key| existing.fields[*key] == fields[*key]);
        let differs = || {
            Refusal::new(
                "DuplicateLoadBalancerName",
                format!("Load Balancer named {name} already exists and it is configured differently."),
            )
        };
        return same.then(|| json!({"DNSName": dns})).ok_or_else(differs);
    }
    let attributes = json!({
        "AccessLog": {"Enabled": "false"}, "ConnectionDraining": {"Enabled": "false", "Timeout": "300"},
        "ConnectionSettings": {"IdleTimeout": "60"}, "CrossZoneLoadBalancing": {"Enabled": "false"},
        "AdditionalAttributes": [{"Key": "elb.http.desyncmitigationmode", "Value": "defensive"}],
    });
    let classic = Classic {
        fields,
        attributes,
        policies: Vec::new(),
    };
    account.classic.insert(name.to_owned(), classic);
    account.tag(name, tags_in(params.list("Tags")));
    Ok(json!({"DNSName": dns}))
}

/// As AWS shows a listener: in capitals.
fn listener(given: &Value) -> Value {
    let capitals = |value: &Value| value.as_str().unwrap_or_default().to_uppercase();
    let behind = if given["InstanceProtocol"].is_null() {
        &given["Protocol"]
    } else {
        &given["InstanceProtocol"]
    };
    let listener = json!({
        "Protocol": capitals(&given["Protocol"]), "LoadBalancerPort": given["LoadBalancerPort"],
        "InstanceProtocol": capitals(behind), "InstancePort": given["InstancePort"], "SSLCertificateId": given["SSLCertificateId"],
    });
    json!({"Listener": listener, "PolicyNames": []})
}

fn describe(account: &mut Account, params: &Params, _: Now) -> Answer {
    let names = params.texts("LoadBalancerNames");
    if let Some(unknown) = names.iter().find(|name| !account.classic.contains_key(**name)) {
        return Err(not_found(unknown));
    }
    let wanted = account
        .classic
        .iter()
        .filter(|(name, _)| names.is_empty() || names.contains(&&***name));
    Ok(page(
        params,
        "LoadBalancerDescriptions",
        wanted.map(|(_, classic)| classic.answer()).collect(),
    ))
}

/// One that does not exist is a success.
fn delete(account: &mut Account, params: &Params, now: Now) -> Answer {
    let name = params.required("LoadBalancerName")?;
    if let Some(classic) = account.classic.remove(name) {
        account.linger(&classic.fields, now);
        account.tags.remove(name);
    }
    Ok(json!({}))
}

fn attach(account: &mut Account, params: &Params, _: Now) -> Answer {
    let new = params.texts("Subnets");
    let items = classic_mut(account, params)?.items("Subnets");
    items.extend(
        new.into_iter()
            .map(Value::from)
            .filter(|id| !items.contains(id))
            .collect::<Vec<_>>(),
    );
    Ok(json!({"Subnets": items}))
}

fn detach(account: &mut Account, params: &Params, _: Now) -> Answer {
    let gone = params.texts("Subnets");
    let items = classic_mut(account, params)?.items("Subnets");
    items.retain(|id| !gone.iter().any(|gone| id == gone));
    Ok(json!({"Subnets": items}))
}

fn apply_groups(account: &mut Account, params: &Params, _: Now) -> Answer {
    let groups = params.texts("SecurityGroups");
    known_groups(account, &groups)?;
    classic_mut(account, params)?.fields["SecurityGroups"] = groups.clone().into();
    Ok(json!({"SecurityGroups": groups}))
}

fn create_listeners(account: &mut Account, params: &Params, _: Now) -> Answer {
    let items = classic_mut(account, params)?.items("ListenerDescriptions");
    for new in params.list("Listeners").iter().map(listener) {
        let port = |one: &Value| one["Listener"]["LoadBalancerPort"].clone();
        match items.iter().find(|other| port(other) == port(&new)) {
            None => items.push(new),
            Some(other) if other["Listener"] == new["Listener"] => {}
            Some(_) => {
                let message = format!("A listener already exists for the load balancer port {}", port(&new));
                return Err(Refusal::new("DuplicateListener", message));
            }
        }
    }
    Ok(json!({}))
}

fn delete_listeners(account: &mut Account, params: &Params, _: Now) -> Answer {
    let gone = params.texts("LoadBalancerPorts");
    let items = classic_mut(account, params)?.items("ListenerDescriptions");
    items.retain(|one| !gone.iter().any(|port| one["Listener"]["LoadBalancerPort"] == *port));
    Ok(json!({}))
}

fn create_policy(account: &mut Account, params: &Params, _: Now) -> Answer {
    let (classic, name) = (classic_mut(account, params)?, params.required("PolicyName")?);
    if classic.policies.iter().any(|policy| policy["PolicyName"] == name) {
        return Err(Refusal::new(
            "DuplicatePolicyName",
            format!("Policy {name} already exists"),
        ));
    }
    let attributes = params.list("PolicyAttributes");
    classic.policies.push(json!({
        "PolicyName": name, "PolicyTypeName": params.text("PolicyTypeName"), "PolicyAttributeDescriptions": attributes,
    }));
    Ok(json!({}))
}

fn policies(account: &mut Account, params: &Params, _: Now) -> Answer {
    let names = params.texts("PolicyNames");
    let all = &classic_mut(account, params)?.policies;
    let is_wanted = |policy: &&Value| names.is_empty() || names.iter().any(|name| policy["PolicyName"] == *name);
    let found: Vec<&Value> = all.iter().filter(is_wanted).collect();
    if found.len() < names.len() {
        return Err(Refusal::new("PolicyNotFound", "There is no policy with this name"));
    }
    Ok(json!({"PolicyDescriptions": found}))
}

fn set_backend_policies(account: &mut Account, params: &Params, _: Now) -> Answer {
    let (port, names) = (params.required("InstancePort")?, params.texts("PolicyNames"));
    let items = classic_mut(account, params)?.items("BackendServerDescriptions");
    items.retain(|one| one["InstancePort"] != port);
    if !names.is_empty() {
        items.push(json!({"InstancePort": port, "PolicyNames": names}));
    }
    Ok(json!({}))
}

fn set_listener_policies(account: &mut Account, params: &Params, _: Now) -> Answer {
    let (port, names) = (params.required("LoadBalancerPort")?, params.texts("PolicyNames"));
    let items = classic_mut(account, params)?.items("ListenerDescriptions");
    let listener = items.iter_mut().find(|one| one["Listener"]["LoadBalancerPort"] == port);
    let missing = || Refusal::new("ListenerNotFound", format!("There is no listener on port {port}"));
    listener.ok_or_else(missing)?["PolicyNames"] = names.into();
    Ok(json!({}))
}

fn configure_check(account: &mut Account, params: &Params, _: Now) -> Answer {
    let check = params.get("HealthCheck");
    classic_mut(account, params)?.fields["HealthCheck"] = check.clone();
    Ok(json!({"HealthCheck": check}))
}

fn register(account: &mut Account, params: &Params, _: Now) -> Answer {
    let new = params.list("Instances");
    let is_known = |one: &&Value| {
        one["InstanceId"]
            .as_str()
            .is_some_and(|id| account.machines.contains_key(id))
    };
    if let Some(odd) = new.iter().find(|one| !is_known(one)) {
        return Err(Refusal::new(
            "InvalidInstance",
            format!("Could not find EC2 instance {}.", odd["InstanceId"]),
        ));
    }
    let items = classic_mut(account, params)?.items("Instances");
    items.extend(
        new.iter()
            .filter(|one| !items.contains(one))
            .cloned()
            .collect::<Vec<_>>(),
    );
    Ok(json!({"Instances": items}))
}

fn deregister(account: &mut Account, params: &Params, _: Now) -> Answer {
    let gone = params.list("Instances");
    let items = classic_mut(account, params)?.items("Instances");
    items.retain(|one| !gone.contains(one));
    Ok(json!({"Instances": items}))
}

fn attributes(account: &mut Account, params: &Params, _: Now) -> Answer {
    Ok(json!({"LoadBalancerAttributes": classic_mut(account, params)?.attributes}))
}

fn modify_attributes(account: &mut Account, params: &Params, _: Now) -> Answer {
    let given = params.get("LoadBalancerAttributes");
    let classic = classic_mut(account, params)?;
    for (name, value) in given.as_object().into_iter().flatten() {
        for (field, value) in value.as_object().into_iter().flatten() {
            classic.attributes[name][field] = value.clone();
        }
    }
    Ok(json!({"LoadBalancerName": params.text("LoadBalancerName"), "LoadBalancerAttributes": classic.attributes}))
}

fn add_tags(account: &mut Account, params: &Params, _: Now) -> Answer {
    let names = known(account, params)?;
    let [name] = &names[..] else {
        return Err(invalid("Exactly 1 LoadBalancerName can be specified"));
    };
    account.tag(name, tags_in(params.list("Tags")));
    Ok(json!({}))
}

fn tags(account: &mut Account, params: &Params, _: Now) -> Answer {
    let description = |name: &String| json!({"LoadBalancerName": name, "Tags": pairs(&account.tags_of(name))});
    Ok(json!({"TagDescriptions": known(account, params)?.iter().map(description).collect::<Value>()}))
}

/// The load balancers, which must exist: at most 20.
fn known(account: &Account, params: &Params) -> Result<Vec<String>, Refusal> {
    let names = params.texts("LoadBalancerNames");
    if names.len() > 20 {
        return Err(invalid("Up to 20 load balancers can be described in one call"));
    }
    match names.iter().find(|name| !account.classic.contains_key(**name)) {
        Some(unknown) => Err(not_found(unknown)),
        None => Ok(names.into_iter().map(str::to_owned).collect()),
    }
}

fn classic_mut<'a>(account: &'a mut Account, params: &Params) -> Result<&'a mut Classic, Refusal> {
    let name = params.required("LoadBalancerName")?;
    account.classic.get_mut(name).ok_or_else(|| not_found(name))
}

fn not_found(name: &str) -> Refusal {
    Refusal::new(
        "LoadBalancerNotFound",
        format!("There is no ACTIVE Load Balancer named '{name}'"),
    )
}
