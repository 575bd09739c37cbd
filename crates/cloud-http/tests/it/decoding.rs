//! Answers that are not JSON.

use crate::{
    Subject, config, kind,
    server::{Reply, Server},
};
use cloud_http::{DecodeError, Next, Request, Response};
use futures::TryStreamExt;
use rstest::rstest;

/// `<7>`, or `<7>2` if there is a page 2.
fn number(response: &Response) -> Result<(u32, String), DecodeError> {
    let text = String::from_utf8_lossy(response.body());
    let (number, rest) = text
        .split_once('>')
        .ok_or_else(|| DecodeError::Truncated("the closing bracket is missing".to_owned()))?;
    let number = number.strip_prefix('<').and_then(|number| number.parse().ok());
    let number = number.ok_or_else(|| DecodeError::Garbled("there is no number".to_owned()))?;
    Ok((number, rest.to_owned()))
}

fn xml(body: &str) -> Reply {
    Reply::status(200).header("content-type", "text/xml").body(body)
}

#[rstest]
#[case::complete(vec![xml("<7>")], Ok(7), 1)]
#[case::truncated_once(vec![xml("<7"), xml("<7>")], Ok(7), 2)]
#[case::truncated(vec![xml("<7")], Err("truncated: the closing bracket is missing in 2 bytes of text/xml"), 3)]
#[case::garbled(vec![xml("<x>")], Err("makes no sense: there is no number in 3 bytes of text/xml"), 1)]
#[tokio::test]
async fn an_answer_that_cannot_be_decoded_is_a_failed_attempt(
    #[case] replies: Vec<Reply>,
    #[case] expected: Result<u32, &str>,
    #[case] attempts: usize,
) {
    let server = Server::script(replies).await;
    let client = Subject::new(&config()).client;
    let answer = client.send_with(Request::get("get_thing", &server.url()), number).await;
    match (answer, expected) {
        (Ok((number, _)), Ok(expected)) => assert_eq!(number, expected),
        (Err(error), Err(text)) => {
            assert_eq!(kind(&error), "unavailable");
            assert!(error.report().contains(text), "{}", error.report());
        }
        (answer, _) => panic!("{answer:?}"),
    }
    assert_eq!(server.count(), attempts);
}

#[rstest]
#[case::there(xml("<7>"), "found 7")]
#[case::error_of_the_cloud(Reply::status(404).header("content-type", "text/xml").body("<Code>NoSuch</Code>"), "missing")]
#[case::page_of_a_proxy(Reply::html(404), "unavailable")]
#[case::garbled(xml("<x>"), "unavailable")]
#[tokio::test]
async fn finds(#[case] reply: Reply, #[case] expected: &str) {
    let server = Server::script(vec![reply]).await;
    let client = Subject::new(&config())
        .client
        .recognising(|failure| failure.text().contains("<Code>"));
    let found = client.find_with(Request::get("get_thing", &server.url()), number).await;
    let outcome = match &found {
        Ok(Some((number, _))) => format!("found {number}"),
        Ok(None) => "missing".to_owned(),
        Err(error) => kind(error).to_owned(),
    };
    assert_eq!(outcome, expected, "{found:?}");
}

#[tokio::test]
async fn pages() {
    let server = Server::script(vec![xml("<1>2"), xml("<2"), xml("<2>")]).await;
    let client = Subject::new(&config()).client;
    let next =
        |(_, next): &(u32, String)| (!next.is_empty()).then(|| Next::Query(vec![("page".to_owned(), next.clone())]));
    let pages = client.pages_with(Request::get("list_things", &server.url()), number, next);
    let pages: Vec<(u32, String)> = pages.try_collect().await.unwrap();
    let numbers: Vec<u32> = pages.into_iter().map(|(number, _)| number).collect();
    assert_eq!((numbers, server.count()), (vec![1, 2], 3));
}
