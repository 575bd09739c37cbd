//! The calls that every kind of object has: list, show, create, change, delete. Each kind implements what differs.

use super::{Common, Context, Octavia, Provisioning, body, list::List, missing};
use crate::exchange::{Fields, Outcome, Response, select, unknown};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

/// A kind of object in Octavia.
pub(super) trait Resource: Sized + 'static {
    /// `pool`
    const ONE: &'static str;
    /// `pools`
    const MANY: &'static str;
    /// `Pool`, in sentences.
    const NAME: &'static str;
    /// `pool_`: its name in Octavia's code, which is in error messages.
    const ARGUMENT: &'static str;
    /// What its quota is called.
    const QUOTA: &'static str = Self::ONE;
    /// What it can be filtered by, besides what everything can.
    const FILTERS: &'static [&'static str];
    /// The attributes of every request.
    const KNOWN: &'static [&'static str];
    /// The attributes that only a creation may have.
    const AT_BIRTH: &'static [&'static str];

    // These four are the same text for every kind: `kept_in!` writes it.
    fn all(octavia: &Octavia) -> &BTreeMap<Uuid, Self>;
    fn all_mut(octavia: &mut Octavia) -> &mut BTreeMap<Uuid, Self>;
    fn common(&self) -> &Common;
    fn common_mut(&mut self) -> &mut Common;

    /// As it is shown.
    fn view(&self, octavia: &Octavia, minor: u32) -> Value;

    /// Creates one as requested, if it is valid and no change is under way.
    fn create(octavia: &mut Octavia, context: &mut Context<'_>, fields: &Fields) -> Result<Uuid, Response>;

    /// Changes an existing one, if that is valid and no change is under way.
    fn update(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response>;

    /// Begins the change of everything that is busy while one is deleted.
    fn begin_deletion(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid) -> Result<(), Response>;

    /// The attributes of a creation, and of a change.
    fn known(when: When) -> Vec<&'static str> {
        match when {
            When::AtBirth => [Self::KNOWN, Self::AT_BIRTH].concat(),
            When::Later => Self::KNOWN.to_vec(),
        }
    }

    /// Whether it is at the path of the request.
    fn is_at(&self, _context: &Context<'_>) -> bool {
        true
    }

    /// As the answer to its creation shows it.
    fn newborn(&self, octavia: &Octavia, minor: u32) -> Value {
        self.view(octavia, minor)
    }

    /// What only this kind can do; `None` is what all do.
    fn own(_octavia: &mut Octavia, _context: &mut Context<'_>, _method: &str, _path: &[&str]) -> Option<Outcome> {
        None
    }
}

/// The kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    AtBirth,
    Later,
}

/// Where a kind is kept: what [`Resource`] wants to know of its fields.
macro_rules! kept_in {
    ($all:ident) => {
        fn all(octavia: &$crate::octavia::Octavia) -> &std::collections::BTreeMap<uuid::Uuid, Self> {
            &octavia.$all
        }

        fn all_mut(octavia: &mut $crate::octavia::Octavia) -> &mut std::collections::BTreeMap<uuid::Uuid, Self> {
            &mut octavia.$all
        }

        fn common(&self) -> &$crate::octavia::Common {
            &self.common
        }

        fn common_mut(&mut self) -> &mut $crate::octavia::Common {
            &mut self.common
        }
    };
}
pub(super) use kept_in;

/// Answers a request about one kind; the path is what comes after its name.
pub(super) fn answer<R: Resource>(
    octavia: &mut Octavia,
    context: &mut Context<'_>,
    method: &str,
    path: &[&str],
) -> Outcome {
    if let Some(outcome) = R::own(octavia, context, method, path) {
        return outcome;
    }
    match (method, path) {
        ("GET", []) => list::<R>(octavia, context),
        ("GET", [id]) => {
            let id = octavia.find::<R>(id, context)?.common().id;
            Ok(shown::<R>(octavia, context, id))
        }
        ("POST", []) => create::<R>(octavia, context),
        ("PUT", [id]) => update::<R>(octavia, context, id),
        ("DELETE", [id]) => delete::<R>(octavia, context, id),
        _ => Err(unknown(context.ask)),
    }
}

impl Octavia {
    /// One that the caller may know of.
    pub(super) fn find<R: Resource>(&self, id: &str, context: &Context<'_>) -> Result<&R, Response> {
        let found = Uuid::parse_str(id).ok().and_then(|id| R::all(self).get(&id));
        found
            .filter(|one| context.ask.caller.sees(&one.common().project) && one.is_at(context))
            .ok_or_else(|| missing(R::NAME, id))
    }

    /// Keeps a new one.
    pub(super) fn keep<R: Resource>(&mut self, one: R) -> Uuid {
        let id = one.common().id;
        R::all_mut(self).insert(id, one);
        id
    }
}

impl Context<'_> {
    /// Refuses so many more of a kind, if there are enough.
    pub(super) fn room_for<R: Resource>(&self, octavia: &Octavia, more: usize) -> Result<(), Response> {
        self.quota(R::QUOTA, R::NAME, R::all(octavia).values().map(R::common), more)
    }
}

fn list<R: Resource>(octavia: &Octavia, context: &Context<'_>) -> Outcome {
    let list = List {
        many: R::MANY,
        filters: R::FILTERS,
        limit: context.settings.octavia_page,
    };
    let minor = context.settings.octavia_minor;
    let here = R::all(octavia).values().filter(|one| one.is_at(context));
    let rows = here.map(|one| (one.common(), one.view(octavia, minor)));
    list.answer(context.ask, rows.collect())
}

fn shown<R: Resource>(octavia: &Octavia, context: &Context<'_>, id: Uuid) -> Response {
    let view = R::all(octavia)[&id].view(octavia, context.settings.octavia_minor);
    Response::ok(json!({R::ONE: select(view, context.ask)}))
}

fn create<R: Resource>(octavia: &mut Octavia, context: &mut Context<'_>) -> Outcome {
    let fields = fields_of::<R>(context, When::AtBirth)?;
    let id = R::create(octavia, context, &fields)?;
    let view = R::all(octavia)[&id].newborn(octavia, context.settings.octavia_minor);
    Ok(Response::json(201, json!({R::ONE: view})))
}

fn update<R: Resource>(octavia: &mut Octavia, context: &mut Context<'_>, id: &str) -> Outcome {
    let fields = fields_of::<R>(context, When::Later)?;
    let id = octavia.find::<R>(id, context)?.common().id;
    R::update(octavia, context, id, &fields)?;
    Ok(shown::<R>(octavia, context, id))
}

fn delete<R: Resource>(octavia: &mut Octavia, context: &mut Context<'_>, id: &str) -> Outcome {
    let id = octavia.find::<R>(id, context)?.common().id;
    R::begin_deletion(octavia, context, id)?;
    if let Some(one) = R::all_mut(octavia).get_mut(&id) {
        one.common_mut().provisioning = Provisioning::PendingDelete;
    }
    Ok(Response::empty(204))
}

fn fields_of<R: Resource>(context: &Context<'_>, when: When) -> Result<Fields, Response> {
    let minor = context.settings.octavia_minor;
    body::object(context.ask, R::ARGUMENT, R::ONE, &R::known(when), minor)
}
