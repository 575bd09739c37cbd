//! How servers are read from Nova, one by one and in lists.

use super::name_filter;
use crate::api::{
    Session,
    nova::{self, Microversion, Server},
};
use async_trait::async_trait;
use cloud::{Error, Result};
use cloud_http::{Failure, http::StatusCode};
use provider_kit::batch::{Lookup, Object};
use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

/// Nova's servers through one connection.
#[derive(Clone)]
pub struct Servers {
    session: Session,
    /// The newest version that Nova is known to accept.
    version: Arc<Mutex<Microversion>>,
}

impl Object for Server {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }
}

#[async_trait]
impl Lookup for Servers {
    type Object = Server;

    const KIND: &'static str = "server";

    /// Nova's default.
    const PAGE: usize = 1000;

    async fn by_id(&self, id: &str) -> Result<Option<Server>> {
        self.negotiate(|version| nova::server(&self.session, id, version)).await
    }

    async fn by_name(&self, names: &[&str]) -> Result<Vec<Server>> {
        let names = name_filter::expression(names);
        self.negotiate(|version| nova::servers(&self.session, Some(&names), version))
            .await
    }

    async fn all(&self) -> Result<Vec<Server>> {
        self.negotiate(|version| nova::servers(&self.session, None, version))
            .await
    }

    fn groups<'a>(names: &'a BTreeSet<Cow<'a, str>>) -> Vec<Vec<&'a str>> {
        name_filter::groups(names.iter().map(|name| &**name))
    }
}

impl Servers {
    /// Reads through this session.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            version: Arc::new(Mutex::new(Microversion::FlavorNames)),
        }
    }

    /// Calls Nova in the newer version, and from the first refusal on in the base version.
    async fn negotiate<T, F: Future<Output = Result<T>>>(&self, call: impl Fn(Microversion) -> F) -> Result<T> {
        let version = *self.version.lock().unwrap_or_else(PoisonError::into_inner);
        match call(version).await {
            Err(error) if version != Microversion::Base && is_unacceptable(&error) => {
                *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Microversion::Base;
                call(Microversion::Base).await
            }
            answer => answer,
        }
    }
}

fn is_unacceptable(error: &Error) -> bool {
    Failure::of(error).is_some_and(|failure| failure.status() == StatusCode::NOT_ACCEPTABLE)
}
