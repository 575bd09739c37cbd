//! Lists: filtered, sorted, in pages, with only some fields.

use super::{error, resource::Resource};
use crate::exchange::{Ask, Outcome, Response, select, wants_tags};
use fakecloud::{Page, Query};
use serde_json::{Value, json};
use std::cmp::Ordering;
use uuid::Uuid;

/// What every resource can be filtered by.
const FILTERS: &[&str] = &[
    "id",
    "name",
    "description",
    "project_id",
    "tenant_id",
    "status",
    "admin_state_up",
    "revision_number",
    "created_at",
    "updated_at",
];

/// What is no filter.
const CONTROLS: &[&str] = &[
    "fields",
    "limit",
    "marker",
    "sort_key",
    "sort_dir",
    "page_reverse",
    "tags",
    "tags-any",
    "not-tags",
    "not-tags-any",
];

/// A list that was requested.
pub(super) struct List<'a, R> {
    /// The candidates, in the order of their IDs.
    pub(super) rows: Vec<&'a R>,
    /// The filters that the candidates have passed already.
    pub(super) passed: &'a [&'a str],
    /// The longest page.
    pub(super) limit: Option<usize>,
}

impl<'a, R: Resource> List<'a, R> {
    /// Makes it.
    pub(super) fn answer(mut self, ask: &Ask, view: impl Fn(&R) -> Value) -> Outcome {
        check::<R>(&ask.query)?;
        self.rows
            .retain(|row| row.visible(&ask.caller) && tagged(*row, &ask.query));
        let filters: Vec<&str> = ask
            .query
            .names()
            .into_iter()
            .filter(|name| !CONTROLS.contains(name) && !self.passed.contains(name))
            .collect();
        self.rows
            .retain(|row| filters.is_empty() || matches(&view(row), &ask.query, &filters));
        sort(&mut self.rows, &ask.query, &view);
        let (page, links) = self.page(ask)?;
        let views: Vec<Value> = page.into_iter().map(|row| select(view(row), ask)).collect();
        let mut body = json!({R::MANY: views});
        if let Some(links) = links {
            body[format!("{}_links", R::MANY)] = links;
        }
        Ok(Response::ok(body))
    }

    fn page(self, ask: &Ask) -> Result<(Vec<&'a R>, Option<Value>), Response> {
        let asked = ask.query.number("limit").filter(|limit: &usize| *limit > 0);
        let limit = match (asked, self.limit) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        };
        let marker = ask.query.get("marker");
        let id = |row: &&R| row.id().to_string();
        let page = Page::after(self.rows, marker, limit.unwrap_or(usize::MAX), id)
            .ok_or_else(|| R::missing(marker.unwrap_or_default()))?
            .items;
        let ids = || page.iter().map(|row| row.id()).collect::<Vec<_>>();
        let links = limit.map(|limit| links(ask, &ids(), limit));
        Ok((page, links))
    }
}

fn links(ask: &Ask, page: &[Uuid], limit: usize) -> Value {
    let url = |replaced: &[(&str, &str)]| format!("{}/{}?{}", ask.base, ask.path.join("/"), ask.query.with(replaced));
    let mut links = Vec::new();
    let (first, last) = (page.first().map(Uuid::to_string), page.last().map(Uuid::to_string));
    if page.len() >= limit
        && let Some(last) = last
    {
        links.push(json!({"rel": "next", "href": url(&[("marker", &last)])}));
    }
    let first = first.unwrap_or_default();
    links.push(json!({"rel": "previous", "href": url(&[("marker", &first), ("page_reverse", "True")])}));
    json!(links)
}

fn check<R: Resource>(query: &Query) -> Result<(), Response> {
    let known = |name: &&str| FILTERS.contains(name) || CONTROLS.contains(name) || R::FILTERS.contains(name);
    let unknown: Vec<String> = query
        .names()
        .into_iter()
        .filter(|name| !known(name))
        .map(|name| format!("'{name}'"))
        .collect();
    if query.get("page_reverse").is_some() {
        return Err(Response::json(
            501,
            json!({"openstack_sim": {"unknown": "page_reverse"}}),
        ));
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let message = format!("[{}] is invalid attribute for filtering", unknown.join(", "));
    Err(error(400, "HTTPBadRequest", &message))
}

fn tagged(row: &impl Resource, query: &Query) -> bool {
    wants_tags(&row.standard().tags, |name| {
        let text = query.get(name)?;
        Some(text.split(',').map(str::to_owned).collect())
    })
}

fn matches(view: &Value, query: &Query, filters: &[&str]) -> bool {
    filters.iter().all(|name| {
        let wanted: Vec<&str> = query.all(name).collect();
        match *name {
            "fixed_ips" => view[*name].as_array().is_some_and(|all| fixed(all, &wanted)),
            _ => wanted.iter().any(|wanted| equal(&view[*name], wanted)),
        }
    })
}

/// Whether one of the addresses is one of those wanted: `ip_address=…`, `subnet_id=…`.
fn fixed(all: &[Value], wanted: &[&str]) -> bool {
    all.iter().any(|one| {
        ["ip_address", "subnet_id"].iter().all(|key| {
            let mut values = wanted
                .iter()
                .filter_map(|text| text.split_once('='))
                .filter(|(name, _)| name == key)
                .peekable();
            values.peek().is_none() || values.any(|(_, value)| one[*key] == value)
        })
    })
}

fn equal(have: &Value, wanted: &str) -> bool {
    match have {
        Value::String(text) => text == wanted,
        Value::Bool(have) => matches!(wanted.to_lowercase().as_str(), "true" | "1") == *have,
        Value::Number(number) => number.to_string() == wanted,
        Value::Array(items) => items.iter().any(|item| equal(item, wanted)),
        Value::Null => wanted.is_empty() || wanted == "None",
        Value::Object(_) => false,
    }
}

fn sort<R: Resource>(rows: &mut [&R], query: &Query, view: impl Fn(&R) -> Value) {
    let keys: Vec<&str> = query.all("sort_key").collect();
    if keys.is_empty() {
        return;
    }
    let directions: Vec<&str> = query.all("sort_dir").collect();
    rows.sort_by_cached_key(|row| {
        let view = view(row);
        let part = |(at, key): (usize, &&str)| Part {
            value: view[*key].clone(),
            descending: directions.get(at) == Some(&"desc"),
        };
        keys.iter().enumerate().map(part).collect::<Vec<_>>()
    });
}

struct Part {
    value: Value,
    descending: bool,
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = match (self.value.as_f64(), other.value.as_f64()) {
            (Some(ours), Some(theirs)) => ours.total_cmp(&theirs),
            _ => self.value.as_str().cmp(&other.value.as_str()),
        };
        if self.descending { order.reverse() } else { order }
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}
