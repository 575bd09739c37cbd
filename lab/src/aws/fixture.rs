//! What a cluster finds in an account: a network in three zones, a security group, a certificate, and instances.

use super::{Account, Aws, REGION};
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The cluster's ID in tags and in `KubernetesClusterID`.
const CLUSTER: &str = "lab";
const ZONES: [&str; 3] = ["us-east-1a", "us-east-1b", "us-east-1c"];
/// moto has it in every account.
const IMAGE: &str = "ami-12c6146b";

/// An account with the network of a cluster.
#[derive(Debug, Clone)]
pub struct Fixture<'a> {
    /// The account.
    pub account: Account<'a>,
    /// The VPC, 10.0.0.0/16.
    pub vpc: String,
    /// One for each zone, with a route to the internet gateway.
    pub public: Vec<Subnet>,
    /// One for each zone, without.
    pub private: Vec<Subnet>,
    /// The route table of the public subnets, with the tag of the cluster.
    pub route_table: String,
    /// The security group of the nodes, with the tag of the cluster.
    pub security_group: String,
    /// A certificate for the encrypted cases.
    pub certificate: String,
}

/// A subnet in one zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subnet {
    /// Its ID.
    pub id: String,
    /// Its zone.
    pub zone: String,
}

/// A running instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its ID.
    pub id: String,
    /// Its private DNS name, which is the name of its Node.
    pub name: String,
    /// Its zone.
    pub zone: String,
}

impl Instance {
    /// As the cloud controller manager writes it.
    pub fn provider_id(&self) -> String {
        format!("aws:///{}/{}", self.zone, self.id)
    }

    fn read(answer: &Value) -> Result<Self> {
        Ok(Self {
            id: text(answer, "/InstanceId")?,
            name: text(answer, "/PrivateDnsName")?,
            zone: text(answer, "/Placement/AvailabilityZone")?,
        })
    }
}

impl<'a> Fixture<'a> {
    /// A fresh account with everything but instances.
    ///
    /// # Errors
    /// If the server refuses something.
    pub async fn new(server: &'a Aws) -> Result<Self> {
        let account = server.account();
        let vpc = account.call("ec2", "CreateVpc", json!({"CidrBlock": "10.0.0.0/16"}));
        let vpc = text(&vpc.await?, "/Vpc/VpcId")?;
        let dns = json!({"VpcId": vpc, "EnableDnsHostnames": {"Value": true}});
        account.call("ec2", "ModifyVpcAttribute", dns).await?;
        let (mut public, mut private) = (Vec::new(), Vec::new());
        for (number, zone) in ZONES.iter().enumerate() {
            public.push(subnet(&account, &vpc, zone, number, "elb").await?);
            private.push(subnet(&account, &vpc, zone, number + 100, "internal-elb").await?);
        }
        let route_table = public_routes(&account, &vpc, &public).await?;
        let certificate = json!({"DomainName": "lab.example.com", "ValidationMethod": "DNS"});
        let certificate = account.call("acm", "RequestCertificate", certificate).await?;
        Ok(Self {
            security_group: security_group(&account, &vpc).await?,
            certificate: text(&certificate, "/CertificateArn")?,
            account,
            vpc,
            public,
            private,
            route_table,
        })
    }

    /// The text of `--cloud-config`, with more lines in `[Global]`.
    pub fn cloud_conf(&self, more: &str) -> String {
        let (vpc, subnet, url) = (&self.vpc, &self.public[0].id, self.account.server().url());
        let global = format!(
            "[Global]\nZone={}\nVPC={vpc}\nSubnetID={subnet}\nKubernetesClusterID={CLUSTER}\n{more}\n",
            ZONES[0]
        );
        let services = ["EC2", "Elastic Load Balancing", "Elastic Load Balancing v2"];
        let overrides = services.iter().enumerate().map(|(number, service)| {
            format!("[ServiceOverride \"{number}\"]\nService={service}\nRegion={REGION}\nURL={url}\nSigningRegion={REGION}\n")
        });
        std::iter::once(global).chain(overrides).collect()
    }

    /// Starts instances of this type in the public subnet of a zone, by its number.
    ///
    /// # Errors
    /// If EC2 refuses it.
    pub async fn boot(&self, zone: usize, kind: &str, count: usize) -> Result<Vec<Instance>> {
        let wanted = json!({
            "ImageId": IMAGE, "InstanceType": kind, "MinCount": count, "MaxCount": count,
            "SubnetId": self.public[zone].id, "SecurityGroupIds": [self.security_group],
            "TagSpecifications": tags("instance", &[]),
        });
        let answer = self.account.call("ec2", "RunInstances", wanted).await?;
        let instances = answer["Instances"].as_array().context("no instances")?;
        instances.iter().map(Instance::read).collect()
    }

    /// Starts one instance in the first zone.
    ///
    /// # Errors
    /// If EC2 refuses it.
    pub async fn boot_one(&self) -> Result<Instance> {
        self.boot(0, "t3.medium", 1).await?.pop().context("no instance")
    }

    /// Stops an instance.
    ///
    /// # Errors
    /// If EC2 refuses it.
    pub async fn stop(&self, id: &str) -> Result<()> {
        let answer = self.account.call("ec2", "StopInstances", json!({"InstanceIds": [id]}));
        answer.await.map(drop)
    }

    /// Terminates an instance.
    ///
    /// # Errors
    /// If EC2 refuses it.
    pub async fn terminate(&self, id: &str) -> Result<()> {
        let answer = self
            .account
            .call("ec2", "TerminateInstances", json!({"InstanceIds": [id]}));
        answer.await.map(drop)
    }

    /// Terminates an instance, and lets the hour pass for which EC2 shows it. It is a success if it does not exist.
    ///
    /// # Errors
    /// If the server does not answer.
    pub async fn forget(&self, id: &str) -> Result<()> {
        self.account.forget(id).await
    }
}

async fn subnet(account: &Account<'_>, vpc: &str, zone: &str, number: usize, role: &str) -> Result<Subnet> {
    let wanted = json!({
        "VpcId": vpc, "AvailabilityZone": zone, "CidrBlock": format!("10.0.{number}.0/24"),
        "TagSpecifications": tags("subnet", &[(&format!("kubernetes.io/role/{role}"), "1")]),
    });
    Ok(Subnet {
        id: text(&account.call("ec2", "CreateSubnet", wanted).await?, "/Subnet/SubnetId")?,
        zone: zone.to_owned(),
    })
}

async fn public_routes(account: &Account<'_>, vpc: &str, subnets: &[Subnet]) -> Result<String> {
    let gateway = account.call("ec2", "CreateInternetGateway", json!({})).await?;
    let gateway = text(&gateway, "/InternetGateway/InternetGatewayId")?;
    let attached = json!({"InternetGatewayId": gateway, "VpcId": vpc});
    account.call("ec2", "AttachInternetGateway", attached).await?;
    let wanted = json!({"VpcId": vpc, "TagSpecifications": tags("route-table", &[])});
    let table = text(
        &account.call("ec2", "CreateRouteTable", wanted).await?,
        "/RouteTable/RouteTableId",
    )?;
    let route = json!({"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": gateway});
    account.call("ec2", "CreateRoute", route).await?;
    for subnet in subnets {
        let associated = json!({"RouteTableId": table, "SubnetId": subnet.id});
        account.call("ec2", "AssociateRouteTable", associated).await?;
    }
    Ok(table)
}

async fn security_group(account: &Account<'_>, vpc: &str) -> Result<String> {
    let wanted = json!({"GroupName": "nodes", "Description": "nodes", "VpcId": vpc, "TagSpecifications": tags("security-group", &[])});
    text(&account.call("ec2", "CreateSecurityGroup", wanted).await?, "/GroupId")
}

fn tags(kind: &str, more: &[(&str, &str)]) -> Value {
    let own = (format!("kubernetes.io/cluster/{CLUSTER}"), "owned".to_owned());
    let more = more.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let tags: Vec<_> = std::iter::once(own)
        .chain(more)
        .map(|(key, value)| json!({"Key": key, "Value": value}))
        .collect();
    json!([{"ResourceType": kind, "Tags": tags}])
}

fn text(answer: &Value, pointer: &str) -> Result<String> {
    let found = answer.pointer(pointer).and_then(Value::as_str);
    Ok(found.with_context(|| format!("no {pointer} in {answer}"))?.to_owned())
}
