//! What everything in Octavia has.

use super::versions::gate;
use crate::{state::Now, timestamp};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};
use uuid::Uuid;

/// What everything in Octavia has.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) id: Uuid,
    pub(crate) project: Arc<str>,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) tags: BTreeSet<String>,
    pub(crate) created: Timestamp,
    pub(crate) updated: Option<Timestamp>,
    pub(crate) provisioning: Provisioning,
    pub(crate) operating: Operating,
    pub(crate) admin_up: bool,
}

/// The state of the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioning {
    /// It has.
    Active,
    /// It is being created.
    PendingCreate,
    /// It is being changed.
    PendingUpdate,
    /// It is being removed.
    PendingDelete,
    /// It could not be done.
    Error,
    /// It is deleted.
    Deleted,
}

impl Provisioning {
    /// `ACTIVE`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::PendingCreate => "PENDING_CREATE",
            Self::PendingUpdate => "PENDING_UPDATE",
            Self::PendingDelete => "PENDING_DELETE",
            Self::Error => "ERROR",
            Self::Deleted => "DELETED",
        }
    }

    /// Whether something is under way.
    pub fn is_pending(self) -> bool {
        !matches!(self, Self::Active | Self::Error | Self::Deleted)
    }
}

/// Whether it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operating {
    /// It does.
    Online,
    /// It does not yet, or is switched off.
    Offline,
    /// There is no monitor.
    NoMonitor,
    /// It does not.
    Error,
}

impl Operating {
    /// `ONLINE`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Online => "ONLINE",
            Self::Offline => "OFFLINE",
            Self::NoMonitor => "NO_MONITOR",
            Self::Error => "ERROR",
        }
    }
}

impl Common {
    /// An object that is being created.
    pub(super) fn new(project: &Arc<str>, now: Now) -> Self {
        Self {
            id: Uuid::new_v4(),
            project: Arc::clone(project),
            name: String::new(),
            description: String::new(),
            tags: BTreeSet::new(),
            created: now.wall,
            updated: None,
            provisioning: Provisioning::PendingCreate,
            operating: Operating::Offline,
            admin_up: true,
        }
    }

    /// Is being changed from now on.
    pub(super) fn change(&mut self) {
        self.provisioning = Provisioning::PendingUpdate;
    }

    /// Puts it into a view that has all the rest, without what the version does not know.
    pub(super) fn complete(&self, mut view: Value, minor: u32) -> Value {
        if let Value::Object(fields) = &mut view {
            fields.insert("id".into(), json!(self.id));
            fields.insert("name".into(), json!(self.name));
            fields.insert("project_id".into(), json!(self.project));
            fields.insert("tenant_id".into(), json!(self.project));
            fields.insert("tags".into(), json!(self.tags));
            fields.insert("created_at".into(), json!(timestamp::bare(self.created)));
            fields.insert("updated_at".into(), json!(self.updated.map(timestamp::bare)));
            fields.insert("provisioning_status".into(), json!(self.provisioning.as_str()));
            fields.insert("operating_status".into(), json!(self.operating.as_str()));
            fields.insert("admin_state_up".into(), json!(self.admin_up));
        }
        gate(minor, view)
    }
}

/// References, as Octavia shows them.
pub(super) fn ids(all: impl IntoIterator<Item = Uuid>) -> Value {
    Value::Array(all.into_iter().map(|id| json!({"id": id})).collect())
}
