//! The extensions of Neutron.

use crate::api::{Call, Resource, Service, Session};
use cloud::Result;
use serde::Deserialize;
use std::collections::BTreeSet;

/// The aliases of all extensions, like `extraroute-atomic`.
pub type Extensions = BTreeSet<String>;

/// `GET /extensions`
pub async fn extensions(session: &Session) -> Result<Extensions> {
    let call = Call::get(Service::Network, "network_extension_list", ["extensions"]);
    let list: Vec<Extension> = session.list(call).await?;
    Ok(list.into_iter().map(|extension| extension.alias).collect())
}

#[derive(Deserialize)]
struct Extension {
    alias: String,
}

impl Resource for Extension {
    const ONE: &'static str = "extension";
    const ALL: &'static str = "extensions";
}
