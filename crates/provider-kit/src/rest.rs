//! Collections of a REST API: `GET servers/1` is `{"server": {…}}`, and `GET servers` is a page `{"servers": [{…}], …}`.

use cloud::Result;
use cloud_http::{Client, Next, Request, Response, Url, http::Method};
use futures::TryStreamExt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{marker::PhantomData, sync::Arc};

/// A REST API.
pub struct Rest {
    /// Sends the requests.
    pub client: Client,
    /// Where the API is.
    pub url: Url,
    /// The first segment of every path, before the name of the collection.
    pub version: &'static str,
    /// The query parameter for large pages.
    pub page_size: (&'static str, &'static str),
    /// Finds the link to the next page in a page.
    pub next: fn(&Map<String, Value>) -> Option<Next>,
}

impl Rest {
    /// A request that is about the object at this path: `["server_groups", "1"]` is server group 1.
    #[must_use]
    pub fn request(&self, method: Method, operation: &'static str, path: &[&str]) -> Request {
        let kind = path.first().map(|kind| kind.trim_end_matches('s').replace('_', " "));
        let id = path.get(1).map(|id| format!(" {id}"));
        Request::new(method, operation, &self.url)
            .path([self.version].iter().chain(path).copied())
            .about([kind, id].into_iter().flatten().collect::<String>())
    }
}

/// The names of a collection, of its objects, and of the calls about it. See [`names!`](crate::names).
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// The collection.
    pub all: &'static str,
    /// An object.
    pub one: &'static str,
    /// The call that lists it.
    pub list: &'static str,
    /// The call that reads an object.
    pub get: &'static str,
    /// The call that creates an object.
    pub create: &'static str,
    /// The call that replaces an object.
    pub update: &'static str,
    /// The call that deletes an object.
    pub delete: &'static str,
}

/// The [`Names`](crate::rest::Names) of a collection: `names!("server")` has `servers`, `list_servers`, `get_server` and so on.
#[macro_export]
macro_rules! names {
    ($one:literal) => {
        $crate::rest::Names {
            all: concat!($one, "s"),
            one: $one,
            list: concat!("list_", $one, "s"),
            get: concat!("get_", $one),
            create: concat!("create_", $one),
            update: concat!("update_", $one),
            delete: concat!("delete_", $one),
        }
    };
}

/// A collection of objects.
pub struct Collection<T> {
    rest: Arc<Rest>,
    names: Names,
    object: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + Send> Collection<T> {
    /// A collection of this API.
    #[must_use]
    pub fn new(rest: &Arc<Rest>, names: Names) -> Self {
        Self {
            rest: Arc::clone(rest),
            names,
            object: PhantomData,
        }
    }

    /// Reads an object; `None` only if the cloud itself answers that it does not exist.
    ///
    /// # Errors
    /// As the cloud answers. An answer without the object is none.
    pub async fn find(&self, id: &str) -> Result<Option<T>> {
        let request = self.rest.request(Method::GET, self.names.get, &[self.names.all, id]);
        self.rest
            .client
            .find_with(request, |response| response.member(self.names.one))
            .await
    }

    /// Reads all objects, or those that a filter selects.
    ///
    /// # Errors
    /// If the cloud returns an error, a part of the list, or no list: an object that is not on the list would be mistaken for a missing one.
    pub async fn list(&self, filter: Option<(&str, &str)>) -> Result<Vec<T>> {
        let query = [self.rest.page_size].into_iter().chain(filter);
        let request = self
            .rest
            .request(Method::GET, self.names.list, &[self.names.all])
            .query(query);
        let decode = |response: &Response| {
            let mut envelope = response.envelope()?;
            let next = (self.rest.next)(envelope.fields());
            Ok((envelope.take(self.names.all)?, next))
        };
        let pages = self
            .rest
            .client
            .pages_with(request, decode, |page: &(Vec<T>, Option<Next>)| page.1.clone());
        pages.map_ok(|(items, _)| items).try_concat().await
    }

    /// Creates an object.
    ///
    /// # Errors
    /// As the cloud answers.
    pub async fn create(&self, body: &(impl Serialize + Sync)) -> Result<T> {
        let request = self
            .rest
            .request(Method::POST, self.names.create, &[self.names.all])
            .json(body);
        self.rest
            .client
            .send_with(request, |response| response.member(self.names.one))
            .await
    }

    /// Replaces an object; `None` only if the cloud itself answers that it does not exist.
    ///
    /// # Errors
    /// As the cloud answers.
    pub async fn update(&self, id: &str, body: &(impl Serialize + Sync)) -> Result<Option<T>> {
        let request = self
            .rest
            .request(Method::PUT, self.names.update, &[self.names.all, id])
            .json(body);
        self.rest
            .client
            .find_with(request, |response| response.member(self.names.one))
            .await
    }

    /// Deletes an object. One that does not exist is a success.
    ///
    /// # Errors
    /// As the cloud answers.
    pub async fn delete(&self, id: &str) -> Result<()> {
        let request = self
            .rest
            .request(Method::DELETE, self.names.delete, &[self.names.all, id]);
        self.rest.client.find(request).await.map(drop)
    }
}

#[cfg(test)]
mod tests;
