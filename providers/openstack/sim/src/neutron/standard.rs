//! What all resources of Neutron have.

use crate::{clock, exchange::Answer, keystone::Caller};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};
use uuid::Uuid;

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

/// A kind of thing that Neutron has.
pub(super) trait Resource {
    /// `ports`
    const MANY: &'static str;
    /// What it can be filtered by, besides what everything can.
    const FILTERS: &'static [&'static str];

    fn id(&self) -> Uuid;
    fn standard(&self) -> &Standard;
    fn standard_mut(&mut self) -> &mut Standard;

    /// What is said when there is none.
    fn missing(id: &str) -> Answer;

    /// Whether somebody may know of it.
    fn visible(&self, caller: &Caller) -> bool {
        caller.sees(&self.standard().project)
    }
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
            fields.insert("created_at".into(), json!(clock::seconds(self.created)));
            fields.insert("updated_at".into(), json!(clock::seconds(self.updated)));
            fields.insert("revision_number".into(), json!(self.revision));
        }
        view
    }
}
