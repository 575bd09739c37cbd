//! The calls that every kind of object has: list, show, create, change, delete. Each kind implements what differs.

use super::{Context, Neutron, Standard, body, list::List};
use crate::{
    exchange::{Fields, Outcome, Response, select, unknown},
    keystone::Caller,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

/// A kind of object in Neutron.
pub(super) trait Resource: Sized + 'static {
    /// `port`
    const ONE: &'static str;
    /// `ports`
    const MANY: &'static str;
    /// What it can be filtered by, besides what everything can.
    const FILTERS: &'static [&'static str];
    /// Its attributes.
    const KNOWN: &'static [&'static str];

    // These five are the same text for every kind: `kept_in!` writes it.
    fn all(neutron: &Neutron) -> &BTreeMap<Uuid, Self>;
    fn all_mut(neutron: &mut Neutron) -> &mut BTreeMap<Uuid, Self>;
    fn id(&self) -> Uuid;
    fn standard(&self) -> &Standard;
    fn standard_mut(&mut self) -> &mut Standard;

    /// The error if it does not exist.
    fn missing(id: &str) -> Response;

    /// As it is shown.
    fn view(&self, neutron: &Neutron, context: &Context<'_>) -> Value;

    /// Creates one as requested, if it is valid.
    fn create(neutron: &mut Neutron, context: &Context<'_>, fields: &Fields) -> Result<Uuid, Response>;

    /// Whether a user may see it.
    fn visible(&self, caller: &Caller) -> bool {
        caller.sees(&self.standard().project)
    }

    /// As a list shows it.
    fn row(&self, neutron: &Neutron, context: &Context<'_>) -> Value {
        self.view(neutron, context)
    }

    /// What the answer to its creation shows differently.
    fn newborn(_view: &mut Value) {}

    /// What happens before one, or all, are read.
    fn before_look(_neutron: &mut Neutron, _context: &Context<'_>, _which: Option<Uuid>) {}

    /// The objects of a list, in the order of their IDs, and the filters that were applied already.
    fn candidates<'a>(neutron: &'a Neutron, _context: &Context<'_>) -> (Vec<&'a Self>, &'static [&'static str]) {
        (Self::all(neutron).values().collect(), &[])
    }

    /// Changes an existing one that may be changed.
    fn update(neutron: &mut Neutron, context: &Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
        if let Some(one) = Self::all_mut(neutron).get_mut(&id) {
            one.standard_mut().take_over(fields);
            one.standard_mut().touch(context.now.wall);
        }
        Ok(())
    }

    /// Deletes an existing one, if that is allowed.
    fn delete(neutron: &mut Neutron, _context: &Context<'_>, id: Uuid) -> Result<(), Response> {
        Self::all_mut(neutron).remove(&id);
        Ok(())
    }

    /// What only this kind can do, and what it does otherwise; `None` is what all do.
    fn own(_neutron: &mut Neutron, _context: &Context<'_>, _method: &str, _path: &[&str]) -> Option<Outcome> {
        None
    }
}

/// Where a kind is kept: what [`Resource`] wants to know of its fields.
macro_rules! kept_in {
    ($all:ident) => {
        fn all(neutron: &$crate::neutron::Neutron) -> &std::collections::BTreeMap<uuid::Uuid, Self> {
            &neutron.$all
        }

        fn all_mut(neutron: &mut $crate::neutron::Neutron) -> &mut std::collections::BTreeMap<uuid::Uuid, Self> {
            &mut neutron.$all
        }

        fn id(&self) -> uuid::Uuid {
            self.id
        }

        fn standard(&self) -> &$crate::neutron::Standard {
            &self.standard
        }

        fn standard_mut(&mut self) -> &mut $crate::neutron::Standard {
            &mut self.standard
        }
    };
}
pub(super) use kept_in;

/// Answers a request about one kind; the path is what comes after its name.
pub(super) fn answer<R: Resource>(
    neutron: &mut Neutron,
    context: &Context<'_>,
    method: &str,
    path: &[&str],
) -> Outcome {
    if let Some(outcome) = R::own(neutron, context, method, path) {
        return outcome;
    }
    match (method, path) {
        ("GET", []) => list::<R>(neutron, context),
        ("GET", [id]) => show::<R>(neutron, context, id),
        ("POST", []) => create::<R>(neutron, context),
        ("PUT", [id]) => update::<R>(neutron, context, id),
        ("DELETE", [id]) => delete::<R>(neutron, context, id),
        _ => Err(unknown(context.ask)),
    }
}

impl Neutron {
    /// One that the user may see.
    pub(super) fn find<R: Resource>(&self, id: &str, caller: &Caller) -> Result<&R, Response> {
        let found = Uuid::parse_str(id).ok().and_then(|id| R::all(self).get(&id));
        found.filter(|one| one.visible(caller)).ok_or_else(|| R::missing(id))
    }

    /// The same, to be changed.
    pub(super) fn find_mut<R: Resource>(&mut self, id: &str, caller: &Caller) -> Result<&mut R, Response> {
        let found = Uuid::parse_str(id).ok().and_then(|id| R::all_mut(self).get_mut(&id));
        found.filter(|one| one.visible(caller)).ok_or_else(|| R::missing(id))
    }
}

impl Context<'_> {
    /// Refuses so many more of a kind, if there are enough.
    pub(super) fn room_for<R: Resource>(&self, neutron: &Neutron, more: usize) -> Result<(), Response> {
        self.quota(R::ONE, R::all(neutron).values().map(R::standard), more)
    }
}

fn list<R: Resource>(neutron: &mut Neutron, context: &Context<'_>) -> Outcome {
    R::before_look(neutron, context, None);
    let (rows, passed) = R::candidates(neutron, context);
    let limit = context.settings.neutron_page;
    let list = List { rows, passed, limit };
    list.answer(context.ask, |one: &R| one.row(neutron, context))
}

fn show<R: Resource>(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let id = neutron.find::<R>(id, &context.ask.caller)?.id();
    R::before_look(neutron, context, Some(id));
    Ok(shown::<R>(neutron, context, id))
}

fn shown<R: Resource>(neutron: &Neutron, context: &Context<'_>, id: Uuid) -> Response {
    let view = R::all(neutron)[&id].view(neutron, context);
    Response::ok(json!({R::ONE: select(view, context.ask)}))
}

fn create<R: Resource>(neutron: &mut Neutron, context: &Context<'_>) -> Outcome {
    let fields = body::resource(context.ask, R::ONE, R::KNOWN)?;
    let id = R::create(neutron, context, &fields)?;
    let mut view = R::all(neutron)[&id].view(neutron, context);
    R::newborn(&mut view);
    Ok(Response::json(201, json!({R::ONE: view})))
}

fn update<R: Resource>(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let fields = body::resource(context.ask, R::ONE, R::KNOWN)?;
    let found = neutron.find::<R>(id, &context.ask.caller)?;
    context.guard(found.standard())?;
    let id = found.id();
    R::update(neutron, context, id, &fields)?;
    Ok(shown::<R>(neutron, context, id))
}

fn delete<R: Resource>(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let found = neutron.find::<R>(id, &context.ask.caller)?;
    context.guard(found.standard())?;
    let id = found.id();
    R::delete(neutron, context, id)?;
    Ok(Response::empty(204))
}
