//! The APIs of one vCenter: SOAP for the inventory, REST for tags. One method for each call.

pub mod properties;
pub mod session;
pub mod soap;
pub mod tags;
pub mod xml;

use crate::config::VCenter;
use cloud::{Error, Gate, Result};
use cloud_http::{
    Client, Config, Credentials, Idempotency, Metrics, Request, Retries, Url,
    http::header::HeaderName,
    login::{Login, LoginThrottles},
};
use session::{Rest, Session, Soap};
use soap::{Reference, element};
use std::{sync::Arc, time::Duration};
use xml::Element;

/// How long one attempt may take: a vCenter that hangs leaves time for another one.
const ATTEMPT: Duration = Duration::from_secs(20);

/// Requests at the same time. A vCenter answers all its users from few threads.
const IN_FLIGHT: usize = 8;

const SOAP_ACTION: HeaderName = HeaderName::from_static("soapaction");

/// What requests have in common.
#[derive(Clone)]
pub struct Caller {
    client: Client,
    /// Where the server is.
    url: Url,
}

/// One vCenter.
pub struct Api {
    /// Its configuration.
    pub config: VCenter,
    soap: Caller,
    session: Arc<Login<Soap>>,
    rest: Caller,
    rest_session: Arc<Login<Rest>>,
}

/// Where a virtual machine is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// In the whole inventory.
    Everywhere,
    /// In this datacenter.
    Datacenter(Reference),
}

impl Api {
    /// A vCenter that was not called yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the server or the certificates cannot be used.
    pub fn new(config: VCenter, gate: &Gate, metrics: &Metrics, throttles: &LoginThrottles) -> Result<Self> {
        let VCenter { server, port, .. } = &config;
        let host = if server.contains(':') && !server.starts_with('[') {
            format!("[{server}]")
        } else {
            server.clone()
        };
        let url: Url = format!("https://{host}:{port}/")
            .parse()
            .map_err(|_| Error::invalid("server", format!("{server:?} is not the host of a vCenter")))?;
        let client = Client::new(&http_config(&config), gate.clone(), metrics)?;
        let soap = Caller {
            client: client
                .clone()
                .recognising(soap::is_own)
                .expiring(soap::is_stale)
                .explaining(soap::explain),
            url: url.clone(),
        };
        let rest = Caller { client, url };
        let throttle = throttles.of((server, port, config.credentials.key()));
        let session = Login::new(Soap::new(&soap, &config), Arc::clone(&throttle));
        let rest_session = Login::new(Rest::new(&rest, &config), throttle);
        let (session, rest_session) = (Arc::new(session), Arc::new(rest_session));
        Ok(Self {
            soap: soap.authenticated(Credentials::new(Arc::clone(&session))),
            session,
            rest: rest.authenticated(Credentials::new(Arc::clone(&rest_session))),
            rest_session,
            config,
        })
    }

    /// Logs in, unless there is a session.
    ///
    /// # Errors
    /// [`Error::Denied`] if the vCenter refuses the user.
    pub async fn log_in(&self) -> Result<()> {
        self.session.current().await.map(drop)
    }

    /// Ends the sessions.
    pub async fn log_out(&self) {
        if let Some(session) = self.session.held() {
            session.end.send().await;
        }
        if let Some(session) = self.rest_session.held() {
            session.end.send().await;
        }
    }

    /// Waits until the vCenter refuses a login.
    pub async fn refused(&self) {
        self.session.refused().await;
    }

    /// The root of the inventory.
    pub(crate) async fn root(&self) -> Result<Reference> {
        Ok(self.session().await?.content.root.clone())
    }

    /// The virtual machines with this BIOS UUID.
    pub async fn find_all_by_uuid(&self, scope: &Scope, uuid: &str) -> Result<Vec<Reference>> {
        let arguments =
            scope.element() + &element("uuid", uuid) + "<vmSearch>true</vmSearch><instanceUuid>false</instanceUuid>";
        self.search("find_all_by_uuid", "FindAllByUuid", &arguments).await
    }

    /// The virtual machines whose guests have this host name.
    pub async fn find_all_by_dns_name(&self, scope: &Scope, name: &str) -> Result<Vec<Reference>> {
        let arguments = scope.element() + &element("dnsName", name) + "<vmSearch>true</vmSearch>";
        self.search("find_all_by_dns_name", "FindAllByDnsName", &arguments)
            .await
    }

    /// The virtual machine whose guest has this address.
    pub async fn find_by_ip(&self, scope: &Scope, address: &str) -> Result<Vec<Reference>> {
        let arguments = scope.element() + &element("ip", address) + "<vmSearch>true</vmSearch>";
        self.search("find_by_ip", "FindByIp", &arguments).await
    }

    async fn search(&self, operation: &'static str, method: &'static str, arguments: &str) -> Result<Vec<Reference>> {
        let session = self.session().await?;
        let found = self
            .soap
            .call(operation, method, &session.content.search_index, arguments)
            .await?;
        Ok(found.iter().filter_map(Reference::of).collect())
    }

    async fn session(&self) -> Result<Arc<Session>> {
        self.session.current().await
    }
}

impl Scope {
    fn element(&self) -> String {
        match self {
            Self::Everywhere => String::new(),
            Self::Datacenter(datacenter) => datacenter.element("datacenter"),
        }
    }
}

impl Caller {
    fn authenticated(self, credentials: Credentials) -> Self {
        Self {
            client: self.client.with_credentials(credentials),
            ..self
        }
    }

    /// Calls a method, and returns its values.
    async fn call(
        &self,
        operation: &'static str,
        method: &'static str,
        this: &Reference,
        arguments: &str,
    ) -> Result<Vec<Element>> {
        let request = self.request(operation, method, this, arguments);
        self.client
            .send_with(request, |response| soap::returned(method, response))
            .await
    }

    /// No method that is called changes anything.
    fn request(&self, operation: &'static str, method: &str, this: &Reference, arguments: &str) -> Request {
        Request::post(operation, &self.url)
            .path(["sdk"])
            .header(SOAP_ACTION, "urn:vim25/7.0")
            .bytes("text/xml; charset=\"utf-8\"", soap::request(method, this, arguments))
            .idempotency(Idempotency::Safe)
    }
}

fn http_config(config: &VCenter) -> Config {
    Config {
        trust: config.trust.clone(),
        attempt_timeout: Some(ATTEMPT),
        in_flight: Some(IN_FLIGHT),
        retries: Retries {
            attempts: config.attempts.max(1),
            ..Retries::default()
        },
        secret_names: vec!["cloneTicket".to_owned(), "vmware-api-session-id".to_owned()],
        ..Config::default()
    }
}
