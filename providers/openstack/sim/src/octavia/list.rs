//! Lists: filtered, sorted, in pages, with only some fields.

use super::{Common, error};
use crate::exchange::{Ask, Outcome, Response, select, wants_tags};
use fakecloud::{Page, Query};
use serde_json::{Value, json};
use uuid::Uuid;

/// What everything can be filtered by.
const FILTERS: &[&str] = &[
    "id",
    "name",
    "description",
    "project_id",
    "tenant_id",
    "provisioning_status",
    "operating_status",
    "admin_state_up",
    "created_at",
    "updated_at",
];

/// What is no filter.
const CONTROLS: &[&str] = &[
    "fields",
    "limit",
    "marker",
    "sort",
    "tags",
    "tags-any",
    "not-tags",
    "not-tags-any",
];

/// Something, with its view.
type Row<'a> = (&'a Common, Value);

/// A list that was requested.
pub(super) struct List<'a> {
    pub(super) many: &'a str,
    /// What these can be filtered by, besides what everything can.
    pub(super) filters: &'a [&'a str],
    /// The longest page.
    pub(super) limit: Option<usize>,
}

impl List<'_> {
    /// Makes it of the candidates, which come with their views.
    pub(super) fn answer(&self, ask: &Ask, candidates: Vec<(&Common, Value)>) -> Outcome {
        self.check(&ask.query)?;
        let mut rows: Vec<(&Common, Value)> = candidates
            .into_iter()
            .filter(|(common, view)| {
                ask.caller.sees(&common.project) && tagged(common, &ask.query) && matches(view, &ask.query)
            })
            .collect();
        sort(&mut rows, ask.query.get("sort"))?;
        let (page, links) = self.page(ask, rows)?;
        let views: Vec<Value> = page.into_iter().map(|(_, view)| select(view, ask)).collect();
        Ok(Response::ok(
            json!({self.many: views, format!("{}_links", self.many): links}),
        ))
    }

    fn check(&self, query: &Query) -> Result<(), Response> {
        let known = |name: &&str| FILTERS.contains(name) || CONTROLS.contains(name) || self.filters.contains(name);
        if !query.names().iter().all(known) {
            return Err(error(400, "One or more arguments are either duplicate or invalid"));
        }
        let several = |name: &&str| !CONTROLS.contains(name) && query.all(name).count() > 1;
        if query.names().iter().any(several) {
            // Its database does not like it.
            return Err(error(
                500,
                "(pymysql.err.OperationalError) (4078, \"Illegal parameter data types varchar and row for operation '='\")",
            ));
        }
        Ok(())
    }

    fn page<'r>(&self, ask: &Ask, rows: Vec<(&'r Common, Value)>) -> Result<(Vec<Row<'r>>, Value), Response> {
        let limit = self.limit_of(ask)?;
        let marker = ask.query.get("marker");
        let unknown = || {
            let marker = marker.unwrap_or_default();
            error(400, &format!("Supplied pagination marker '{marker}' is not valid."))
        };
        let id = |(common, _): &Row<'_>| common.id.to_string();
        let page = Page::after(rows, marker, limit.unwrap_or(usize::MAX), id).ok_or_else(unknown)?;
        let ids = || page.items.iter().map(|(common, _)| common.id).collect::<Vec<_>>();
        let links = limit.map_or_else(|| json!([]), |limit| links(ask, &ids(), limit));
        Ok((page.items, links))
    }

    fn limit_of(&self, ask: &Ask) -> Result<Option<usize>, Response> {
        let Some(text) = ask.query.get("limit") else {
            return Ok(self.limit);
        };
        let bad = || {
            let description = format!("Supplied pagination limit '{text}' is not valid.");
            Response::json(
                400,
                json!({"code": 400, "title": "Bad Request", "description": description}),
            )
        };
        let asked: usize = text.parse().map_err(|_| bad())?;
        Ok(Some(self.limit.map_or(asked, |most| asked.min(most))))
    }
}

/// The links of a page; as in the real Octavia, they lose the filters.
fn links(ask: &Ask, page: &[Uuid], limit: usize) -> Value {
    let url = format!("{}/{}", ask.base, ask.path.join("/"));
    let sort = ask
        .query
        .get("sort")
        .map(|sort| format!("&sort={sort}"))
        .unwrap_or_default();
    let mut links = Vec::new();
    if let Some(first) = page.first().filter(|_| ask.query.get("marker").is_some()) {
        links.push(
            json!({"rel": "previous", "href": format!("{url}?limit={limit}{sort}&marker={first}&page_reverse=True")}),
        );
    }
    if let Some(last) = page.last().filter(|_| page.len() >= limit) {
        links.push(json!({"rel": "next", "href": format!("{url}?limit={limit}{sort}&marker={last}")}));
    }
    json!(links)
}

fn tagged(common: &Common, query: &Query) -> bool {
    wants_tags(&common.tags, |name| {
        let texts: Vec<_> = query
            .all(name)
            .flat_map(|text| text.split(','))
            .map(str::to_owned)
            .collect();
        (!texts.is_empty()).then_some(texts)
    })
}

fn matches(view: &Value, query: &Query) -> bool {
    query
        .pairs()
        .filter(|(name, _)| !CONTROLS.contains(name))
        .all(|(name, wanted)| match name {
            "loadbalancer_id" | "load_balancer_id" => equal(&view["loadbalancers"], wanted),
            "pool_id" => equal(&view["pools"], wanted),
            _ => equal(&view[name], wanted),
        })
}

fn equal(have: &Value, wanted: &str) -> bool {
    match have {
        Value::String(text) => text == wanted,
        Value::Bool(have) => matches!(wanted.to_lowercase().as_str(), "true" | "1") == *have,
        Value::Number(number) => number.to_string() == wanted,
        Value::Array(items) => items.iter().any(|item| equal(item, wanted)),
        Value::Object(fields) => fields.get("id").is_some_and(|id| equal(id, wanted)),
        Value::Null => false,
    }
}

/// By age, unless requested otherwise.
fn sort(rows: &mut [(&Common, Value)], keys: Option<&str>) -> Result<(), Response> {
    rows.sort_by_key(|(common, _)| (common.created.as_second(), common.id));
    for key in keys.into_iter().flat_map(|keys| keys.rsplit(',')) {
        let (key, direction) = key.split_once(':').unwrap_or((key, "asc"));
        if rows.first().is_some_and(|(_, view)| view.get(key).is_none()) {
            return Err(error(400, &format!("Supplied sort key '{key}' is not valid.")));
        }
        rows.sort_by_cached_key(|(_, view)| view[key].to_string());
        if direction == "desc" {
            rows.reverse();
        }
    }
    Ok(())
}
