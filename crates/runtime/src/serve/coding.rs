//! In which coding an answer goes out: a scrape of Prometheus is a tenth as long in gzip.

use super::response::Response;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, header};
use http_body_util::Full;
use std::io::{self, Write};

/// How an answer can be written down, in the order in which a tie goes.
const CODINGS: [&str; 2] = ["identity", GZIP];
const GZIP: &str = "gzip";

/// An answer with this text, shorter if whoever asks can read that.
pub fn coded(mut response: Response, text: String, asked: &HeaderMap) -> Response {
    let zipped = wants_gzip(asked).then(|| gzip(&text));
    *response.body_mut() = Full::new(if let Some(Ok(short)) = zipped {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(GZIP));
        short.into()
    } else {
        text.into()
    });
    response
}

fn gzip(text: &str) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

/// Whether gzip is what is liked best.
fn wants_gzip(asked: &HeaderMap) -> bool {
    let mut best = ("", 0.0);
    for coding in CODINGS {
        for (name, liked) in preferences(asked) {
            if liked > best.1 && (name == "*" || name == coding) {
                best = (coding, liked);
            }
        }
    }
    best.0 == GZIP
}

/// What whoever asks can read, and how much each is liked. What is not understood is not liked.
fn preferences(asked: &HeaderMap) -> impl Iterator<Item = (&str, f32)> {
    let lines = asked.get_all(header::ACCEPT_ENCODING).into_iter();
    let parts = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    parts.map(|part| match part.split_once(';') {
        Some((name, weight)) => (name.trim(), weigh(weight)),
        None => (part.trim(), 1.0),
    })
}

fn weigh(weight: &str) -> f32 {
    let number = weight.trim().strip_prefix("q=");
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::nothing(&[], false)]
    #[case::gzip(&["gzip"], true)]
    #[case::among_others(&["deflate, gzip, br"], true)]
    #[case::in_two_lines(&["deflate", "gzip"], true)]
    #[case::anything(&["*"], false)]
    #[case::prometheus(&["gzip;q=1.0, identity;q=0.5"], true)]
    #[case::rather_not(&["identity, gzip;q=0.5"], false)]
    #[case::a_tie(&["gzip, identity"], false)]
    #[case::never(&["gzip;q=0"], false)]
    #[case::nonsense(&["gzip;q=very"], false)]
    #[case::another(&["zstd"], false)]
    fn is_what_is_liked_best(#[case] lines: &[&'static str], #[case] gzip: bool) {
        let mut asked = HeaderMap::new();
        for line in lines {
            asked.append(header::ACCEPT_ENCODING, HeaderValue::from_static(line));
        }
        assert_eq!(wants_gzip(&asked), gzip);
    }
}
