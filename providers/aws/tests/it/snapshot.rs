//! Everything of load balancers that an account has, as text without IDs.

use crate::fixture::Lab;
use serde_json::{Value, json};

impl Lab {
    /// A line for each object, sorted.
    pub async fn snapshot(&self) -> Vec<String> {
        let mut lines = self.network_lines().await;
        lines.extend(self.classic_lines().await);
        lines.extend(self.rules().await);
        lines.sort();
        lines
    }

    async fn read(&self, service: &str, operation: &str, arguments: Value) -> Value {
        self.aws.account.call(service, operation, arguments).await.unwrap()
    }

    async fn network_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let balancers = self.read("elbv2", "DescribeLoadBalancers", json!({})).await;
        for lb in items(&balancers["LoadBalancers"]) {
            let arn = &lb["LoadBalancerArn"];
            lines.push(format!(
                "network {} {}",
                text(&lb["LoadBalancerName"]),
                text(&lb["Scheme"])
            ));
            let listeners = self
                .read("elbv2", "DescribeListeners", json!({"LoadBalancerArn": arn}))
                .await;
            for listener in items(&listeners["Listeners"]) {
                let group = text(&listener["DefaultActions"][0]["TargetGroupArn"]);
                let group = group.split('/').nth(1).unwrap();
                lines.push(format!(
                    "listener {} {} -> {group}",
                    text(&listener["Protocol"]),
                    listener["Port"]
                ));
            }
        }
        let groups = self.read("elbv2", "DescribeTargetGroups", json!({})).await;
        for group in items(&groups["TargetGroups"]) {
            let health = json!({"TargetGroupArn": group["TargetGroupArn"]});
            let health = self.read("elbv2", "DescribeTargetHealth", health).await;
            let mut targets: Vec<String> = items(&health["TargetHealthDescriptions"])
                .map(|one| self.node(&text(&one["Target"]["Id"])))
                .collect();
            targets.sort();
            lines.push(format!(
                "group {} {}:{} check {}:{} targets {}",
                text(&group["TargetGroupName"]),
                text(&group["Protocol"]),
                group["Port"],
                text(&group["HealthCheckProtocol"]),
                text(&group["HealthCheckPort"]),
                targets.join(" ")
            ));
        }
        lines
    }

    /// The kinds of the objects around network load balancers that have a tag of this key.
    pub async fn tagged(&self, key: &str) -> Vec<String> {
        let mut arns = Vec::new();
        let balancers = self.read("elbv2", "DescribeLoadBalancers", json!({})).await;
        for lb in items(&balancers["LoadBalancers"]) {
            arns.push(lb["LoadBalancerArn"].clone());
            let listeners = json!({"LoadBalancerArn": lb["LoadBalancerArn"]});
            let listeners = self.read("elbv2", "DescribeListeners", listeners).await;
            arns.extend(items(&listeners["Listeners"]).map(|one| one["ListenerArn"].clone()));
        }
        let groups = self.read("elbv2", "DescribeTargetGroups", json!({})).await;
        arns.extend(items(&groups["TargetGroups"]).map(|one| one["TargetGroupArn"].clone()));
        let tags = self.read("elbv2", "DescribeTags", json!({"ResourceArns": arns})).await;
        let has_key = |one: &&Value| items(&one["Tags"]).any(|tag| tag["Key"] == key);
        let kind = |arn: String| arn.split([':', '/']).nth(5).unwrap().to_owned();
        let tagged = items(&tags["TagDescriptions"]).filter(has_key);
        let mut kinds: Vec<String> = tagged.map(|one| kind(text(&one["ResourceArn"]))).collect();
        kinds.sort();
        kinds
    }

    async fn classic_lines(&self) -> Vec<String> {
        let balancers = self.read("elb", "DescribeLoadBalancers", json!({})).await;
        let line = |lb: &Value| {
            let listener = |one: &Value| {
                let one = &one["Listener"];
                format!(
                    "{}:{}->{}",
                    text(&one["Protocol"]),
                    one["LoadBalancerPort"],
                    one["InstancePort"]
                )
            };
            let listeners: Vec<String> = items(&lb["ListenerDescriptions"]).map(listener).collect();
            let mut nodes: Vec<String> = items(&lb["Instances"])
                .map(|one| self.node(&text(&one["InstanceId"])))
                .collect();
            nodes.sort();
            format!(
                "classic {} {} {} check {} nodes {}",
                text(&lb["LoadBalancerName"]),
                text(&lb["Scheme"]),
                listeners.join(" "),
                text(&lb["HealthCheck"]["Target"]),
                nodes.join(" ")
            )
        };
        items(&balancers["LoadBalancerDescriptions"]).map(line).collect()
    }

    /// A line for each rule of each security group but the default one, and one for a group without rules.
    pub async fn rules(&self) -> Vec<String> {
        let filter = json!({"Filters": [{"Name": "vpc-id", "Values": [self.aws.vpc]}]});
        let groups = self.read("ec2", "DescribeSecurityGroups", filter).await;
        let all: Vec<&Value> = items(&groups["SecurityGroups"]).collect();
        let name_of = |id: &Value| {
            let group = all.iter().find(|group| group["GroupId"] == *id);
            group.map_or_else(|| text(id), |group| text(&group["GroupName"]))
        };
        let mut lines = Vec::new();
        for group in all.iter().filter(|group| group["GroupName"] != "default") {
            let name = text(&group["GroupName"]);
            lines.push(format!("{name}:"));
            for permission in items(&group["IpPermissions"]) {
                let ports = format!(
                    "{} {}-{}",
                    text(&permission["IpProtocol"]),
                    permission["FromPort"],
                    permission["ToPort"]
                );
                let described = |one: &Value| one["Description"].as_str().unwrap_or_default().to_owned();
                let v4 = items(&permission["IpRanges"]).map(|one| (text(&one["CidrIp"]), described(one)));
                let v6 = items(&permission["Ipv6Ranges"]).map(|one| (text(&one["CidrIpv6"]), described(one)));
                let pairs =
                    items(&permission["UserIdGroupPairs"]).map(|one| (name_of(&one["GroupId"]), described(one)));
                let rules = v4.chain(v6).chain(pairs);
                lines.extend(
                    rules.map(|(source, text)| format!("{name}: {ports} from {source} {text}").trim_end().to_owned()),
                );
            }
        }
        lines
    }

    fn node(&self, id: &str) -> String {
        let place = self.nodes.iter().position(|node| node.id == id);
        place.map_or_else(|| id.to_owned(), |place| format!("n{place}"))
    }
}

pub fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
