//! What a run would change, without changing it.

use super::{
    api::{Call, Mode},
    apply::{prune, recreate},
    diff::{self, Step, compare},
    engine::{Engine, Uncached, owned_by_other},
    fields, kinds, owners,
    report::{Class, Failure, Operation},
    text,
};
use crate::{Key, Object};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What a run would change.
#[derive(Debug, Clone, Default)]
pub struct Preview {
    /// The differences, as `kubectl diff` prints them; empty if nothing would change.
    pub text: String,
    /// Writes that the server would refuse.
    pub failures: Vec<Failure>,
}

impl Engine {
    /// The changes that [`converge`](Self::converge) would make. They come from dry runs of the server, which
    /// writes nothing.
    pub async fn preview(&self, desired: &[Object], inventory: &[Key]) -> Preview {
        let mut preview = Preview::default();
        let mut sorted: Vec<_> = desired.iter().collect();
        sorted.sort_by_key(|object| kinds::get(object.key()).map(|kind| kind.rank).ok());
        let wanted: BTreeSet<_> = desired.iter().map(Object::key).collect();
        for object in sorted {
            preview.add(self.preview_write(object, &wanted).await);
        }
        let unwanted: BTreeSet<_> = inventory.iter().filter(|key| !wanted.contains(key)).collect();
        for key in unwanted
            .into_iter()
            .filter(|key| kinds::get(key).is_ok() && key.kind != "Namespace")
        {
            preview.add(self.preview_prune(key).await);
        }
        preview
    }

    async fn preview_write(&self, object: &Object, all: &BTreeSet<&Key>) -> Result<String, Failure> {
        let (key, wanted) = (object.key(), diff::wanted(object));
        let live = self.current(key, &Uncached).await?;
        let call = |operation| Call::new(&self.client, key, operation);
        let merged = match (compare(object, live.as_deref()), live.as_deref()) {
            (Step::Keep, _) => return Ok(String::new()),
            (Step::Leave { owner }, _) => return Err(owned_by_other(key, &owner)),
            (Step::Create, _) | (_, None) => match call(Operation::Create).apply(&wanted, Mode::DryRun).await {
                Err(failure) if waits_for_its_role(&failure, &wanted, all) => wanted,
                created => created?,
            },
            (Step::Apply { .. }, _) => call(Operation::Update).apply(&wanted, Mode::DryRun).await?,
            (Step::Repair { .. }, Some(live)) => repaired(&call(Operation::Update), &wanted, live).await?,
            (Step::Recreate { .. }, _) => recreated(&call(Operation::Recreate), &wanted).await?,
        };
        Ok(text::diff(key, live.as_deref(), Some(&merged)))
    }

    async fn preview_prune(&self, key: &Key) -> Result<String, Failure> {
        let live = self.current(key, &Uncached).await?;
        let goes = |live: &Value| {
            let stays = prune::belongs_elsewhere(live, self.owner);
            owners::is_ours(live) && !stays && live["metadata"].get("deletionTimestamp").is_none()
        };
        let live = live.filter(|live| goes(live));
        Ok(text::diff(key, live.as_deref(), None))
    }
}

impl Preview {
    fn add(&mut self, result: Result<String, Failure>) {
        match result {
            Ok(text) => self.text += &text,
            Err(failure) => self.failures.push(failure),
        }
    }
}

/// Whether a binding is refused only because its role would be created in the same run: the server checks that the role exists, and a dry run
/// does not create it.
fn waits_for_its_role(failure: &Failure, wanted: &Value, all: &BTreeSet<&Key>) -> bool {
    let role = |key: &Key| {
        let reference = &wanted["roleRef"];
        reference["kind"] == key.kind.as_str() && reference["name"] == key.name.as_str()
    };
    failure.class == Class::Refused && failure.reason.ends_with("not found") && all.iter().any(|key| role(key))
}

/// A repair consists of two writes, and the second one needs the result of the first. So the fields are removed here, and
/// the server only adds its defaults.
async fn repaired(call: &Call<'_>, wanted: &Value, live: &Value) -> Result<Value, Failure> {
    let mut merged = match call.apply(wanted, Mode::DryRun).await {
        // In combination with fields of another program ours may be invalid: two ports of one name.
        Err(failure) if failure.class == Class::Refused => overlaid(live, wanted),
        merged => merged?,
    };
    for set in owners::taken(live, &diff::left_alone(wanted)) {
        fields::remove_beyond(&set, wanted, &mut merged, &|path| {
            path.first().is_some_and(|part| part == "status")
        });
    }
    let mut changes = changes(live, &merged);
    if let Some(metadata) = changes.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| name == "labels" || name == "annotations");
    }
    call.try_merge(&changes).await
}

/// An object with all fields of another one; lists are replaced, not merged.
fn overlaid(under: &Value, over: &Value) -> Value {
    let (Some(old), Some(new)) = (under.as_object(), over.as_object()) else {
        return over.clone();
    };
    let mut all = old.clone();
    for (name, value) in new {
        let both = old.get(name).map_or_else(|| value.clone(), |old| overlaid(old, value));
        all.insert(name.clone(), both);
    }
    Value::Object(all)
}

async fn recreated(call: &Call<'_>, wanted: &Value) -> Result<Value, Failure> {
    let mut merged = call.apply(&recreate::rehearsal(wanted), Mode::DryRun).await?;
    merged["metadata"]["name"] = wanted["metadata"]["name"].clone();
    Ok(merged)
}

/// The merge patch that changes one object into another.
fn changes(from: &Value, to: &Value) -> Value {
    let (Some(old), Some(new)) = (from.as_object(), to.as_object()) else {
        return to.clone();
    };
    let mut patch = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in new.iter().filter(|(name, value)| old.get(*name) != Some(value)) {
        let change = old.get(name).map_or_else(|| value.clone(), |old| changes(old, value));
        patch.insert(name.clone(), change);
    }
    Value::Object(patch)
}
