//! EC2.

pub mod groups;
mod machines;
mod network;

use crate::{
    Account,
    account::Tags,
    wire::{Answer, Params, Refusal},
};
use fakecloud::{Now, Value, json};

type Act = fn(&mut Account, &Params, Now) -> Answer;

pub const ACTIONS: &[(&str, Act)] = &[
    ("DescribeInstances", machines::describe),
    ("DescribeInstanceTopology", machines::topology),
    ("DescribeNetworkInterfaces", machines::interfaces),
    ("ModifyInstanceAttribute", machines::modify),
    ("DescribeAvailabilityZones", network::zones),
    ("DescribeSubnets", network::subnets),
    ("DescribeVpcs", network::vpcs),
    ("DescribeRouteTables", network::tables),
    ("CreateRoute", network::create_route),
    ("DeleteRoute", network::delete_route),
    ("DescribeSecurityGroups", groups::describe),
    ("CreateSecurityGroup", groups::create),
    ("DeleteSecurityGroup", groups::delete),
    ("AuthorizeSecurityGroupIngress", groups::authorize),
    ("RevokeSecurityGroupIngress", groups::revoke),
    ("CreateTags", create_tags),
    ("DeleteTags", delete_tags),
];

/// The values of one of the attributes that filters are about; `None` if there is no such filter.
type Attributes<'a> = &'a dyn Fn(&str) -> Option<Vec<String>>;

/// Whether an object passes all filters.
fn passes(params: &Params, tags: &Tags, attributes: Attributes<'_>) -> Result<bool, Refusal> {
    for filter in params.list("Filter") {
        let name = filter["Name"].as_str().unwrap_or_default();
        let have = match name.split_once(':') {
            Some(("tag", key)) => tags.get(key).cloned().into_iter().collect(),
            _ if name == "tag-key" => tags.keys().cloned().collect(),
            _ => attributes(name)
                .ok_or_else(|| Refusal::new("InvalidParameterValue", format!("The filter '{name}' is invalid")))?,
        };
        let mut wanted = filter["Value"].as_array().into_iter().flatten();
        if !wanted.any(|value| have.iter().any(|have| value == have)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A page of a list, and the token of the next one.
fn page(params: &Params, name: &str, all: Vec<Value>) -> Value {
    let start = params.number("NextToken").unwrap_or(0);
    let size = params.number("MaxResults").unwrap_or(1000).max(1);
    let next = (start + size < all.len()).then(|| (start + size).to_string());
    let items: Vec<Value> = all.into_iter().skip(start).take(size).collect();
    json!({name: items, "nextToken": next})
}

fn tag_set(tags: &Tags) -> Value {
    tags.iter()
        .map(|(key, value)| json!({"key": key, "value": value}))
        .collect()
}

fn one(value: &str) -> Vec<String> {
    vec![value.to_owned()]
}

fn done() -> Value {
    json!({"return": true})
}

fn create_tags(account: &mut Account, params: &Params, _: Now) -> Answer {
    for id in known(account, params)? {
        account.tag(&id, tags_in(params.list("Tag")));
    }
    Ok(done())
}

fn delete_tags(account: &mut Account, params: &Params, _: Now) -> Answer {
    for id in known(account, params)? {
        let tags = account.tags.entry(id).or_default();
        for tag in params.list("Tag") {
            let value = tag["Value"].as_str().filter(|value| !value.is_empty());
            let key = tag["Key"].as_str().unwrap_or_default();
            if value.is_none_or(|value| tags.get(key).is_some_and(|have| have == value)) {
                tags.remove(key);
            }
        }
    }
    Ok(done())
}

/// The objects to be tagged, which must exist.
fn known(account: &Account, params: &Params) -> Result<Vec<String>, Refusal> {
    let ids = params.texts("ResourceId");
    for id in &ids {
        if !account.tags.contains_key(*id) {
            let (code, kind) = match id.split_once('-') {
                Some(("i", _)) => ("InvalidInstanceID.NotFound", "instance ID"),
                Some(("sg", _)) => ("InvalidGroup.NotFound", "security group"),
                _ => ("InvalidID", "ID"),
            };
            return Err(Refusal::new(code, format!("The {kind} '{id}' does not exist")));
        }
    }
    Ok(ids.into_iter().map(str::to_owned).collect())
}

/// Tags as requests have them.
pub fn tags_in(items: &[Value]) -> Tags {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    items
        .iter()
        .map(|tag| (text(&tag["Key"]), text(&tag["Value"])))
        .collect()
}
