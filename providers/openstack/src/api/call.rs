//! One call of a service, as the API modules write it down.

use super::service::Service;
use cloud_http::{
    Idempotency, Next, Request, Url,
    http::{HeaderName, Method, StatusCode},
};
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, Visitor},
};
use std::{collections::BTreeMap, fmt, marker::PhantomData};

/// A request to a service. The operation is the label in occm's metrics, like `loadbalancer_get`.
#[must_use]
pub struct Call {
    pub(super) service: Service,
    pub(super) operation: &'static str,
    method: Method,
    path: Vec<String>,
    /// Applied once the URL of the service is known.
    more: Vec<Box<dyn FnOnce(Request) -> Request + Send>>,
}

impl Call {
    /// A `GET` of the path below the service's version: `["servers", "detail"]`.
    pub fn get<'a>(service: Service, operation: &'static str, path: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Method::GET, service, operation, path)
    }

    /// A `POST`, which is sent again only if the service certainly did not act.
    pub fn post<'a>(service: Service, operation: &'static str, path: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Method::POST, service, operation, path)
    }

    /// A `PUT`.
    pub fn put<'a>(service: Service, operation: &'static str, path: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Method::PUT, service, operation, path)
    }

    /// A `DELETE`.
    pub fn delete<'a>(service: Service, operation: &'static str, path: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Method::DELETE, service, operation, path)
    }

    fn new<'a>(
        method: Method,
        service: Service,
        operation: &'static str,
        path: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self {
            service,
            operation,
            method,
            path: path.into_iter().map(str::to_owned).collect(),
            more: Vec::new(),
        }
    }

    /// Adds query parameters; a name may come several times.
    pub fn query<K: Into<String>, V: Into<String>>(self, pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let pairs: Vec<(String, String)> = pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        self.with(|request| request.query(pairs))
    }

    /// Sends this as JSON.
    pub fn json<T: Serialize>(self, body: &T) -> Self {
        // Serialized now, so that the call does not borrow the body; an error is reported when it is sent.
        match serde_json::to_value(body) {
            Ok(body) => self.with(move |request| request.json(&body)),
            Err(error) => self.with(move |request| request.json(&Unwritable(error.to_string()))),
        }
    }

    /// Sends an object of this kind as JSON.
    pub fn object<T: Resource>(self, object: &impl Serialize) -> Self {
        self.json(&BTreeMap::from([(T::ONE, object)]))
    }

    /// Names the object, like `load balancer 42`, for errors that a user reads.
    pub fn about(self, what: impl Into<String>) -> Self {
        let what = what.into();
        self.with(|request| request.about(what))
    }

    /// Only if the object still has this revision; otherwise the answer is 412. Not every Neutron has revisions.
    pub fn if_revision(self, revision: Option<u64>) -> Self {
        match revision {
            Some(revision) => self.header("if-match", format!("revision_number={revision}")),
            None => self,
        }
    }

    /// Sets a header.
    pub fn header(self, name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        self.with(move |request| request.header(HeaderName::from_static(name), value))
    }

    /// Whether it may reach the service twice, if the method does not determine that.
    pub fn idempotency(self, idempotency: Idempotency) -> Self {
        self.with(move |request| request.idempotency(idempotency))
    }

    /// Accepts this status as an answer.
    pub fn accept(self, status: StatusCode) -> Self {
        self.with(move |request| request.accept(status))
    }

    fn with(mut self, change: impl FnOnce(Request) -> Request + Send + 'static) -> Self {
        self.more.push(Box::new(change));
        self
    }

    /// The request to this URL.
    pub(super) fn at(self, api: &Url) -> Request {
        let request = Request::new(self.method, self.operation, api).path(self.path.iter().map(String::as_str));
        self.more.into_iter().fold(request, |request, change| change(request))
    }
}

struct Unwritable(String);

impl Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(&self.0))
    }
}

/// A kind of object: one is `{"port": {…}}`, and a page of a list is `{"ports": [{…}], "ports_links": […]}`.
pub trait Resource: DeserializeOwned + Send {
    /// The key of one object.
    const ONE: &'static str;
    /// The key of a list.
    const ALL: &'static str;
}

/// One page of a list. The items are decoded directly, without a tree of JSON values.
pub(super) struct Page<T> {
    pub items: Vec<T>,
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    rel: String,
    href: String,
}

impl<T> Page<T> {
    pub fn next(&self) -> Option<Next> {
        let next = self.links.iter().find(|link| link.rel == "next")?;
        Some(Next::Link(next.href.clone()))
    }
}

impl<'de, T: Resource> Deserialize<'de> for Page<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PageVisitor(PhantomData))
    }
}

struct PageVisitor<T>(PhantomData<T>);

impl<'de, T: Resource> Visitor<'de> for PageVisitor<T> {
    type Value = Page<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {}", T::ALL)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut items, mut links) = (None, Vec::new());
        while let Some(key) = map.next_key::<String>()? {
            if key == T::ALL {
                items = Some(map.next_value()?);
            } else if key.strip_suffix("_links") == Some(T::ALL) {
                links = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        // An answer without the list is an error: as an empty list it would make every object missing.
        let items = items.ok_or_else(|| serde::de::Error::missing_field(T::ALL))?;
        Ok(Page { items, links })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[derive(Deserialize)]
    struct Thing {
        id: u32,
    }

    impl Resource for Thing {
        const ONE: &'static str = "thing";
        const ALL: &'static str = "things";
    }

    #[rstest]
    #[case::last(r#"{"things": [{"id": 1}, {"id": 2}]}"#, "1 2")]
    #[case::more(r#"{"things_links": [{"rel": "previous", "href": "a"}, {"rel": "next", "href": "b"}], "x": {}, "things": [{"id": 1}]}"#, "1, then b")]
    #[case::empty(r#"{"things": []}"#, "")]
    #[case::no_list("{}", "missing field `things`")]
    fn pages(#[case] body: &str, #[case] expected: &str) {
        let text = serde_json::from_str::<Page<Thing>>(body).map(|page| {
            let ids: Vec<_> = page.items.iter().map(|thing| thing.id.to_string()).collect();
            match page.next() {
                Some(Next::Link(link)) => format!("{}, then {link}", ids.join(" ")),
                _ => ids.join(" "),
            }
        });
        let text = text.unwrap_or_else(|error| error.to_string());
        assert!(text.starts_with(expected), "{text}");
    }
}
