//! What is in a cloud when it starts: the catalog, users, images, flavors, networks.

use super::{
    PASSWORD,
    catalog::{Region, Service},
    client::{Client, Login, text_at, until},
    project::Tenant,
};
use anyhow::{Context, Result};
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{fs, ops::ControlFlow, path::Path};

const FILE: &str = "content.json";
/// What an ordinary user may be.
const ROLES: [&str; 3] = ["member", "reader", "load-balancer_member"];

/// The identifiers of the objects that exist from the start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Content {
    pub image: String,
    pub flavor: String,
    pub external_network: String,
    pub external_subnet: String,
    pub roles: Vec<String>,
    pub demo: Tenant,
    pub amphora: Amphora,
}

/// What Octavia makes amphorae of.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Amphora {
    pub flavor: String,
    pub network: String,
    pub security_group: String,
    pub image_owner: String,
}

/// The administrator that creates the first objects.
struct Admin<'a> {
    client: &'a Client,
    login: Login,
}

impl Content {
    pub fn read(folder: &Path) -> Result<Self> {
        let text = fs::read(folder.join(FILE)).with_context(|| format!("no {FILE} in {}", folder.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }

    pub fn write(&self, folder: &Path) -> Result<()> {
        Ok(fs::write(folder.join(FILE), serde_json::to_vec_pretty(self)?)?)
    }
}

/// Makes users, roles and the catalog while nothing but Keystone runs.
pub(super) async fn identity(client: &Client) -> Result<()> {
    let admin = Admin::of(client);
    admin
        .missing_roles(&["service", "load-balancer_member", "load-balancer_admin"])
        .await?;
    let (project, user) = admin.project_and_user("service").await?;
    admin
        .assign(&project, &user, &admin.roles(&["admin", "service"]).await?)
        .await?;
    let project = admin.identity_of("project", "admin").await?;
    let user = admin.identity_of("user", "admin").await?;
    admin
        .assign(&project, &user, &admin.roles(&["load-balancer_admin"]).await?)
        .await?;
    admin
        .post(
            Service::Keystone,
            "/v3/regions",
            json!({"region": {"id": Region::Tls.name()}}),
        )
        .await?;
    for service in Service::ALL {
        admin.endpoints(service).await?;
    }
    Ok(())
}

/// Creates everything else while the whole cloud runs, except Octavia's worker, whose configuration depends on it.
pub(super) async fn resources(client: &Client) -> Result<Content> {
    let admin = Admin::of(client);
    let flavor = admin.flavor("m1.tiny", 64).await?;
    admin.flavor("m1.small", 512).await?;
    admin.flavor("m1.medium", 4096).await?;
    let (image, _) = admin.image("cirros").await?;
    let amphora = admin.amphora().await?;
    let (external_network, external_subnet) = admin.external_network().await?;
    let roles = admin.roles(&ROLES).await?;
    let demo = tenant(client, "demo", &roles, &external_network).await?;
    Ok(Content {
        image,
        flavor,
        external_network,
        external_subnet,
        roles,
        demo,
        amphora,
    })
}

/// Makes a project with a user of the same name, a network, a subnet and a router.
pub(super) async fn tenant(client: &Client, name: &str, roles: &[String], external_network: &str) -> Result<Tenant> {
    let admin = Admin::of(client);
    let (project, user) = admin.project_and_user(name).await?;
    admin.assign(&project, &user, roles).await?;
    let own = Admin {
        client,
        login: Login::new(name),
    };
    let network = own.network(json!({"name": name})).await?;
    let subnet = json!({"name": name, "network_id": network, "ip_version": 4, "cidr": "10.20.0.0/16"});
    let subnet = own.subnet(subnet).await?;
    let gateway = json!({"network_id": external_network});
    let router = json!({"router": {"name": name, "external_gateway_info": gateway}});
    let router = text_at(
        &own.post(Service::Neutron, "/v2.0/routers", router).await?,
        "/router/id",
    )?;
    let path = format!("/v2.0/routers/{router}/add_router_interface");
    let interface = Some(json!({"subnet_id": subnet}));
    client
        .call(&own.login, Service::Neutron, Method::PUT, &path, interface)
        .await?;
    Ok(Tenant {
        name: name.to_owned(),
        project,
        user,
        network,
        subnet,
        router,
    })
}

impl<'a> Admin<'a> {
    fn of(client: &'a Client) -> Self {
        Self {
            client,
            login: Login::new("admin"),
        }
    }

    async fn post(&self, service: Service, path: &str, body: Value) -> Result<Value> {
        self.client.post(&self.login, service, path, body).await
    }

    async fn get(&self, service: Service, path: &str) -> Result<Value> {
        self.client.get(&self.login, service, path).await
    }

    /// Keystone's own bootstrap makes some.
    async fn missing_roles(&self, names: &[&str]) -> Result<()> {
        let there = self.get(Service::Keystone, "/v3/roles").await?.to_string();
        for name in names {
            if !there.contains(&format!("\"name\":\"{name}\"")) {
                self.post(Service::Keystone, "/v3/roles", json!({"role": {"name": name}}))
                    .await?;
            }
        }
        Ok(())
    }

    async fn roles(&self, names: &[&str]) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for name in names {
            ids.push(self.identity_of("role", name).await?);
        }
        Ok(ids)
    }

    async fn identity_of(&self, kind: &str, name: &str) -> Result<String> {
        let found = self.get(Service::Keystone, &format!("/v3/{kind}s?name={name}")).await?;
        text_at(&found, &format!("/{kind}s/0/id"))
    }

    async fn project_and_user(&self, name: &str) -> Result<(String, String)> {
        let body = json!({"project": {"name": name, "domain_id": "default"}});
        let project = text_at(
            &self.post(Service::Keystone, "/v3/projects", body).await?,
            "/project/id",
        )?;
        let user = json!({"name": name, "password": PASSWORD, "domain_id": "default", "default_project_id": project});
        let user = self.post(Service::Keystone, "/v3/users", json!({"user": user})).await?;
        Ok((project, text_at(&user, "/user/id")?))
    }

    async fn assign(&self, project: &str, user: &str, roles: &[String]) -> Result<()> {
        for role in roles {
            let path = format!("/v3/projects/{project}/users/{user}/roles/{role}");
            self.client
                .call(&self.login, Service::Keystone, Method::PUT, &path, None)
                .await?;
        }
        Ok(())
    }

    /// The entry of a service in the catalog, in both regions; bootstrap has created Keystone's in the first.
    async fn endpoints(&self, service: Service) -> Result<()> {
        let (id, regions) = if service == Service::Keystone {
            let services = self.get(Service::Keystone, "/v3/services?type=identity").await?;
            (text_at(&services, "/services/0/id")?, vec![Region::Tls])
        } else {
            let body = json!({"service": {"name": service.name(), "type": service.catalog_type()}});
            let made = self.post(Service::Keystone, "/v3/services", body).await?;
            (text_at(&made, "/service/id")?, Region::ALL.to_vec())
        };
        for region in regions {
            let url = format!("{}{}", self.client.ports().url(service, region), service.path());
            for interface in ["public", "internal", "admin"] {
                let endpoint =
                    json!({"service_id": id, "interface": interface, "region_id": region.name(), "url": url});
                self.post(Service::Keystone, "/v3/endpoints", json!({"endpoint": endpoint}))
                    .await?;
            }
        }
        Ok(())
    }

    async fn flavor(&self, name: &str, ram: u32) -> Result<String> {
        let flavor = json!({"flavor": {"name": name, "ram": ram, "vcpus": 1, "disk": 1}});
        text_at(&self.post(Service::Nova, "/v2.1/flavors", flavor).await?, "/flavor/id")
    }

    /// It is never read: an image is a record with a length. Returns its owner too.
    async fn image(&self, name: &str) -> Result<(String, String)> {
        let body = json!({"name": name, "tags": [name], "disk_format": "raw", "container_format": "bare", "visibility": "public"});
        let image = self.post(Service::Glance, "/v2/images", body).await?;
        let (id, owner) = (text_at(&image, "/id")?, text_at(&image, "/owner")?);
        self.client
            .upload(&self.login, &format!("/v2/images/{id}/file"), "nothing\n".repeat(64))
            .await?;
        let path = &format!("/v2/images/{id}");
        until("the image is active", || async move {
            let image = self.get(Service::Glance, path).await?;
            Ok(match text_at(&image, "/status")? {
                status if status == "active" => ControlFlow::Break(()),
                status => ControlFlow::Continue(format!("it is {status}")),
            })
        })
        .await?;
        Ok((id, owner))
    }

    async fn network(&self, network: Value) -> Result<String> {
        let made = self
            .post(Service::Neutron, "/v2.0/networks", json!({"network": network}))
            .await?;
        text_at(&made, "/network/id")
    }

    async fn subnet(&self, subnet: Value) -> Result<String> {
        let made = self
            .post(Service::Neutron, "/v2.0/subnets", json!({"subnet": subnet}))
            .await?;
        text_at(&made, "/subnet/id")
    }

    async fn amphora(&self) -> Result<Amphora> {
        let project = self.identity_of("project", "service").await?;
        let network = self.network(json!({"name": "lb-mgmt", "project_id": project})).await?;
        let range = json!({"name": "lb-mgmt", "network_id": network, "ip_version": 4, "cidr": "172.31.0.0/16", "gateway_ip": null});
        self.subnet(range).await?;
        let group = json!({"security_group": {"name": "lb-mgmt", "project_id": project}});
        let group = self.post(Service::Neutron, "/v2.0/security-groups", group).await?;
        Ok(Amphora {
            flavor: self.flavor("amphora", 64).await?,
            network,
            security_group: text_at(&group, "/security_group/id")?,
            image_owner: self.image("amphora").await?.1,
        })
    }

    async fn external_network(&self) -> Result<(String, String)> {
        let network = json!({
            "name": "public",
            "router:external": true,
            "provider:network_type": "flat",
            "provider:physical_network": "external",
        });
        let network = self.network(network).await?;
        let subnet = json!({"name": "public", "network_id": network, "ip_version": 4, "cidr": "203.0.112.0/20", "enable_dhcp": false});
        Ok((network, self.subnet(subnet).await?))
    }
}
