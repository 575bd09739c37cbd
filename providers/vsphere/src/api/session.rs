//! Sessions at a vCenter: one for SOAP and one for REST, each opened when it is first needed.
//!
//! A vCenter has 2,000 sessions for all its users, so each is ended: by the vCenter after half an hour without a call, or by a logout when it
//! is replaced, or when the process ends.

use super::{
    Caller,
    soap::{Reference, element},
};
use crate::config::{Credentials, VCenter};
use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use cloud::{Error, Result};
use cloud_http::{
    Client, Failure, Idempotency, Request, Response, Url,
    bytes::Bytes,
    http::{
        self, HeaderValue,
        header::{AUTHORIZATION, COOKIE, HeaderName, SET_COOKIE},
    },
    login::{Grant, LogIn},
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};
use tokio::runtime::Handle;
use tracing::{debug, info};

const SESSION: [&str; 5] = ["rest", "com", "vmware", "cis", "session"];
const SESSION_ID: HeaderName = HeaderName::from_static("vmware-api-session-id");

/// A vCenter that refuses a user.
#[derive(Debug, thiserror::Error)]
#[error("vCenter {server} refuses {user}")]
struct Refused {
    server: String,
    user: String,
    source: Option<Failure>,
}

/// A session.
pub struct Session {
    /// The objects that calls go to.
    pub content: Content,
    cookie: HeaderValue,
    /// How it ends.
    pub end: Logout,
}

/// The objects that calls go to.
pub struct Content {
    /// The root of the inventory.
    pub root: Reference,
    /// It finds machines by what they are known by.
    pub search_index: Reference,
    /// It reads properties of objects.
    pub property_collector: Reference,
    session_manager: Reference,
}

/// A session of the REST API.
pub struct RestSession {
    id: HeaderValue,
    /// How it ends.
    pub end: Logout,
}

/// Ends a session, once: when it is told to, or when nobody uses the session any more.
pub struct Logout {
    client: Client,
    request: Mutex<Option<Request>>,
}

impl Logout {
    fn new(client: &Client, request: Request) -> Self {
        Self {
            client: client.clone(),
            request: Mutex::new(Some(request)),
        }
    }

    /// Ends the session. One that cannot be ended is ended by the vCenter, after half an hour.
    pub async fn send(&self) {
        if let Some(request) = self.take() {
            end(&self.client, request).await;
        }
    }

    fn take(&self) -> Option<Request> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Logout {
    /// In the background: a session is replaced in the middle of another call.
    fn drop(&mut self) {
        if let (Some(request), Ok(runtime)) = (self.take(), Handle::try_current()) {
            let client = self.client.clone();
            runtime.spawn(async move { end(&client, request).await });
        }
    }
}

async fn end(client: &Client, request: Request) {
    if let Err(error) = client.send(request).await {
        debug!(error = error.report(), "the session was not ended: it may have expired");
    }
}

/// Logs in to the SOAP API.
pub struct Soap {
    caller: Caller,
    config: VCenter,
}

impl Soap {
    pub(super) fn new(caller: &Caller, config: &VCenter) -> Self {
        Self {
            caller: caller.clone(),
            config: config.clone(),
        }
    }

    async fn content(&self) -> Result<Content> {
        let this = Reference::new("ServiceInstance", "ServiceInstance");
        let values = self
            .caller
            .call("retrieve_service_content", "RetrieveServiceContent", &this, "")
            .await?;
        let content = values.into_iter().next().unwrap_or_default();
        let object = |name: &str| {
            let object = content.child(name).and_then(Reference::of);
            object.ok_or_else(|| {
                let server = &self.config.server;
                Error::unavailable(
                    "retrieve service content",
                    format!("{server} is no vCenter: it has no {name}"),
                )
            })
        };
        Ok(Content {
            root: object("rootFolder")?,
            search_index: object("searchIndex")?,
            property_collector: object("propertyCollector")?,
            session_manager: object("sessionManager")?,
        })
    }

    /// The method that logs in, and its arguments.
    async fn method(&self) -> Result<(&'static str, String)> {
        match &self.config.credentials {
            Credentials::Missing(why) => Err(Error::denied("log in", why.clone())),
            Credentials::Password { user, .. } if user.trim_start().starts_with("-----BEGIN") => Err(Error::denied(
                "log in",
                "a certificate as the user is not supported: write a user and a password",
            )),
            Credentials::Password { user, password } => Ok((
                "Login",
                element("userName", user) + &element("password", password.expose_secret()),
            )),
            Credentials::Shared { url, token } => {
                let ticket = self.ticket(url, token).await?;
                Ok(("CloneSession", element("cloneTicket", ticket.expose_secret())))
            }
        }
    }

    /// A ticket for a clone of the session of another program.
    async fn ticket(&self, url: &str, token: &SecretString) -> Result<SecretString> {
        #[derive(Deserialize)]
        struct Ticket {
            token: SecretString,
        }
        let at: Url = url
            .parse()
            .map_err(|_| Error::invalid("vc-session-manager-url", format!("{url:?} is not a URL")))?;
        let bearer = SecretString::from(format!("Bearer {}", token.expose_secret()));
        let request = Request::get("get_session_ticket", &at).secret_header(AUTHORIZATION, &bearer);
        let ticket: Ticket = self.caller.client.send_json(request).await?;
        Ok(ticket.token)
    }

    fn explain(&self, error: Error) -> Error {
        let Error::Denied { call, .. } = &error else {
            return error;
        };
        let refused = Refused {
            server: self.config.server.clone(),
            user: self.config.credentials.user().to_owned(),
            source: Failure::of(&error).cloned(),
        };
        Error::denied(call.clone(), refused)
    }
}

#[async_trait]
impl LogIn for Soap {
    type Credential = Session;

    async fn log_in(&self) -> Result<Grant<Session>> {
        let (method, arguments) = self.method().await?;
        let content = self.content().await?;
        let request = self
            .caller
            .request("log_in", method, &content.session_manager, &arguments);
        let response = self
            .caller
            .client
            .send(request)
            .await
            .map_err(|error| self.explain(error))?;
        let cookie = cookie(&response)?;
        let logout = self.caller.request("log_out", "Logout", &content.session_manager, "");
        let end = Logout::new(&self.caller.client, logout.secret_header(COOKIE, &cookie));
        info!(
            server = self.config.server,
            user = self.config.credentials.user(),
            "logged in to vCenter"
        );
        Ok(Grant {
            credential: Session {
                cookie: secret(&cookie)?,
                end,
                content,
            },
            // It lasts for as long as it is used.
            lifetime: None,
        })
    }

    fn authorize(&self, session: &Session, request: &mut http::Request<Bytes>) -> Result<()> {
        request.headers_mut().insert(COOKIE, session.cookie.clone());
        Ok(())
    }
}

/// The cookie of the session: name and value.
fn cookie(response: &Response) -> Result<SecretString> {
    let cookie = response
        .header(SET_COOKIE.as_str())
        .and_then(|cookie| cookie.split(';').next());
    let cookie = cookie.filter(|cookie| cookie.contains('='));
    let cookie = cookie.ok_or_else(|| Error::unavailable("log in", "the answer has no session"))?;
    Ok(SecretString::from(cookie.to_owned()))
}

fn secret(text: &SecretString) -> Result<HeaderValue> {
    let value = HeaderValue::from_str(text.expose_secret());
    let mut value =
        value.map_err(|_| Error::unavailable("log in", "the session has characters that no header may have"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Logs in to the REST API.
pub struct Rest {
    caller: Caller,
    config: VCenter,
}

impl Rest {
    pub(super) fn new(caller: &Caller, config: &VCenter) -> Self {
        Self {
            caller: caller.clone(),
            config: config.clone(),
        }
    }
}

#[async_trait]
impl LogIn for Rest {
    type Credential = RestSession;

    async fn log_in(&self) -> Result<Grant<RestSession>> {
        #[derive(Deserialize)]
        struct Opened {
            value: SecretString,
        }
        let Credentials::Password { user, password } = &self.config.credentials else {
            return Err(Error::denied("log in for tags", "zones need a user and a password"));
        };
        let basic = STANDARD.encode(format!("{user}:{}", password.expose_secret()));
        let request = Request::post("log_in_for_tags", &self.caller.url)
            .path(SESSION)
            .secret_header(AUTHORIZATION, &SecretString::from(format!("Basic {basic}")))
            .idempotency(Idempotency::Safe);
        let Opened { value } = self.caller.client.send_json(request).await?;
        let logout = Request::delete("log_out_for_tags", &self.caller.url)
            .path(SESSION)
            .secret_header(SESSION_ID, &value)
            .idempotency(Idempotency::Safe);
        Ok(Grant {
            credential: RestSession {
                id: secret(&value)?,
                end: Logout::new(&self.caller.client, logout),
            },
            lifetime: None,
        })
    }

    fn authorize(&self, session: &RestSession, request: &mut http::Request<Bytes>) -> Result<()> {
        request.headers_mut().insert(SESSION_ID, session.id.clone());
        Ok(())
    }
}
