//! Lists that come in pages, or do not end.

use crate::{
    Subject, config, kind,
    server::{Reply, Server},
};
use cloud_http::{Client, Config, Next, Request};
use futures::{StreamExt, TryStreamExt};
use rstest::rstest;
use serde::Deserialize;

#[derive(Deserialize)]
struct Page {
    items: Vec<u32>,
    next: Option<String>,
}

async fn collect(client: &Client, request: Request) -> cloud::Result<Vec<u32>> {
    client
        .collect(
            request,
            |page: &Page| page.next.clone().map(Next::Link),
            |page| page.items,
        )
        .await
}

fn page(items: &str, next: &str) -> Reply {
    Reply::json(200, &format!(r#"{{"items": [{items}], "next": {next}}}"#))
}

#[rstest]
#[case::absolute("http://HOST/list?page=2", "/list?page=2")]
#[case::rooted("/list?page=2", "/list?page=2")]
#[case::relative("?page=2", "/first?page=2")]
#[case::scheme_of_a_proxy("https://HOST/list?page=2", "/list?page=2")]
#[case::host_behind_a_proxy("http://internal.invalid:8774/list?page=2", "/list?page=2")]
#[tokio::test]
async fn links(#[case] link: &'static str, #[case] target: &str) {
    let server = Server::start(move |seen| async move {
        let link = format!("{:?}", link.replace("HOST", seen.header("host").unwrap()));
        if seen.target.contains("page=2") {
            page("3", "null")
        } else {
            page("1, 2", &link)
        }
    })
    .await;
    let request = Request::get("list_things", &server.url())
        .path(["first"])
        .query([("limit", "2")]);
    assert_eq!(
        collect(&Subject::new(&config()).client, request).await.unwrap(),
        [1, 2, 3]
    );
    assert_eq!(server.seen()[1].target, target);
}

#[tokio::test]
async fn markers() {
    let server = Server::script(vec![page("1, 2", "null"), page("3, 4", "null"), page("", "null")]).await;
    let request = Request::get("list_things", &server.url()).query([("limit", "2")]);
    let next = |page: &Page| Some(Next::Query(vec![("marker".into(), page.items.last()?.to_string())]));
    let client = Subject::new(&config()).client;
    assert_eq!(
        client.collect(request, next, |page| page.items).await.unwrap(),
        [1, 2, 3, 4]
    );
    let targets: Vec<_> = server.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(targets, ["/?limit=2", "/?limit=2&marker=2", "/?limit=2&marker=4"]);
}

#[tokio::test]
async fn requests() {
    let server = Server::script(vec![page("1", "\"a\""), page("2", "null")]).await;
    let url = server.url();
    let ask = |token: &str| {
        let request = Request::post("describe_things", &url).idempotency(cloud_http::Idempotency::Safe);
        request.form([("Action", "Describe"), ("NextToken", token)])
    };
    let next = |page: &Page| page.next.as_deref().map(|token| Next::Request(Box::new(ask(token))));
    let client = Subject::new(&config()).client;
    assert_eq!(client.collect(ask(""), next, |page| page.items).await.unwrap(), [1, 2]);
    assert_eq!(server.seen()[1].body, "Action=Describe&NextToken=a");
}

/// Half a list is worse than none: who is not on it could be taken for gone.
#[rstest]
#[case::link_to_itself(vec![page("1", r#""/""#)], "page 2 is one that came before", 1)]
#[case::circle(vec![page("1", r#""/b""#), page("2", r#""/""#)], "page 3 is one that came before", 2)]
#[case::no_link(vec![page("1", r#""http://""#)], "the link to page 2 is no URL", 1)]
#[case::marker_vanished(vec![page("1", r#""/b""#), Reply::json(404, r#"{"m": 1}"#)], "page 2 was refused: the object of list things was not found", 2)]
#[case::marker_refused(vec![page("1", r#""/b""#), Reply::json(400, r#"{"m": 1}"#)], "page 2 was refused: invalid request", 2)]
#[case::breaks_later(vec![page("1", r#""/b""#), Reply::status(501)], "501 Not Implemented", 2)]
#[tokio::test]
async fn an_incomplete_list_is_an_error(#[case] replies: Vec<Reply>, #[case] message: &str, #[case] requests: usize) {
    let server = Server::script(replies).await;
    let request = Request::get("list_things", &server.url());
    let error = collect(&Subject::new(&config()).client, request).await.unwrap_err();
    assert_eq!(kind(&error), "unavailable");
    assert!(error.report().contains(message), "{}", error.report());
    assert_eq!(server.count(), requests);
}

#[tokio::test]
async fn a_missing_first_page_is_reported_as_not_found() {
    let server = Server::script(vec![Reply::json(404, r#"{"m": 1}"#)]).await;
    let error = collect(
        &Subject::new(&config()).client,
        Request::get("list_things", &server.url()),
    )
    .await
    .unwrap_err();
    assert_eq!(kind(&error), "not found");
}

#[tokio::test]
async fn a_cloud_that_ignores_the_page_number_is_noticed() {
    let server = Server::script(vec![page("1, 2", "null")]).await;
    let mut number = 1;
    let next = |_: &Page| {
        number += 1;
        Some(Next::Query(vec![("page".into(), number.to_string())]))
    };
    let client = Subject::new(&config()).client;
    let request = Request::get("list_things", &server.url());
    let error = client.collect(request, next, |page| page.items).await.unwrap_err();
    assert!(
        error.report().ends_with("page 2 is one that came before"),
        "{}",
        error.report()
    );
}

#[tokio::test]
async fn a_list_without_end_is_given_up() {
    let server = Server::start(|seen| async move { page("1", &format!("{:?}", format!("{}x", seen.target))) }).await;
    let subject = Subject::new(&Config {
        page_limit: 5,
        ..config()
    });
    let error = collect(&subject.client, Request::get("list_things", &server.url()))
        .await
        .unwrap_err();
    assert!(
        error.report().ends_with("the list has more than 5 pages"),
        "{}",
        error.report()
    );
    assert_eq!(server.count(), 5);
}

#[tokio::test]
async fn a_stream_gives_pages_as_they_come_and_ends_after_an_error() {
    let server = Server::script(vec![page("1", r#""/b""#), Reply::status(501)]).await;
    let client = Subject::new(&config()).client;
    let next = |page: &Page| page.next.clone().map(Next::Link);
    let mut pages = std::pin::pin!(client.pages(Request::get("list_things", &server.url()), next));
    assert_eq!(pages.try_next().await.unwrap().unwrap().items, [1]);
    assert_eq!(server.count(), 1);
    assert!(pages.next().await.unwrap().is_err());
    assert!(pages.next().await.is_none());
}
