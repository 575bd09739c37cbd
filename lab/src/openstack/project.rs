//! A project for one test: it has no servers, networks or load balancers of others.

use super::{
    OpenStack,
    catalog::{Region, Service},
    client::{Login, text_at, until},
    install,
};
use anyhow::{Context, Result, bail};
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    ops::ControlFlow,
    process::Command,
    time::Duration,
};

const CLONE: &str = include_str!("../../openstack/clone.py");

/// The identifiers of a project and of what is in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tenant {
    /// The name of the project, its user, network, subnet and router.
    pub name: String,
    /// The project.
    pub project: String,
    /// The user, with the password [`PASSWORD`](super::PASSWORD).
    pub user: String,
    /// The network that servers are in.
    pub network: String,
    /// Its subnet, 10.20.0.0/16.
    pub subnet: String,
    /// The router from that subnet to the external network.
    pub router: String,
}

/// A project in a cloud; it is there until the cloud ends.
#[derive(Debug)]
pub struct Project<'a> {
    cloud: &'a OpenStack,
    tenant: Tenant,
}

/// A server with one port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// The server.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its address in the project's subnet.
    pub address: String,
    /// Its port.
    pub port: String,
}

/// What a program can log in with instead of a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationCredential {
    /// Which one.
    pub id: String,
    /// Its secret; nothing in the lab is worth hiding.
    pub secret: String,
}

impl<'a> Project<'a> {
    pub(super) fn new(cloud: &'a OpenStack, tenant: Tenant) -> Self {
        Self { cloud, tenant }
    }

    /// Its identifiers.
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// Its user.
    pub fn login(&self) -> Login {
        Login::new(&self.tenant.name)
    }

    /// The `[Global]` section of a cloud.conf that logs in as its user with the password.
    pub fn cloud_conf(&self, region: Region) -> String {
        let (url, name, password) = (self.cloud.keystone(region), &self.tenant.name, super::PASSWORD);
        let ca = match region {
            Region::Plain => String::new(),
            Region::Tls => format!("ca-file = {}\n", self.cloud.ca_file().display()),
        };
        format!(
            "[Global]\nauth-url = {url}\nusername = {name}\npassword = {password}\ntenant-name = {name}\n\
             domain-id = default\nregion = {}\n{ca}",
            region.name()
        )
    }

    /// Asks a service as its user.
    ///
    /// # Errors
    /// If the service cannot be reached or rejects the request; the message has the status and the body.
    pub async fn call(&self, service: Service, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
        self.cloud.call(&self.login(), service, method, path, body).await
    }

    /// A token of its user; the same one until it is revoked.
    ///
    /// # Errors
    /// If Keystone rejects the request.
    pub async fn token(&self) -> Result<String> {
        self.cloud.client.token(&self.login()).await
    }

    /// Makes an application credential of its user.
    ///
    /// # Errors
    /// If the name is taken.
    pub async fn application_credential(&self, name: &str) -> Result<ApplicationCredential> {
        let path = format!("/v3/users/{}/application_credentials", self.tenant.user);
        let body = json!({"application_credential": {"name": name}});
        let made = self.call(Service::Keystone, Method::POST, &path, Some(body)).await?;
        Ok(ApplicationCredential {
            id: text_at(&made, "/application_credential/id")?,
            secret: text_at(&made, "/application_credential/secret")?,
        })
    }

    /// Makes every token of its user invalid, everywhere and at once. New ones can be had when this returns.
    ///
    /// # Errors
    /// If Keystone rejects the request.
    pub async fn revoke_tokens(&self) -> Result<()> {
        let path = format!("/v3/users/{}", self.tenant.user);
        let body = json!({"user": {"password": super::PASSWORD}});
        self.cloud
            .call(&self.cloud.admin(), Service::Keystone, Method::PATCH, &path, Some(body))
            .await?;
        self.cloud.client.forget(&self.login());
        // Keystone counts in whole seconds: a token of the same second would be invalid too.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        // The services ask Keystone about a token once in five minutes.
        let mut cache = TcpStream::connect(("127.0.0.1", self.cloud.client.ports().memcached))?;
        cache.write_all(b"flush_all\r\nquit\r\n")?;
        cache.shutdown(Shutdown::Write)?;
        let mut state = String::new();
        cache.read_to_string(&mut state)?;
        if state.trim() != "OK" {
            bail!("memcached says {state}");
        }
        Ok(())
    }

    /// Boots a server in its network, and waits until it is ACTIVE.
    ///
    /// # Errors
    /// If it does not become ACTIVE.
    pub async fn boot(&self, name: &str) -> Result<Server> {
        let content = &self.cloud.content;
        let networks = json!([{"uuid": self.tenant.network}]);
        let server =
            json!({"name": name, "imageRef": content.image, "flavorRef": content.flavor, "networks": networks});
        let made = self
            .call(
                Service::Nova,
                Method::POST,
                "/v2.1/servers",
                Some(json!({"server": server})),
            )
            .await?;
        let id = text_at(&made, "/server/id")?;
        self.wait_for_status(&id, "ACTIVE").await?;
        let ports = format!("/v2.0/ports?device_id={id}");
        let ports = self.call(Service::Neutron, Method::GET, &ports, None).await?;
        Ok(Server {
            name: name.to_owned(),
            address: text_at(&ports, "/ports/0/fixed_ips/0/ip_address")?,
            port: text_at(&ports, "/ports/0/id")?,
            id,
        })
    }

    /// Copies a server many times, a thousand in seconds: ordinary servers that were never scheduled.
    ///
    /// # Errors
    /// If the subnet has no room for them.
    pub fn clone_servers(&self, server: &Server, count: usize, prefix: &str) -> Result<Vec<Server>> {
        let installed = install::prepare()?;
        let place = installed.place(&self.cloud.folder);
        let output = Command::new(place.venv.join("bin/python"))
            .args(["-c", CLONE])
            .arg(place.folder.join("mysql.sock"))
            .args([&server.id, &count.to_string(), prefix])
            .envs(place.python())
            .output()?;
        if !output.status.success() {
            bail!(
                "cannot clone {}: {}",
                server.name,
                String::from_utf8_lossy(&output.stderr)
            );
        }
        serde_json::from_slice(&output.stdout).context("the clones are not JSON")
    }

    /// Deletes a server, and waits until it does not exist.
    ///
    /// # Errors
    /// If it is not there, or stays.
    pub async fn delete_server(&self, id: &str) -> Result<()> {
        let path = format!("/v2.1/servers/{id}");
        self.call(Service::Nova, Method::DELETE, &path, None).await?;
        let path = &path;
        let gone = || async move {
            let found = self.call(Service::Nova, Method::GET, path, None).await;
            match found {
                Err(error) if error.to_string().contains("404") => Ok(ControlFlow::Break(())),
                other => other.map(|server| ControlFlow::Continue(state_of(&server))),
            }
        };
        until(&format!("server {id} is gone"), gone).await
    }

    /// Stops a server, and waits until it is SHUTOFF.
    ///
    /// # Errors
    /// If it is not there, or not running.
    pub async fn stop_server(&self, id: &str) -> Result<()> {
        self.act(id, "os-stop").await?;
        self.wait_for_status(id, "SHUTOFF").await
    }

    /// Starts a stopped server, and waits until it is ACTIVE.
    ///
    /// # Errors
    /// If it is not there, or not stopped.
    pub async fn start_server(&self, id: &str) -> Result<()> {
        self.act(id, "os-start").await?;
        self.wait_for_status(id, "ACTIVE").await
    }

    async fn act(&self, id: &str, action: &str) -> Result<()> {
        let path = format!("/v2.1/servers/{id}/action");
        self.call(Service::Nova, Method::POST, &path, Some(json!({action: null})))
            .await?;
        Ok(())
    }

    async fn wait_for_status(&self, id: &str, wanted: &str) -> Result<()> {
        let path = &format!("/v2.1/servers/{id}");
        until(&format!("server {id} is {wanted}"), || async move {
            let server = self.call(Service::Nova, Method::GET, path, None).await?;
            match text_at(&server, "/server/status")? {
                status if status == wanted => Ok(ControlFlow::Break(())),
                status if status == "ERROR" => bail!("server {id} is in ERROR: {}", server["server"]["fault"]),
                _ => Ok(ControlFlow::Continue(state_of(&server))),
            }
        })
        .await
    }
}

/// `it is BUILD (spawning)`: what a server is, and what is being done to it.
fn state_of(answer: &Value) -> String {
    let server = &answer["server"];
    let text = |field: &str| server[field].as_str().unwrap_or("none").to_owned();
    format!("it is {} ({})", text("status"), text("OS-EXT-STS:task_state"))
}
