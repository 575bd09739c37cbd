//! What a request does, which decides how it is treated.

use http::{Method, Uri};

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Reads once.
    Get,
    /// Reads for as long as it is let: not limited, not timed, not tried again.
    Watch,
    Post,
    Put,
    Patch,
    Delete,
}

impl Verb {
    pub(super) fn of(method: &Method, uri: &Uri) -> Self {
        match *method {
            Method::POST => Self::Post,
            Method::PUT => Self::Put,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            _ if is_watch(uri.query().unwrap_or_default()) => Self::Watch,
            _ => Self::Get,
        }
    }

    /// Its name in the metrics.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Get | Self::Watch => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether it changes something.
    pub(super) fn writes(self) -> bool {
        match self {
            Self::Get | Self::Watch => false,
            Self::Post | Self::Put | Self::Patch | Self::Delete => true,
        }
    }
}

fn is_watch(query: &str) -> bool {
    query
        .split('&')
        .any(|pair| matches!(pair, "watch" | "watch=true" | "watch=1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::get("GET", "/api/v1/nodes/a", Verb::Get)]
    #[case::list("GET", "/api/v1/nodes?limit=500", Verb::Get)]
    #[case::watch("GET", "/api/v1/nodes?&watch=true&timeoutSeconds=290", Verb::Watch)]
    #[case::not_a_watch("GET", "/api/v1/nodes?labelSelector=watch%3Dtrue&watch=false", Verb::Get)]
    #[case::create("POST", "/api/v1/nodes?watch=true", Verb::Post)]
    #[case::put("PUT", "/api/v1/nodes/a", Verb::Put)]
    #[case::patch("PATCH", "/api/v1/nodes/a", Verb::Patch)]
    #[case::delete("DELETE", "/api/v1/nodes/a", Verb::Delete)]
    fn is_parsed_from_the_request(#[case] method: Method, #[case] uri: Uri, #[case] expected: Verb) {
        let verb = Verb::of(&method, &uri);
        assert_eq!(verb, expected);
        assert_eq!(verb.as_str(), method.as_str());
        assert_eq!(verb.writes(), method != Method::GET);
    }
}
