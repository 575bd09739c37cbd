//! Zones, subnets and routes.

use super::{done, one, page, passes, tag_set};
use crate::{
    Account, REGION, State,
    account::{RouteTable, ZONES},
    wire::{Answer, Params, Refusal},
};
use fakecloud::{Now, Value, json};

#[expect(clippy::unnecessary_wraps, reason = "as every action")]
pub fn zones(_: &mut Account, _: &Params, _: Now) -> Answer {
    let zone = |(letter, number): (&&str, i32)| {
        json!({
            "zoneName": format!("{REGION}{letter}"), "zoneId": format!("use1-az{number}"), "zoneType": "availability-zone",
            "zoneState": "available", "regionName": REGION, "optInStatus": "opt-in-not-required",
        })
    };
    Ok(json!({"availabilityZoneInfo": ZONES.iter().zip(1..).map(zone).collect::<Value>()}))
}

#[expect(clippy::unnecessary_wraps, reason = "as every action")]
pub fn vpcs(account: &mut Account, params: &Params, _: Now) -> Answer {
    let vpc = json!({"vpcId": account.vpc, "cidrBlock": "10.0.0.0/8", "state": "available"});
    Ok(page(params, "vpcSet", vec![vpc]))
}

pub fn subnets(account: &mut Account, params: &Params, _: Now) -> Answer {
    let ids = params.texts("SubnetId");
    if let Some(unknown) = ids
        .iter()
        .find(|id| !account.subnets.iter().any(|subnet| subnet.id == **id))
    {
        let message = format!("The subnet ID '{unknown}' does not exist");
        return Err(Refusal::new("InvalidSubnetID.NotFound", message));
    }
    let mut found = Vec::new();
    for subnet in account
        .subnets
        .iter()
        .filter(|subnet| ids.is_empty() || ids.contains(&&*subnet.id))
    {
        let attributes = |name: &str| {
            Some(match name {
                "vpc-id" => one(&account.vpc),
                "subnet-id" => one(&subnet.id),
                "availability-zone" => one(&subnet.zone),
                _ => return None,
            })
        };
        let tags = account.tags_of(&subnet.id);
        if passes(params, &tags, &attributes)? {
            found.push(json!({
                "subnetId": subnet.id, "vpcId": account.vpc, "availabilityZone": subnet.zone, "cidrBlock": subnet.cidr,
                "state": "available", "availableIpAddressCount": account.settings.free_addresses, "tagSet": tag_set(&tags),
            }));
        }
    }
    Ok(page(params, "subnetSet", found))
}

pub fn tables(account: &mut Account, params: &Params, _: Now) -> Answer {
    let ids = params.texts("RouteTableId");
    if let Some(unknown) = ids
        .iter()
        .find(|id| !account.tables.iter().any(|table| table.id == **id))
    {
        return Err(no_table(unknown));
    }
    let mut found = Vec::new();
    for table in account
        .tables
        .iter()
        .filter(|table| ids.is_empty() || ids.contains(&&*table.id))
    {
        let attributes = |name: &str| {
            Some(match name {
                "vpc-id" => one(&account.vpc),
                "route-table-id" => one(&table.id),
                "association.subnet-id" => table.subnets.clone(),
                _ => return None,
            })
        };
        let tags = account.tags_of(&table.id);
        if passes(params, &tags, &attributes)? {
            let subnets = table
                .subnets
                .iter()
                .map(|id| json!({"subnetId": id, "routeTableId": table.id, "main": false}));
            let main = table.main.then(|| json!({"routeTableId": table.id, "main": true}));
            found.push(json!({
                "routeTableId": table.id, "vpcId": account.vpc, "routeSet": table.routes,
                "associationSet": subnets.chain(main).collect::<Value>(), "tagSet": tag_set(&tags),
            }));
        }
    }
    Ok(page(params, "routeTableSet", found))
}

pub fn create_route(account: &mut Account, params: &Params, _: Now) -> Answer {
    let (id, limit) = (params.required("InstanceId")?, account.settings.routes);
    let alive = account
        .machines
        .get(id)
        .is_some_and(|machine| machine.state != State::Terminated);
    if !alive {
        let message = format!("The instance ID '{id}' does not exist");
        return Err(Refusal::new("InvalidInstanceID.NotFound", message));
    }
    let (key, destination) = destination(params)?;
    let table = table_mut(account, params.required("RouteTableId")?)?;
    if table.routes.iter().any(|route| route[key] == destination) {
        let message = format!("The route identified by {destination} already exists.");
        return Err(Refusal::new("RouteAlreadyExists", message));
    }
    if table.routes.len() >= limit {
        let message = format!("The maximum number of routes ({limit}) has been reached.");
        return Err(Refusal::new("RouteLimitExceeded", message));
    }
    table
        .routes
        .push(json!({key: destination, "instanceId": id, "state": "active", "origin": "CreateRoute"}));
    Ok(done())
}

pub fn delete_route(account: &mut Account, params: &Params, _: Now) -> Answer {
    let (key, destination) = destination(params)?;
    let table = table_mut(account, params.required("RouteTableId")?)?;
    let before = table.routes.len();
    table.routes.retain(|route| route[key] != destination);
    if table.routes.len() == before {
        let message = format!(
            "no route with destination-cidr-block {destination} in route table {}",
            table.id
        );
        return Err(Refusal::new("InvalidRoute.NotFound", message));
    }
    Ok(done())
}

fn destination(params: &Params) -> Result<(&'static str, &str), Refusal> {
    match params.text("DestinationIpv6CidrBlock") {
        "" => Ok(("destinationCidrBlock", params.required("DestinationCidrBlock")?)),
        v6 => Ok(("destinationIpv6CidrBlock", v6)),
    }
}

fn table_mut<'a>(account: &'a mut Account, id: &str) -> Result<&'a mut RouteTable, Refusal> {
    account
        .tables
        .iter_mut()
        .find(|table| table.id == id)
        .ok_or_else(|| no_table(id))
}

fn no_table(id: &str) -> Refusal {
    Refusal::new(
        "InvalidRouteTableID.NotFound",
        format!("The routeTable ID '{id}' does not exist"),
    )
}
