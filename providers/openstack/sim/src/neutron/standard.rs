//! What all resources of Neutron have.

use super::body;
use crate::{exchange::Fields, timestamp};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

/// What all resources have.
#[derive(Debug, Clone)]
pub(crate) struct Standard {
    pub(crate) name: Box<str>,
    pub(crate) description: Box<str>,
    pub(crate) project: Arc<str>,
    pub(crate) tags: BTreeSet<String>,
    pub(crate) created: Timestamp,
    pub(crate) updated: Timestamp,
    pub(crate) revision: u32,
}

impl Standard {
    pub(crate) fn new(project: &Arc<str>, name: &str, now: Timestamp) -> Self {
        Self {
            name: name.into(),
            description: "".into(),
            project: Arc::clone(project),
            tags: BTreeSet::new(),
            created: now,
            updated: now,
            revision: 1,
        }
    }

    /// The values in a request.
    pub(super) fn of(project: &Arc<str>, fields: &Fields, now: Timestamp) -> Self {
        let mut standard = Self::new(project, body::text(fields, "name").unwrap_or_default(), now);
        standard.description = body::text(fields, "description").unwrap_or_default().into();
        standard
    }

    /// Applies the values in a request.
    pub(super) fn take_over(&mut self, fields: &Fields) {
        if let Some(name) = body::text(fields, "name") {
            self.name = name.into();
        }
        if let Some(description) = body::text(fields, "description") {
            self.description = description.into();
        }
    }

    #[must_use]
    pub(super) fn revision(mut self, revision: u32) -> Self {
        self.revision = revision;
        self
    }

    /// Something about it was changed.
    pub(crate) fn touch(&mut self, now: Timestamp) {
        self.updated = now;
        self.revision += 1;
    }

    /// Puts it into a view that has all the rest.
    pub(super) fn complete(&self, mut view: Value) -> Value {
        if let Value::Object(fields) = &mut view {
            fields.insert("name".into(), json!(self.name));
            fields.insert("description".into(), json!(self.description));
            fields.insert("project_id".into(), json!(self.project));
            fields.insert("tenant_id".into(), json!(self.project));
            fields.insert("tags".into(), json!(self.tags));
            fields.insert("created_at".into(), json!(timestamp::seconds(self.created)));
            fields.insert("updated_at".into(), json!(timestamp::seconds(self.updated)));
            fields.insert("revision_number".into(), json!(self.revision));
        }
        view
    }
}
