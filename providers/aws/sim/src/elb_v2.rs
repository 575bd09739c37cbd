//! Network load balancers and their listeners: Elastic Load Balancing v2.

pub mod targets;

use crate::{
    Account, REGION,
    account::texts,
    ec2::tags_in,
    wire::{Answer, Params, Refusal},
};
use fakecloud::{Now, Value, json};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::Instant;

type Act = fn(&mut Account, &Params, Now) -> Answer;

pub const ACTIONS: &[(&str, Act)] = &[
    ("CreateLoadBalancer", create),
    ("DescribeLoadBalancers", describe),
    ("DeleteLoadBalancer", delete),
    ("SetSecurityGroups", set_groups),
    ("DescribeLoadBalancerAttributes", attributes),
    ("ModifyLoadBalancerAttributes", modify_attributes),
    ("CreateListener", create_listener),
    ("DescribeListeners", listeners),
    ("ModifyListener", modify_listener),
    ("DeleteListener", delete_listener),
    ("CreateTargetGroup", targets::create),
    ("DescribeTargetGroups", targets::describe),
    ("ModifyTargetGroup", targets::modify),
    ("DeleteTargetGroup", targets::delete),
    ("RegisterTargets", targets::register),
    ("DeregisterTargets", targets::deregister),
    ("DescribeTargetHealth", targets::health),
    ("DescribeTargetGroupAttributes", targets::attributes),
    ("ModifyTargetGroupAttributes", targets::modify_attributes),
    ("AddTags", add_tags),
    ("RemoveTags", remove_tags),
    ("DescribeTags", tags),
];

/// How many items a page has at most.
const PAGE: usize = 400;
/// How the ARN of everything begins.
const ARN: &str = "arn:aws:elasticloadbalancing:us-east-1:000000000001";

pub type Attributes = BTreeMap<String, String>;

/// A load balancer.
#[derive(Debug)]
pub struct Balancer {
    /// As answers have it, without its state.
    pub fields: Value,
    attributes: Attributes,
    /// By their ARNs, as answers have them.
    pub listeners: BTreeMap<String, Value>,
    created: Instant,
}

fn create(account: &mut Account, params: &Params, now: Now) -> Answer {
    let name = params.required("Name")?;
    if params.text("Type") != "network" {
        return Err(invalid("only network load balancers are simulated"));
    }
    let scheme = Some(params.text("Scheme"))
        .filter(|scheme| !scheme.is_empty())
        .unwrap_or("internet-facing");
    let mappings = params.list("SubnetMappings");
    let zones: Vec<Value> = mappings
        .iter()
        .map(|mapping| zone(account, mapping))
        .collect::<Result<_, _>>()?;
    if let Some(existing) = account
        .network
        .values()
        .find(|other| other.fields["LoadBalancerName"] == name)
    {
        let is_equal =
            existing.fields["Scheme"] == scheme && existing.fields["AvailabilityZones"] == Value::from(zones);
        let differs = || {
            Refusal::new(
                "DuplicateLoadBalancerName",
                format!("A load balancer with the same name '{name}' exists, but with different settings"),
            )
        };
        return is_equal
            .then(|| existing.answer(account, now))
            .ok_or_else(differs)
            .map(|lb| json!({"LoadBalancers": [lb]}));
    }
    if account.settings.free_addresses < 8 {
        return Err(Refusal::new(
            "InsufficientFreeAddressesInSubnet",
            "Not enough IP space available in the subnet",
        ));
    }
    let id = account.id("");
    let arn = format!("{ARN}:loadbalancer/net/{name}/{}", &id[2..]);
    let mut fields = json!({
        "LoadBalancerArn": arn, "LoadBalancerName": name, "DNSName": format!("{name}-{}.elb.{REGION}.amazonaws.com", &id[2..]),
        "Type": "network", "Scheme": scheme, "VpcId": account.vpc, "IpAddressType": "ipv4", "AvailabilityZones": zones,
    });
    let groups = params.texts("SecurityGroups");
    if !groups.is_empty() {
        known_groups(account, &groups)?;
        fields["SecurityGroups"] = groups.into();
    }
    let defaults = [
        ("load_balancing.cross_zone.enabled", "false"),
        ("access_logs.s3.enabled", "false"),
        ("access_logs.s3.bucket", ""),
        ("access_logs.s3.prefix", ""),
        ("deletion_protection.enabled", "false"),
    ];
    let balancer = Balancer {
        fields,
        attributes: owned(&defaults),
        listeners: BTreeMap::new(),
        created: now.instant,
    };
    let answer = balancer.answer(account, now);
    account.tag(&arn, tags_in(params.list("Tags")));
    account.network.insert(arn, balancer);
    Ok(json!({"LoadBalancers": [answer]}))
}

fn zone(account: &Account, mapping: &Value) -> Result<Value, Refusal> {
    let id = mapping["SubnetId"].as_str().unwrap_or_default();
    let subnet = account.subnets.iter().find(|subnet| subnet.id == id);
    let subnet =
        subnet.ok_or_else(|| Refusal::new("SubnetNotFound", format!("The subnet ID '{id}' does not exist")))?;
    let address = json!({"AllocationId": mapping["AllocationId"], "PrivateIPv4Address": mapping["PrivateIPv4Address"]});
    let addresses = if mapping["AllocationId"].is_null() && mapping["PrivateIPv4Address"].is_null() {
        json!([])
    } else {
        json!([address])
    };
    Ok(json!({"ZoneName": subnet.zone, "SubnetId": id, "LoadBalancerAddresses": addresses}))
}

pub fn known_groups(account: &Account, groups: &[&str]) -> Result<(), Refusal> {
    match groups.iter().find(|id| !account.groups.contains_key(**id)) {
        Some(id) => Err(Refusal::new(
            "InvalidSecurityGroup",
            format!("Security group '{id}' does not exist"),
        )),
        None => Ok(()),
    }
}

impl Balancer {
    fn answer(&self, account: &Account, now: Now) -> Value {
        let is_new = now.instant < self.created + account.settings.provisioning;
        let mut fields = self.fields.clone();
        fields["State"] = json!({"Code": if is_new { "provisioning" } else { "active" }});
        fields
    }

    fn is_shown(&self, after: Duration, now: Now) -> bool {
        now.instant >= self.created + after
    }

    /// The ARNs of the target groups that its listeners use.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.listeners
            .values()
            .filter_map(|listener| listener["DefaultActions"][0]["TargetGroupArn"].as_str())
    }
}

fn describe(account: &mut Account, params: &Params, now: Now) -> Answer {
    let (names, arns) = (params.texts("Names"), params.texts("LoadBalancerArns"));
    let after = account.settings.visible_after;
    let shown: Vec<&Balancer> = account
        .network
        .values()
        .filter(|balancer| balancer.is_shown(after, now))
        .collect();
    let is = |balancer: &&&Balancer, key: &str, wanted: &[&str]| wanted.iter().any(|one| balancer.fields[key] == *one);
    let found: Vec<Value> = shown
        .iter()
        .filter(|one| {
            names.is_empty() && arns.is_empty()
                || is(one, "LoadBalancerName", &names)
                || is(one, "LoadBalancerArn", &arns)
        })
        .map(|balancer| balancer.answer(account, now))
        .collect();
    if found.len() < names.len() + arns.len() {
        return Err(no_balancer());
    }
    Ok(page(params, "LoadBalancers", found))
}

/// A page of a list, and the marker of the next one.
pub fn page(params: &Params, name: &str, all: Vec<Value>) -> Value {
    let start = params.number("Marker").unwrap_or(0);
    let size = params.number("PageSize").unwrap_or(PAGE).clamp(1, PAGE);
    let next = (start + size < all.len()).then(|| (start + size).to_string());
    let items: Vec<Value> = all.into_iter().skip(start).take(size).collect();
    json!({name: items, "NextMarker": next})
}

/// One that does not exist is a success.
fn delete(account: &mut Account, params: &Params, now: Now) -> Answer {
    let arn = params.required("LoadBalancerArn")?;
    if let Some(balancer) = account.network.remove(arn) {
        account.linger(&balancer.fields, now);
        for listener in balancer.listeners.keys() {
            account.tags.remove(listener);
        }
        account.tags.remove(arn);
    }
    Ok(json!({}))
}

fn set_groups(account: &mut Account, params: &Params, _: Now) -> Answer {
    let groups = params.texts("SecurityGroups");
    known_groups(account, &groups)?;
    let balancer = balancer_mut(account, params)?;
    if balancer.fields["SecurityGroups"].is_null() {
        let message = "You cannot set security groups on a Network Load Balancer that was created without";
        return Err(Refusal::new("InvalidConfigurationRequest", message));
    }
    balancer.fields["SecurityGroups"] = groups.into();
    Ok(json!({}))
}

fn attributes(account: &mut Account, params: &Params, _: Now) -> Answer {
    Ok(json!({"Attributes": pairs(&balancer_mut(account, params)?.attributes)}))
}

fn modify_attributes(account: &mut Account, params: &Params, _: Now) -> Answer {
    let attributes = &mut balancer_mut(account, params)?.attributes;
    set_attributes(attributes, params)
}

pub fn set_attributes(attributes: &mut Attributes, params: &Params) -> Answer {
    let new = tags_in(params.list("Attributes"));
    if let Some(unknown) = new.keys().find(|key| !attributes.contains_key(*key)) {
        return Err(invalid(&format!(
            "Load balancer attribute key '{unknown}' is not recognized"
        )));
    }
    attributes.extend(new);
    Ok(json!({"Attributes": pairs(attributes)}))
}

pub fn pairs(attributes: &Attributes) -> Value {
    attributes
        .iter()
        .map(|(key, value)| json!({"Key": key, "Value": value}))
        .collect()
}

pub fn owned(defaults: &[(&str, &str)]) -> Attributes {
    defaults
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn balancer_mut<'a>(account: &'a mut Account, params: &Params) -> Result<&'a mut Balancer, Refusal> {
    account
        .network
        .get_mut(params.required("LoadBalancerArn")?)
        .ok_or_else(no_balancer)
}

fn no_balancer() -> Refusal {
    Refusal::new("LoadBalancerNotFound", "One or more load balancers not found")
}

pub fn invalid(message: &str) -> Refusal {
    Refusal::new("ValidationError", message)
}

fn create_listener(account: &mut Account, params: &Params, _: Now) -> Answer {
    let id = account.id("");
    let group = params
        .list("DefaultActions")
        .first()
        .map_or(&Value::Null, |action| &action["TargetGroupArn"]);
    if !group
        .as_str()
        .is_some_and(|arn| account.target_groups.contains_key(arn))
    {
        return Err(targets::not_found());
    }
    let uses = group.as_str().unwrap_or_default().to_owned();
    let other = account
        .network
        .iter()
        .find(|(_, other)| other.groups().any(|arn| arn == uses));
    let of = params.required("LoadBalancerArn")?;
    if other.is_some_and(|(arn, _)| arn != of) {
        let message = "The target group cannot be associated with more than one load balancer";
        return Err(Refusal::new("TargetGroupAssociationLimit", message));
    }
    let balancer = balancer_mut(account, params)?;
    // UDP and TCP are two ports.
    let is_udp = |protocol: &str| protocol == "UDP";
    let clashes = |other: &Value| {
        other["Port"] == params.text("Port")
            && is_udp(other["Protocol"].as_str().unwrap_or_default()) == is_udp(params.text("Protocol"))
    };
    if balancer.listeners.values().any(clashes) {
        let message = "A listener already exists on this port for this load balancer";
        return Err(Refusal::new("DuplicateListener", message));
    }
    let arn = format!("{}/{}", of.replace(":loadbalancer/", ":listener/"), &id[2..]);
    let mut listener = json!({"ListenerArn": arn, "LoadBalancerArn": of});
    fill(&mut listener, params);
    balancer.listeners.insert(arn.clone(), listener.clone());
    account.tag(&arn, tags_in(params.list("Tags")));
    Ok(json!({"Listeners": [listener]}))
}

/// Sets what is given. A listener that does not encrypt has neither a policy nor certificates.
fn fill(listener: &mut Value, params: &Params) {
    if let Value::Object(given) = params.only(&["Port", "Protocol", "SslPolicy", "Certificates", "DefaultActions"]) {
        for (name, value) in given {
            listener[name] = value;
        }
    }
    if listener["Protocol"] == "TLS" {
        if listener["SslPolicy"].is_null() {
            listener["SslPolicy"] = "ELBSecurityPolicy-2016-08".into();
        }
    } else {
        listener["SslPolicy"] = Value::Null;
        listener["Certificates"] = Value::Null;
    }
}

fn listeners(account: &mut Account, params: &Params, _: Now) -> Answer {
    let balancer = balancer_mut(account, params)?;
    Ok(page(
        params,
        "Listeners",
        balancer.listeners.values().cloned().collect(),
    ))
}

fn modify_listener(account: &mut Account, params: &Params, _: Now) -> Answer {
    let arn = params.required("ListenerArn")?;
    let listener = account
        .network
        .values_mut()
        .find_map(|balancer| balancer.listeners.get_mut(arn));
    let listener = listener.ok_or_else(no_listener)?;
    fill(listener, params);
    Ok(json!({"Listeners": [listener.clone()]}))
}

fn delete_listener(account: &mut Account, params: &Params, _: Now) -> Answer {
    let arn = params.required("ListenerArn")?;
    let removed = account
        .network
        .values_mut()
        .find_map(|balancer| balancer.listeners.remove(arn));
    account.tags.remove(arn);
    removed.map(|_| json!({})).ok_or_else(no_listener)
}

fn no_listener() -> Refusal {
    Refusal::new("ListenerNotFound", "One or more listeners not found")
}

fn tags(account: &mut Account, params: &Params, _: Now) -> Answer {
    let arns = known(account, params)?;
    let description = |arn: &String| json!({"ResourceArn": arn, "Tags": pairs(&account.tags_of(arn))});
    Ok(json!({"TagDescriptions": arns.iter().map(description).collect::<Value>()}))
}

fn add_tags(account: &mut Account, params: &Params, _: Now) -> Answer {
    let arns = known(account, params)?;
    let [arn] = &arns[..] else {
        return Err(invalid("Only one resource can be tagged at a time"));
    };
    account.tag(arn, tags_in(params.list("Tags")));
    Ok(json!({}))
}

fn remove_tags(account: &mut Account, params: &Params, _: Now) -> Answer {
    for arn in known(account, params)? {
        let tags = account.tags.entry(arn).or_default();
        tags.retain(|key, _| !params.texts("TagKeys").contains(&&**key));
    }
    Ok(json!({}))
}

/// The objects, which must exist: at most 20.
fn known(account: &Account, params: &Params) -> Result<Vec<String>, Refusal> {
    let arns: Vec<String> = texts(params.get("ResourceArns")).collect();
    if arns.len() > 20 {
        return Err(invalid("Up to 20 resources can be described in one call"));
    }
    match arns.iter().find(|arn| !account.tags.contains_key(*arn)) {
        Some(arn) if arn.contains(":targetgroup/") => Err(targets::not_found()),
        Some(arn) if arn.contains(":listener/") => Err(no_listener()),
        Some(_) => Err(no_balancer()),
        None => Ok(arns),
    }
}
