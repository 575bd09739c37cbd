//! An account on moto.

use super::{Account, Kind, Seen, passes};
use crate::{fixture, snapshot::items};
use async_trait::async_trait;
use aws::Aws;
use cloud::{Gate, Host, Protocol};
use conformance::{Failed, Stop, WriteFault};
use lab::aws::{Fault, Fixture, Mark};
use serde_json::{Value, json};

/// How many cases run at the same time: moto is one process.
const AT_A_TIME: usize = 4;

struct Moto {
    aws: Fixture<'static>,
    began: Mark,
}

async fn account() -> Result<Moto, Stop> {
    let server = tokio::task::spawn_blocking(lab::aws::Aws::shared)
        .await
        .map_err(failed)?;
    let aws = Fixture::new(server).await.map_err(failed)?;
    let began = aws.account.mark().map_err(failed)?;
    Ok(Moto { aws, began })
}

impl Moto {
    async fn call(&self, service: &str, operation: &str, arguments: Value) -> Result<Value, Stop> {
        let answer = self.aws.account.call(service, operation, arguments).await;
        answer.map_err(|error| Stop::failed(format!("{error:#}")))
    }

    async fn network(&self, name: &str) -> Result<Seen, Stop> {
        let found = self
            .call("elbv2", "DescribeLoadBalancers", json!({"Names": [name]}))
            .await?;
        let of = json!({"LoadBalancerArn": found["LoadBalancers"][0]["LoadBalancerArn"]});
        let listeners = self.call("elbv2", "DescribeListeners", of.clone()).await?;
        let groups = self.call("elbv2", "DescribeTargetGroups", of).await?;
        let mut seen = Seen::default();
        seen.ports
            .extend(items(&listeners["Listeners"]).map(|one| port(&one["Protocol"], &one["Port"])));
        for group in items(&groups["TargetGroups"]) {
            let of = json!({"TargetGroupArn": group["TargetGroupArn"]});
            let health = self.call("elbv2", "DescribeTargetHealth", of).await?;
            let ids = items(&health["TargetHealthDescriptions"]).map(|one| text(&one["Target"]["Id"]));
            seen.instances.extend(ids);
        }
        let description = format!("kubernetes.io/rule/nlb/client={name}");
        let nodes = json!({"GroupIds": [self.aws.security_group]});
        let rules = self.ranges(nodes).await?;
        let clients = rules
            .iter()
            .filter(|range| range["Description"] == description.as_str());
        seen.sources.extend(clients.filter_map(source));
        Ok(seen)
    }

    async fn classic(&self, name: &str) -> Result<Seen, Stop> {
        let of = json!({"LoadBalancerNames": [name]});
        let found = self.call("elb", "DescribeLoadBalancers", of).await?;
        let found = &found["LoadBalancerDescriptions"][0];
        let groups = json!({"GroupIds": found["SecurityGroups"]});
        let listeners = items(&found["ListenerDescriptions"]).map(|one| &one["Listener"]);
        Ok(Seen {
            ports: listeners
                .map(|one| port(&one["Protocol"], &one["LoadBalancerPort"]))
                .collect(),
            instances: items(&found["Instances"]).map(|one| text(&one["InstanceId"])).collect(),
            sources: self.ranges(groups).await?.iter().filter_map(source).collect(),
        })
    }

    /// The ranges in the rules of these security groups.
    async fn ranges(&self, groups: Value) -> Result<Vec<Value>, Stop> {
        let groups = self.call("ec2", "DescribeSecurityGroups", groups).await?;
        let rules = items(&groups["SecurityGroups"]).flat_map(|group| items(&group["IpPermissions"]));
        let ranges = rules.flat_map(|rule| items(&rule["IpRanges"]).chain(items(&rule["Ipv6Ranges"])));
        Ok(ranges.cloned().collect())
    }
}

#[async_trait]
impl Account for Moto {
    fn provider(&self, gate: &Gate) -> Aws {
        fixture::provider(&self.aws, "", gate)
    }

    fn most_machines(&self) -> usize {
        5
    }

    async fn boot(&self) -> Result<Host, Stop> {
        let instance = self.aws.boot_one().await.map_err(failed)?;
        Ok(fixture::host(&instance))
    }

    async fn stop(&self, id: &str) -> Result<(), Stop> {
        self.aws.stop(id).await.map_err(failed)
    }

    async fn forget(&self, id: &str) -> Result<(), Stop> {
        self.aws.forget(id).await.map_err(failed)
    }

    async fn load_balancers(&self, kind: Kind) -> Result<Vec<String>, Stop> {
        let (service, list) = match kind {
            Kind::Network => ("elbv2", "LoadBalancers"),
            Kind::Classic => ("elb", "LoadBalancerDescriptions"),
        };
        let all = self.call(service, "DescribeLoadBalancers", json!({})).await?;
        Ok(items(&all[list]).map(|one| text(&one["LoadBalancerName"])).collect())
    }

    async fn load_balancer(&self, kind: Kind, name: &str) -> Result<Seen, Stop> {
        match kind {
            Kind::Network => self.network(name).await,
            Kind::Classic => self.classic(name).await,
        }
    }

    async fn count_routes(&self) -> Result<usize, Stop> {
        let table = json!({"RouteTableIds": [self.aws.route_table]});
        let tables = self.call("ec2", "DescribeRouteTables", table).await?;
        let routes = items(&tables["RouteTables"][0]["Routes"]);
        Ok(routes.filter(|route| route["InstanceId"].is_string()).count())
    }

    async fn count_writes(&self) -> Result<u64, Stop> {
        let calls = self.aws.account.calls_since(self.began).map_err(failed)?;
        Ok(calls.iter().filter(|call| call.write).count() as u64)
    }

    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop> {
        let fault = match fault {
            WriteFault::Fails => Fault::Refuse(500, "InternalFailure"),
            WriteFault::LosesAnswer => Fault::LoseAnswer,
            // A write is one call: half of it is a half answer.
            WriteFault::FailsHalfway => Fault::Truncate,
        };
        self.aws.account.inject(&fault, "writes", 1).await.map_err(failed)
    }
}

fn port(protocol: &Value, port: &Value) -> (Protocol, u16) {
    let protocol = match protocol.as_str() {
        Some("UDP") => Protocol::Udp,
        _ => Protocol::Tcp,
    };
    let port = port.as_u64().and_then(|port| u16::try_from(port).ok());
    (protocol, port.unwrap_or_default())
}

fn source(range: &Value) -> Option<ipnet::IpNet> {
    range["CidrIp"].as_str().or(range["CidrIpv6"].as_str())?.parse().ok()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn failed(error: impl std::fmt::Display) -> Stop {
    Stop::failed(format!("{error:#}"))
}

#[tokio::test]
async fn network_load_balancers() -> Result<(), Failed> {
    passes(AT_A_TIME, Kind::Network, account).await
}

#[tokio::test]
async fn classic_load_balancers() -> Result<(), Failed> {
    passes(AT_A_TIME, Kind::Classic, account).await
}
