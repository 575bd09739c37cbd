//! What is in an account, in words that are the same in every account.

use crate::cluster::Cluster;
use regex_lite::Regex;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Words for what is different in every account.
pub struct Words(Vec<(Regex, String)>);

impl Words {
    /// The words for the objects of a cluster, as they are now.
    pub async fn of(cluster: &Cluster) -> Self {
        let aws = &cluster.aws;
        // The ARN of the certificate has the account in it.
        let mut known = vec![
            (aws.certificate.clone(), "CERTIFICATE".to_owned()),
            (aws.account.number().to_owned(), "ACCOUNT".to_owned()),
            (aws.vpc.clone(), "VPC".to_owned()),
        ];
        let subnets = aws.public.iter().map(|subnet| (subnet, "public"));
        for (subnet, kind) in subnets.chain(aws.private.iter().map(|subnet| (subnet, "private"))) {
            known.push((subnet.id.clone(), format!("{kind}-{}", subnet.zone)));
        }
        for group in list(cluster, "ec2", "DescribeSecurityGroups", json!({}), "SecurityGroups").await {
            known.push((text(&group["GroupId"]), format!("group-{}", text(&group["GroupName"]))));
        }
        for reservation in list(cluster, "ec2", "DescribeInstances", json!({}), "Reservations").await {
            for instance in reservation["Instances"].as_array().unwrap() {
                let name = text(&instance["PrivateIpAddress"]);
                known.push((text(&instance["InstanceId"]), format!("instance-{name}")));
            }
        }
        let services = cluster
            .api
            .services()
            .list(&kube::api::ListParams::default())
            .await
            .unwrap();
        for service in services {
            let (uid, name) = (service.metadata.uid.unwrap(), service.metadata.name.unwrap());
            let balancer = format!("a{}", uid.replace('-', ""));
            known.push((balancer[..32].to_owned(), format!("LB-{name}")));
        }
        let word = |(text, word): (String, String)| (Regex::new(&regex_lite::escape(&text)).unwrap(), word);
        let mut all: Vec<_> = known.into_iter().map(word).collect();
        all.push((Regex::new("igw-[0-9a-f]+").unwrap(), "GATEWAY".to_owned()));
        // The end of an ARN.
        all.push((Regex::new("/[0-9a-f]{16}").unwrap(), "/ID".to_owned()));
        Self(all)
    }

    /// The text with the words in it.
    pub fn instead(&self, text: &str) -> String {
        let replace = |text: String, (id, word): &(Regex, String)| id.replace_all(&text, word.as_str()).into_owned();
        self.0.iter().fold(text.to_owned(), replace)
    }
}

/// Everything that a cloud controller manager creates or changes: a JSON value for each object, by kind and name.
pub async fn snapshot(cluster: &Cluster) -> BTreeMap<String, Value> {
    let words = Words::of(cluster).await;
    let mut all = Vec::new();
    all.extend(security_groups(cluster).await);
    all.extend(network(cluster).await);
    all.extend(classic(cluster).await);
    for table in list(cluster, "ec2", "DescribeRouteTables", json!({}), "RouteTables").await {
        if text(&table["RouteTableId"]) == cluster.aws.route_table {
            all.push(("route table".to_owned(), json!([table["Routes"], table["Tags"]])));
        }
    }
    let word = |(name, value): (String, Value)| {
        let value = serde_json::from_str(&words.instead(&value.to_string())).unwrap();
        (words.instead(&name), sorted(value))
    };
    all.into_iter().map(word).collect()
}

async fn security_groups(cluster: &Cluster) -> Vec<(String, Value)> {
    let groups = list(cluster, "ec2", "DescribeSecurityGroups", json!({}), "SecurityGroups").await;
    let facts = |group: &Value| {
        let rules = group["IpPermissions"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(ungrouped)
            .collect::<Vec<_>>();
        json!({"description": group["Description"], "rules": rules, "tags": group["Tags"]})
    };
    let name = |group: &Value| format!("security group {}", text(&group["GroupName"]));
    groups.iter().map(|group| (name(group), facts(group))).collect()
}

/// One rule for each range or group: how rules are grouped has no meaning.
fn ungrouped(permission: &Value) -> Vec<Value> {
    let ports = json!([permission["IpProtocol"], permission["FromPort"], permission["ToPort"]]);
    let mut all = Vec::new();
    for kind in ["IpRanges", "Ipv6Ranges", "UserIdGroupPairs"] {
        for one in permission[kind].as_array().into_iter().flatten() {
            all.push(json!([ports, one]));
        }
    }
    all
}

async fn network(cluster: &Cluster) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let call = async |operation: &str, key: &str, arn: &Value, result: &str| {
        let arn = if key.ends_with('s') { json!([arn]) } else { arn.clone() };
        list(cluster, "elbv2", operation, json!({ key: arn }), result).await
    };
    for mut balancer in list(cluster, "elbv2", "DescribeLoadBalancers", json!({}), "LoadBalancers").await {
        let arn = balancer["LoadBalancerArn"].clone();
        remove(&mut balancer, &["CreatedTime", "State"]);
        let attributes = call("DescribeLoadBalancerAttributes", "LoadBalancerArn", &arn, "Attributes").await;
        let tags = call("DescribeTags", "ResourceArns", &arn, "TagDescriptions").await;
        let listeners = call("DescribeListeners", "LoadBalancerArn", &arn, "Listeners").await;
        let name = text(&balancer["LoadBalancerName"]);
        all.push((
            format!("network load balancer {name}"),
            json!([balancer, attributes, tags]),
        ));
        for listener in listeners {
            let tags = call(
                "DescribeTags",
                "ResourceArns",
                &listener["ListenerArn"],
                "TagDescriptions",
            )
            .await;
            all.push((format!("listener {name} {}", listener["Port"]), json!([listener, tags])));
        }
    }
    for group in list(cluster, "elbv2", "DescribeTargetGroups", json!({}), "TargetGroups").await {
        let arn = &group["TargetGroupArn"];
        let health = call(
            "DescribeTargetHealth",
            "TargetGroupArn",
            arn,
            "TargetHealthDescriptions",
        )
        .await;
        let attributes = call("DescribeTargetGroupAttributes", "TargetGroupArn", arn, "Attributes").await;
        let tags = call("DescribeTags", "ResourceArns", arn, "TagDescriptions").await;
        let name = text(&group["TargetGroupName"]);
        all.push((format!("target group {name}"), json!([group, health, attributes, tags])));
    }
    all
}

async fn classic(cluster: &Cluster) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for mut balancer in list(
        cluster,
        "elb",
        "DescribeLoadBalancers",
        json!({}),
        "LoadBalancerDescriptions",
    )
    .await
    {
        let name = text(&balancer["LoadBalancerName"]);
        remove(&mut balancer, &["CreatedTime"]);
        let one = json!({"LoadBalancerName": name});
        let attributes = cluster
            .aws
            .account
            .call("elb", "DescribeLoadBalancerAttributes", one.clone());
        let attributes = attributes.await.unwrap();
        let policies = list(
            cluster,
            "elb",
            "DescribeLoadBalancerPolicies",
            one,
            "PolicyDescriptions",
        )
        .await;
        let names = json!({"LoadBalancerNames": [name]});
        let tags = list(cluster, "elb", "DescribeTags", names, "TagDescriptions").await;
        all.push((
            format!("classic load balancer {name}"),
            json!([balancer, attributes, policies, tags]),
        ));
    }
    all
}

async fn list(cluster: &Cluster, service: &str, operation: &str, arguments: Value, result: &str) -> Vec<Value> {
    let answer = cluster.aws.account.call(service, operation, arguments).await.unwrap();
    let found = answer[result].as_array().cloned();
    assert!(found.is_some(), "{operation} has no {result}: {answer}");
    found.unwrap_or_default()
}

fn remove(value: &mut Value, keys: &[&str]) {
    let object = value.as_object_mut().unwrap();
    object.retain(|key, _| !keys.contains(&key.as_str()));
}

/// AWS lists in any order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<_> = items.into_iter().map(sorted).collect();
            items.sort_by_key(ToString::to_string);
            Value::Array(items)
        }
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, sorted(value))).collect(),
        other => other,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
