//! Tags of objects in the inventory.

use super::{Api, soap::Reference};
use cloud::{Error, Result};
use cloud_http::{Idempotency, Request};
use provider_kit::{Fresh, concurrently};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

/// How long names of tags and categories are kept: they change rarely.
const NAMES_LAST: Duration = Duration::from_mins(10);

const TAGGING: [&str; 5] = ["rest", "com", "vmware", "cis", "tagging"];

/// How many objects one call has.
const MOST_OBJECTS: usize = 500;

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// The name of its category.
    pub category: String,
}

/// The tags of objects.
pub type Tags = HashMap<Reference, Vec<Tag>>;

/// The names of tags and categories, by the IDs of tags.
pub struct Names(Fresh<HashMap<String, Tag>>);

impl Default for Names {
    fn default() -> Self {
        Self(Fresh::new(NAMES_LAST))
    }
}

#[derive(Deserialize)]
struct Answer<T> {
    value: T,
}

#[derive(Deserialize)]
struct Attached {
    object_id: Object,
    /// An object without tags may have `null`.
    tag_ids: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Object {
    #[serde(rename = "type")]
    kind: String,
    id: String,
}

#[derive(Deserialize)]
struct TagAnswer {
    name: String,
    category_id: String,
}

#[derive(Deserialize)]
struct CategoryAnswer {
    name: String,
}

impl Api {
    /// The tags of these objects. An object whose tags this user may not list has none.
    ///
    /// # Errors
    /// If the vCenter does not answer, or a tag or a category cannot be read.
    pub async fn tags(&self, objects: &[Reference], names: &Names) -> Result<Tags> {
        let mut attached: Vec<(Reference, Vec<String>)> = Vec::new();
        for objects in objects.chunks(MOST_OBJECTS) {
            attached.extend(self.attached(objects).await?);
        }
        let ids: BTreeSet<&str> = attached.iter().flat_map(|(_, ids)| ids).map(String::as_str).collect();
        let names = self.names(&ids, names).await?;
        let tags = |(object, ids): (Reference, Vec<String>)| {
            let tags = ids.iter().filter_map(|id| names.get(id).cloned());
            (object, tags.collect())
        };
        Ok(attached.into_iter().map(tags).collect())
    }

    async fn attached(&self, objects: &[Reference]) -> Result<Vec<(Reference, Vec<String>)>> {
        match self.attached_together(objects).await {
            // One of them may not exist any more, or may not be seen by this user: the others have tags nevertheless.
            Err(Error::Denied { .. } | Error::NotFound { .. } | Error::Invalid { .. }) if objects.len() > 1 => {
                let calls = objects
                    .iter()
                    .map(|object| self.attached_together(std::slice::from_ref(object)));
                let mut all = Vec::new();
                for answer in concurrently(calls).await {
                    match answer {
                        Ok(attached) => all.extend(attached),
                        Err(Error::Denied { .. } | Error::NotFound { .. } | Error::Invalid { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(all)
            }
            answer => answer,
        }
    }

    async fn attached_together(&self, objects: &[Reference]) -> Result<Vec<(Reference, Vec<String>)>> {
        let ids: Vec<Value> = objects
            .iter()
            .map(|Reference { kind, id }| json!({"type": kind, "id": id}))
            .collect();
        let request = Request::post("list_attached_tags", &self.rest.url)
            .path(TAGGING.into_iter().chain(["tag-association"]))
            .query([("~action", "list-attached-tags-on-objects")])
            .json(&json!({"object_ids": ids}))
            .idempotency(Idempotency::Safe);
        let Answer { value } = self.rest.client.send_json::<Answer<Vec<Attached>>>(request).await?;
        let entry = |Attached { object_id, tag_ids }| {
            let object = Reference::new(object_id.kind, object_id.id);
            (object, tag_ids.unwrap_or_default())
        };
        Ok(value.into_iter().map(entry).collect())
    }

    /// The names of these tags, which are read if they are not known.
    async fn names(&self, ids: &BTreeSet<&str>, names: &Names) -> Result<HashMap<String, Tag>> {
        let mut known = names.0.get().unwrap_or_default();
        let unknown: Vec<&str> = ids.iter().copied().filter(|id| !known.contains_key(*id)).collect();
        if unknown.is_empty() {
            return Ok(known);
        }
        let tags = concurrently(unknown.iter().map(|id| self.get::<TagAnswer>("get_tag", "tag", id))).await;
        let tags: Vec<TagAnswer> = tags.into_iter().collect::<Result<_>>()?;
        let categories: BTreeSet<&str> = tags.iter().map(|tag| tag.category_id.as_str()).collect();
        let read = categories
            .iter()
            .map(|id| self.get::<CategoryAnswer>("get_tag_category", "category", id));
        let read: Vec<CategoryAnswer> = concurrently(read).await.into_iter().collect::<Result<_>>()?;
        let categories: HashMap<&str, String> = categories
            .into_iter()
            .zip(read.into_iter().map(|one| one.name))
            .collect();
        for (id, tag) in unknown.into_iter().zip(&tags) {
            let category = categories.get(tag.category_id.as_str()).cloned().unwrap_or_default();
            let name = tag.name.clone();
            known.insert(id.to_owned(), Tag { name, category });
        }
        names.0.set(Some(known.clone()));
        Ok(known)
    }

    async fn get<T: DeserializeOwned + Send>(&self, operation: &'static str, kind: &str, id: &str) -> Result<T> {
        let by_id = format!("id:{id}");
        let request = Request::get(operation, &self.rest.url)
            .path(TAGGING.into_iter().chain([kind, by_id.as_str()]))
            .about(format!("{kind} {id}"));
        let answer: Answer<T> = self.rest.client.send_json(request).await.map_err(Error::of_batch)?;
        Ok(answer.value)
    }
}
