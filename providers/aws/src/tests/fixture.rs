//! A fake that knows as much as the tests need, and a provider on it.

use crate::{
    Aws, TaggingOptions,
    config::{Config, Untagged},
};
use cloud::{Answer, NodeRef};
use fakecloud::{Api, Cloud, Now, Outcome, Request, Response, Server};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

/// The cluster, in tags of instances.
const CLUSTER: &str = "kubernetes.io/cluster/c1";

#[derive(Clone)]
pub struct Machine {
    pub id: String,
    pub dns: String,
    pub address: String,
    pub state: &'static str,
    pub kind: &'static str,
    pub tag: &'static str,
}

/// An answer that an action gets in place of its own: status, code and message.
pub struct Refusal(pub &'static str, pub u16, pub String, pub String);

#[derive(Default)]
pub struct Fake {
    pub machines: Vec<Machine>,
    /// Instances that answers leave out without a word.
    pub hidden: BTreeSet<String>,
    pub refusals: VecDeque<Refusal>,
    /// How many instances a page has; 0: all.
    pub page: usize,
    /// The key that requests have to be signed with, if it matters.
    pub key: Option<String>,
    /// How many keys the agent and the metadata service gave.
    pub given: usize,
    pub tagged: BTreeMap<String, String>,
    /// Routes: destination, instance and state.
    pub routes: Vec<(String, String, &'static str)>,
    /// Network nodes by instance.
    pub topology: BTreeMap<String, Vec<&'static str>>,
    /// Addresses of Fargate machines.
    pub interfaces: Vec<&'static str>,
}

/// A configuration that needs no instance to run on.
pub const ELSEWHERE: &str = "[Global]\nRegion=us-east-1\nVPC=vpc-1\nSubnetID=subnet-1\nKubernetesClusterID=c1\n";

pub const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "KEY0"), ("AWS_SECRET_ACCESS_KEY", "secret")];

type Params = BTreeMap<String, String>;

fn values(params: &Params, prefix: &str) -> Vec<String> {
    (1..)
        .map_while(|number| params.get(&format!("{prefix}.{number}")).cloned())
        .collect()
}

fn filter(params: &Params, name: &str) -> Option<Vec<String>> {
    let number = (1..9).find(|number| {
        params
            .get(&format!("Filter.{number}.Name"))
            .is_some_and(|found| found == name)
    })?;
    Some(values(params, &format!("Filter.{number}.Value")))
}

fn xml(action: &str, body: &str) -> Response {
    let text = format!("<?xml version=\"1.0\"?><{action}Response xmlns=\"http://ec2/\">{body}</{action}Response>");
    Response::new(200, "text/xml", text)
}

fn refused(status: u16, code: &str, message: &str) -> Response {
    let text = format!(
        "<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>1</RequestID></Response>"
    );
    Response::new(status, "text/xml", text)
}

impl Fake {
    fn instances(&self, params: &Params) -> Outcome {
        let ids = values(params, "InstanceId");
        let exists = |id: &String| self.machines.iter().any(|machine| machine.id == *id);
        let missing: Vec<&str> = ids.iter().filter(|id| !exists(id)).map(String::as_str).collect();
        if let Some(odd) = ids.iter().find(|id| id.contains('z')) {
            return Err(refused(
                400,
                "InvalidInstanceID.Malformed",
                &format!("Invalid id: \"{odd}\""),
            ));
        }
        if !missing.is_empty() {
            let message = format!("The instance IDs '{}' do not exist", missing.join(", "));
            return Err(refused(400, "InvalidInstanceID.NotFound", &message));
        }
        let names = filter(params, "private-dns-name");
        let addresses = filter(params, "network-interface.addresses.private-ip-address");
        let is_wanted = |machine: &&Machine| {
            (ids.is_empty() || ids.contains(&machine.id))
                && names.as_ref().is_none_or(|names| names.contains(&machine.dns))
                && addresses
                    .as_ref()
                    .is_none_or(|addresses| addresses.contains(&machine.address))
                && !self.hidden.contains(&machine.id)
        };
        let found: Vec<&Machine> = self.machines.iter().filter(is_wanted).collect();
        let start: usize = params.get("NextToken").map_or(0, |token| token.parse().unwrap());
        let size = if self.page == 0 { found.len() } else { self.page };
        let page = found.iter().skip(start).take(size).map(|machine| machine.xml());
        let page: String = page.collect();
        let next = start + size;
        let next = if next < found.len() {
            format!("<nextToken>{next}</nextToken>")
        } else {
            String::new()
        };
        Ok(xml(
            "DescribeInstances",
            &format!("<reservationSet>{page}</reservationSet>{next}"),
        ))
    }

    fn action(&mut self, action: &str, params: &Params) -> Outcome {
        if let Some(at) = self.refusals.iter().position(|refusal| refusal.0 == action) {
            let Refusal(_, status, code, message) = self.refusals.remove(at).unwrap();
            // Long enough that no call waits for it.
            return Err(refused(status, &code, &message).header("Retry-After", "60"));
        }
        let item = |text: String| format!("<item>{text}</item>");
        Ok(match action {
            "DescribeInstances" => return self.instances(params),
            "DescribeAvailabilityZones" => {
                let zones = ["a", "b"].map(|zone| {
                    item(format!("<zoneName>us-east-1{zone}</zoneName><zoneId>use1-az-{zone}</zoneId><zoneType>availability-zone</zoneType>"))
                });
                xml(
                    action,
                    &format!("<availabilityZoneInfo>{}</availabilityZoneInfo>", zones.concat()),
                )
            }
            "DescribeInstanceTopology" => {
                let known = values(params, "InstanceId").into_iter().filter_map(|id| {
                    let nodes: String = self
                        .topology
                        .get(&id)?
                        .iter()
                        .map(|node| item((*node).to_owned()))
                        .collect();
                    Some(item(format!(
                        "<instanceId>{id}</instanceId><networkNodeSet>{nodes}</networkNodeSet>"
                    )))
                });
                xml(
                    action,
                    &format!("<instanceSet>{}</instanceSet>", known.collect::<String>()),
                )
            }
            "DescribeNetworkInterfaces" => {
                let wanted = filter(params, "private-ip-address").unwrap();
                let found = self
                    .interfaces
                    .iter()
                    .filter(|address| wanted.iter().any(|one| one == *address));
                let found = found.map(|address| {
                    item(format!(
                        "<privateIpAddress>{address}</privateIpAddress><availabilityZone>us-east-1b</availabilityZone>"
                    ))
                });
                xml(
                    action,
                    &format!(
                        "<networkInterfaceSet>{}</networkInterfaceSet>",
                        found.collect::<String>()
                    ),
                )
            }
            "DescribeRouteTables" => {
                let routes = self.routes.iter().map(|(to, instance, state)| {
                    item(format!("<destinationCidrBlock>{to}</destinationCidrBlock><instanceId>{instance}</instanceId><state>{state}</state>"))
                });
                let routes: String = routes.collect();
                let tag = item(format!("<key>{CLUSTER}</key><value>owned</value>"));
                let table = item(format!(
                    "<routeTableId>rtb-1</routeTableId><routeSet>{routes}</routeSet><tagSet>{tag}</tagSet>"
                ));
                xml(action, &format!("<routeTableSet>{table}</routeTableSet>"))
            }
            "AssumeRole" | "AssumeRoleWithWebIdentity" => {
                let keys = self.keys(&["Credentials", "SessionToken"]);
                xml(action, &format!("<{action}Result>{keys}</{action}Result>"))
            }
            _ => return self.change(action, params),
        })
    }

    fn change(&mut self, action: &str, params: &Params) -> Outcome {
        Ok(match action {
            "CreateRoute" => {
                let (to, instance) = (params["DestinationCidrBlock"].clone(), params["InstanceId"].clone());
                if self.routes.iter().any(|(other, ..)| *other == to) {
                    return Err(refused(400, "RouteAlreadyExists", "The route exists"));
                }
                self.routes.push((to, instance, "active"));
                xml(action, "<return>true</return>")
            }
            "DeleteRoute" => {
                let before = self.routes.len();
                self.routes.retain(|(to, ..)| *to != params["DestinationCidrBlock"]);
                if self.routes.len() == before {
                    return Err(refused(400, "InvalidRoute.NotFound", "no route"));
                }
                xml(action, "<return>true</return>")
            }
            "ModifyInstanceAttribute" => xml(action, "<return>true</return>"),
            "CreateTags" | "DeleteTags" => {
                let ids = values(params, "ResourceId");
                if let Some(gone) = ids
                    .iter()
                    .find(|id| !self.machines.iter().any(|machine| machine.id == **id))
                {
                    return Err(refused(
                        400,
                        "InvalidInstanceID.NotFound",
                        &format!("The instance ID '{gone}' does not exist"),
                    ));
                }
                for id in ids {
                    match action {
                        "CreateTags" => drop(self.tagged.insert(id, params["Tag.1.Value"].clone())),
                        _ => drop(self.tagged.remove(&id)),
                    }
                }
                xml(action, "<return>true</return>")
            }
            other => return Err(Response::text(501, other.to_owned())),
        })
    }

    fn keys(&mut self, [element, token]: &[&str; 2]) -> String {
        self.given += 1;
        let id = format!("KEY{}", self.given);
        format!(
            "<{element}><AccessKeyId>{id}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><{token}>token</{token}>\
             <Expiration>2100-01-01T00:00:00Z</Expiration></{element}>"
        )
    }

    fn metadata(&mut self, path: &[&str]) -> Outcome {
        let text = match path {
            ["placement", "region"] => "us-east-1".to_owned(),
            ["instance-id"] => self.machines[0].id.clone(),
            ["iam", "security-credentials"] => "node-role".to_owned(),
            ["iam", "security-credentials", "node-role"] => {
                self.given += 1;
                format!(
                    r#"{{"Code": "Success", "AccessKeyId": "KEY{}", "SecretAccessKey": "secret", "Token": "token", "Expiration": "2100-01-01T00:00:00Z"}}"#,
                    self.given
                )
            }
            _ => return Err(Response::text(404, "not found")),
        };
        Ok(Response::text(200, text))
    }
}

impl Api for Fake {
    fn answer(&mut self, request: &Request, _: Now) -> Outcome {
        match request.route() {
            ("PUT", path) if path == ["latest", "api", "token"] => {
                assert_eq!(request.header("x-aws-ec2-metadata-token-ttl-seconds"), Some("21600"));
                Ok(Response::text(200, "session"))
            }
            ("GET", path) if path.starts_with(&["latest", "meta-data"]) => {
                if request.header("x-aws-ec2-metadata-token") != Some("session") {
                    return Err(Response::empty(401));
                }
                let path: Vec<String> = path[2..].iter().map(ToString::to_string).collect();
                self.metadata(&path.iter().map(String::as_str).collect::<Vec<_>>())
            }
            ("GET", path) if path == ["agent"] => {
                assert_eq!(request.header("authorization"), Some("agent-token"));
                self.given += 1;
                let id = format!("KEY{}", self.given);
                Ok(Response::ok(
                    fakecloud::json!({"AccessKeyId": id, "SecretAccessKey": "s", "Token": "t", "Expiration": "2100-01-01T00:00:00Z"}),
                ))
            }
            ("POST", _) => {
                let form = request.text();
                let url: cloud_http::Url = format!("http://x/?{form}").parse().unwrap();
                let params: Params = url.query_pairs().into_owned().collect();
                let signed = request.header("authorization").unwrap_or_default();
                let is_right = |key: &String| signed.contains(&format!("Credential={key}/"));
                if self.key.as_ref().is_some_and(|key| !is_right(key)) && !params["Action"].starts_with("Assume") {
                    return Err(refused(
                        400,
                        "ExpiredToken",
                        "The security token included in the request is expired",
                    ));
                }
                self.action(&params["Action"].clone(), &params)
            }
            _ => Err(Response::unknown(request)),
        }
    }
}

impl Machine {
    fn xml(&self) -> String {
        let Self {
            id,
            dns,
            address,
            state,
            kind,
            tag,
        } = self;
        format!(
            "<item><instancesSet><item><instanceId>{id}</instanceId><instanceType>{kind}</instanceType>\
             <instanceState><code>16</code><name>{state}</name></instanceState><placement><availabilityZone>us-east-1a</availabilityZone></placement>\
             <vpcId>vpc-1</vpcId><subnetId>subnet-1</subnetId><privateDnsName>{dns}</privateDnsName><dnsName/>\
             <networkInterfaceSet><item><status>in-use</status><attachment><deviceIndex>0</deviceIndex></attachment>\
             <privateIpAddressesSet><item><privateIpAddress>{address}</privateIpAddress></item></privateIpAddressesSet></item></networkInterfaceSet>\
             <tagSet><item><key>{tag}</key><value>owned</value></item></tagSet></item></instancesSet></item>"
        )
    }
}

/// The ID of the machine of this number.
pub fn id(number: usize) -> String {
    format!("i-{number:08x}")
}

pub fn machine(number: usize) -> Machine {
    Machine {
        id: id(number),
        dns: format!("ip-10-0-0-{number}.ec2.internal"),
        address: format!("10.0.0.{number}"),
        state: "running",
        kind: "m5.large",
        tag: CLUSTER,
    }
}

/// A node with the provider ID of an instance.
pub fn node(id: &str) -> NodeRef {
    NodeRef::named(format!("node-{id}")).with_provider_id(format!("aws:///us-east-1a/{id}"))
}

pub struct Fixture {
    pub cloud: Cloud<Fake>,
    pub server: Server,
}

impl Fixture {
    /// A fake with this many machines.
    pub async fn start(machines: usize) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cloud = Cloud::new(Fake {
            machines: (1..=machines).map(machine).collect(),
            ..Fake::default()
        });
        let server = Server::start(&cloud).await.unwrap();
        Self { cloud, server }
    }

    /// A provider whose keys are in the environment.
    pub fn aws(&self) -> Aws {
        self.aws_with(ELSEWHERE, &KEYS)
    }

    /// A provider with this configuration and these variables.
    pub fn aws_with(&self, file: &str, variables: &[(&str, &str)]) -> Aws {
        self.aws_on(file, variables, Untagged::Refused, &prometheus::Registry::new())
    }

    /// The same, with `--allow-untagged-cloud` and a registry.
    pub fn aws_on(
        &self,
        file: &str,
        variables: &[(&str, &str)],
        untagged: Untagged,
        registry: &prometheus::Registry,
    ) -> Aws {
        let url = self.server.url();
        let urls = [
            ("AWS_ENDPOINT_URL", url.as_str()),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", url.as_str()),
        ];
        let variables = urls.iter().chain(variables).copied().collect();
        let config = Config::new(Some(("cloud.conf", file.as_bytes())), variables, &mut Vec::new()).unwrap();
        let config = Config { untagged, ..config };
        let tagging = TaggingOptions {
            tags: [("owner".to_owned(), "me".to_owned())].into(),
            workers: std::num::NonZeroUsize::MIN,
            rate: None,
        };
        let gate: cloud::Gate = Arc::new(|| Ok(()));
        Aws::new(config, Some(tagging), &gate, registry).unwrap()
    }

    pub fn refuse(&self, action: &'static str, status: u16, code: &str, message: &str) {
        let refusal = Refusal(action, status, code.to_owned(), message.to_owned());
        self.cloud.write(|fake, _| fake.refusals.push_back(refusal));
    }

    /// The actions that were called, in order.
    pub fn actions(&self) -> Vec<String> {
        let action = |body: &str| {
            body.split('&')
                .find_map(|pair| pair.strip_prefix("Action=").map(str::to_owned))
        };
        self.cloud
            .calls()
            .iter()
            .filter_map(|call| action(&call.body))
            .collect()
    }

    pub fn count(&self, action: &str) -> usize {
        self.actions().iter().filter(|called| *called == action).count()
    }
}

/// What was answered, in one word each.
pub fn words(answers: &[cloud::Result<Answer>]) -> String {
    let word = |answer: &cloud::Result<Answer>| match answer {
        Ok(Answer::Found(_)) => "found",
        Ok(Answer::Missing) => "missing",
        Ok(_) => "other",
        Err(_) => "error",
    };
    answers.iter().map(word).collect::<Vec<_>>().join(" ")
}
