//! Lists that come in pages.

use crate::{
    client::Client,
    request::Request,
    response::{DecodeError, Response},
};
use cloud::{Error, Result};
use futures::{Stream, TryStreamExt, stream};
use reqwest::Url;
use serde::de::DeserializeOwned;
use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    pin::pin,
};

/// Where the next page is.
#[derive(Debug, Clone)]
pub enum Next {
    /// At this link, absolute or relative. Only its path and query are used: a cloud behind a proxy gives links to hosts and
    /// schemes that are not its own, and the token is not sent elsewhere.
    Link(String),
    /// At the same place with these query parameters, like `marker` or `page`.
    Query(Vec<(String, String)>),
    /// The answer to this request.
    Request(Box<Request>),
}

/// Why a list cannot be read completely. An incomplete list is never returned: an object that is not on it could be mistaken for a deleted one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PagingError {
    /// The same page came again.
    #[error("page {page} is one that came before")]
    Loop {
        /// Which page, from 1.
        page: usize,
    },
    /// There is no end.
    #[error("the list has more than {limit} pages")]
    Endless {
        /// How many pages are allowed.
        limit: usize,
    },
    /// The link to the next page is none.
    #[error("the link to page {page} is no URL")]
    Link {
        /// Which page, from 1.
        page: usize,
    },
    /// The cloud returned a link and then rejected it, most often because the list changed in the meantime.
    #[error("page {page} was refused: {reason}")]
    Refused {
        /// Which page, from 1.
        page: usize,
        /// The cloud's answer.
        reason: String,
    },
}

impl Client {
    /// Reads a list page by page; `next` returns the next page, if any. Each page has the deadline of a
    /// call. Ends after the first error.
    ///
    /// # Errors
    /// As [`Client::send_json`] for each page; [`PagingError`] beneath [`cloud::Error::Unavailable`] if there is no end.
    pub fn pages<T, F>(&self, request: Request, next: F) -> impl Stream<Item = Result<T>> + Send
    where
        T: DeserializeOwned + Send,
        F: FnMut(&T) -> Option<Next> + Send,
    {
        self.pages_with(request, Response::decode, next)
    }

    /// As [`Client::pages`], for answers that are decoded as by [`Client::send_with`].
    ///
    /// # Errors
    /// As [`Client::pages`].
    pub fn pages_with<T, D, F>(&self, request: Request, decode: D, next: F) -> impl Stream<Item = Result<T>> + Send
    where
        T: Send,
        D: FnMut(&Response) -> Result<T, DecodeError> + Send,
        F: FnMut(&T) -> Option<Next> + Send,
    {
        let call = request.call();
        let walk = Walk {
            client: self,
            decode,
            limit: self.shared.config.page_limit,
            seen: Seen::default(),
            page: 0,
            call,
            next,
        };
        stream::try_unfold((walk, Some(request)), |(mut walk, request)| async move {
            let Some(request) = request else { return Ok(None) };
            let (page, following) = walk.step(request).await?;
            Ok(Some((page, (walk, following))))
        })
    }

    /// Reads a whole list; `items` takes the items out of a page.
    ///
    /// # Errors
    /// As [`Client::pages`]. There is no list unless it is complete.
    pub async fn collect<T, I, F>(
        &self,
        request: Request,
        next: F,
        items: impl Fn(T) -> Vec<I> + Send,
    ) -> Result<Vec<I>>
    where
        T: DeserializeOwned + Send,
        I: Send,
        F: FnMut(&T) -> Option<Next> + Send,
    {
        let mut pages = pin!(self.pages(request, next));
        let mut all = Vec::new();
        while let Some(page) = pages.try_next().await? {
            all.extend(items(page));
        }
        Ok(all)
    }
}

struct Walk<'a, D, F> {
    client: &'a Client,
    decode: D,
    limit: usize,
    seen: Seen,
    page: usize,
    call: String,
    next: F,
}

/// Requests and answers that came by, by their hashes.
#[derive(Default)]
struct Seen {
    hasher: RandomState,
    hashes: HashSet<u64>,
}

impl Seen {
    /// Whether it is new.
    fn insert(&mut self, thing: impl std::hash::Hash) -> bool {
        self.hashes.insert(self.hasher.hash_one(thing))
    }
}

impl<D, F> Walk<'_, D, F> {
    async fn step<T>(&mut self, request: Request) -> Result<(T, Option<Request>)>
    where
        T: Send,
        D: FnMut(&Response) -> Result<T, DecodeError> + Send,
        F: FnMut(&T) -> Option<Next> + Send,
    {
        self.turn_to(&request)?;
        let answer = self.client.answered(&request, &mut self.decode).await;
        let (response, page) = answer.map_err(|end| self.later(end.into_error()))?;
        let Some(next) = (self.next)(&page) else {
            return Ok((page, None));
        };
        // Some clouds ignore an unknown parameter, and return the first page forever.
        if !self.seen.insert(("answered", &response.body)) {
            return Err(self.error(PagingError::Loop { page: self.page }));
        }
        let following = self.following(request, next)?;
        Ok((page, Some(following)))
    }

    /// Continues with the next page, unless its link is invalid.
    fn turn_to(&mut self, request: &Request) -> Result<()> {
        self.page += 1;
        if self.page > self.limit {
            return Err(self.error(PagingError::Endless { limit: self.limit }));
        }
        if !self.seen.insert(("asked", request.url.as_str(), &request.body)) {
            return Err(self.error(PagingError::Loop { page: self.page }));
        }
        Ok(())
    }

    fn following(&self, mut request: Request, next: Next) -> Result<Request> {
        match next {
            Next::Link(link) => {
                let broken = |_| self.error(PagingError::Link { page: self.page + 1 });
                request.url = at_home(&request.url, &request.url.join(&link).map_err(broken)?);
                Ok(request)
            }
            Next::Query(pairs) => Ok(request.query(pairs)),
            Next::Request(request) => Ok(*request),
        }
    }

    /// On a later page, "not found" and "invalid" refer to the position in the list, not to the requested object.
    fn later(&self, error: Error) -> Error {
        match error {
            Error::NotFound { .. } | Error::Invalid { .. } if self.page > 1 => self.error(PagingError::Refused {
                page: self.page,
                reason: error.to_string(),
            }),
            error => error,
        }
    }

    fn error(&self, error: PagingError) -> Error {
        Error::unavailable(&self.call, error)
    }
}

/// The path and query of a link at the place where we know the cloud to be.
fn at_home(home: &Url, link: &Url) -> Url {
    let mut url = home.clone();
    url.set_path(link.path());
    url.set_query(link.query());
    url
}
