//! The instance types of servers: their flavors.

use crate::api::{
    Session,
    nova::{self, FlavorRef, Microversion, Server},
};
use cloud::{Error, Result};
use provider_kit::labels;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};
use tracing::debug;

/// Instance types by flavor, as far as they had to be read. A flavor never changes its name.
#[derive(Default)]
pub struct Flavors(Mutex<HashMap<FlavorRef, String>>);

impl Flavors {
    /// The instance type of a server: its flavor's name if that can be a label, otherwise its flavor's ID. If the flavor is
    /// deleted or private, it is the ID, if there is one.
    ///
    /// # Errors
    /// As Nova answers, if that may pass: a Node gets this label once, and would keep a wrong one.
    pub async fn instance_type(&self, session: &Session, server: &Server) -> Result<Option<String>> {
        let flavor = &server.flavor;
        if let Some(name) = flavor.original_name.as_deref().filter(|name| usable(name)) {
            return Ok(Some(name.to_owned()));
        }
        if let Some(known) = self.known(flavor) {
            return Ok(Some(known));
        }
        let asked = match &flavor.id {
            Some(id) => name(session, id).await,
            None => id(session, server).await,
        };
        match unless_hidden(asked)? {
            Some(kind) => {
                self.learn(flavor, &kind);
                Ok(Some(kind))
            }
            None => Ok(flavor.id.clone()),
        }
    }

    fn known(&self, flavor: &FlavorRef) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(flavor).cloned()
    }

    fn learn(&self, flavor: &FlavorRef, kind: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(flavor.clone(), kind.to_owned());
    }
}

fn usable(name: &str) -> bool {
    !name.is_empty() && labels::is_valid(name)
}

/// The name of a flavor, or its ID if the name cannot be a label.
async fn name(session: &Session, id: &str) -> Result<Option<String>> {
    let flavor = nova::flavor(session, id).await?;
    Ok(flavor.map(|flavor| if usable(&flavor.name) { flavor.name } else { flavor.id }))
}

/// The ID of a server's flavor, which a server has only in the base version.
async fn id(session: &Session, server: &Server) -> Result<Option<String>> {
    let server = nova::server(session, &server.id, Microversion::Base).await?;
    Ok(server.and_then(|server| server.flavor.id))
}

/// A flavor that this user may not read counts as one that does not exist.
fn unless_hidden(asked: Result<Option<String>>) -> Result<Option<String>> {
    match asked {
        Err(error @ (Error::Denied { .. } | Error::Invalid { .. })) => {
            debug!(error = error.report(), "cannot get flavor");
            Ok(None)
        }
        asked => asked,
    }
}
