//! One request: logged, delayed, failed as the faults say, answered.

use super::body::{Body, body};
use crate::{
    Call, Cloud, Service, errors,
    exchange::{Answer, Ask, unknown},
    fault::{Failure, FaultId, Garbling, Subject, Verdict},
    keystone::{self, Caller},
    query::{Query, decode_segment},
    service::operation,
};
use bytes::Bytes;
use http::{Request, Response, header, request::Parts};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::io;

/// How the client came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

/// Answers one request; an error breaks the connection.
pub(super) async fn exchange(cloud: Cloud, scheme: Scheme, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let (parts, incoming) = request.into_parts();
    let bytes = incoming.collect().await.map_err(io::Error::other)?.to_bytes();
    let Some(mut ask) = parse(scheme, &parts, bytes) else {
        return render(Answer::empty(404), None);
    };
    let who = cloud.identity().whoever(&ask, cloud.now().wall);
    let (number, verdict) = open(&cloud, &ask, &parts, who.as_ref());
    if !verdict.delay.is_zero() {
        tokio::time::sleep(verdict.delay).await;
    }
    withdrawn(&cloud, &verdict.hangs).await;
    let answer = match verdict.before {
        Some(Failure::Reset) => Err(broken("reset")),
        Some(Failure::Answer {
            status,
            body,
            retry_after,
        }) => failed(ask.service, status, body, retry_after),
        None => {
            ask.caller = who.clone().unwrap_or_default();
            finish(act(&cloud, &ask, who.as_ref()), verdict.after.as_ref())
        }
    };
    withdrawn(&cloud, &verdict.withheld).await;
    close(
        &cloud,
        number,
        answer.as_ref().ok().map(|response| response.status().as_u16()),
    );
    answer
}

fn parse(scheme: Scheme, parts: &Parts, body: Bytes) -> Option<Ask> {
    let scheme = if scheme == Scheme::Https { "https" } else { "http" };
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok())?;
    let origin = format!("{scheme}://{host}");
    let mut segments = parts.uri.path().split('/').filter(|segment| !segment.is_empty());
    let service = Service::of_prefix(segments.next()?)?;
    Some(Ask {
        service,
        method: parts.method.clone(),
        path: segments.map(decode_segment).collect(),
        query: Query::parse(parts.uri.query().unwrap_or_default()),
        headers: parts.headers.clone(),
        body,
        base: format!("{origin}/{service}"),
        origin,
        caller: Caller::default(),
    })
}

fn open(cloud: &Cloud, ask: &Ask, parts: &Parts, who: Option<&Caller>) -> (u64, Verdict) {
    let secret = ask.service == Service::Keystone || ask.service == Service::Barbican;
    let call = Call {
        number: 0,
        service: ask.service,
        operation: operation(ask.service, &ask.method, &ask.path),
        method: ask.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body: if secret {
            String::new()
        } else {
            String::from_utf8_lossy(&ask.body).into_owned()
        },
        user: who.map(|caller| caller.user.to_string()),
        agent: ask.header("user-agent").map(str::to_owned),
        at: cloud.age(),
        took: None,
        status: None,
    };
    cloud.write(|state, _| {
        let subject = Subject {
            service: call.service,
            method: &call.method,
            path: &call.path,
            operation: call.operation,
        };
        let mut verdict = state.faults.judge(&subject);
        verdict.delay += state.settings.latency;
        (state.calls.open(call, state.settings.log_capacity), verdict)
    })
}

/// Waits until none of these faults is there any more.
async fn withdrawn(cloud: &Cloud, faults: &[FaultId]) {
    let free = |cloud: &Cloud| cloud.read(|state| !faults.iter().any(|fault| state.faults.holds(*fault)));
    if !faults.is_empty() {
        cloud.until(free).await;
    }
}

fn act(cloud: &Cloud, ask: &Ask, who: Option<&Caller>) -> Answer {
    if ask.service == Service::Keystone {
        let answer = keystone::answer(&mut cloud.identity(), ask, cloud.now().wall);
        return noted(cloud, ask, answer.unwrap_or_else(|refusal| refusal));
    }
    if who.is_none() && !errors::is_open(ask) {
        return errors::unauthorized(ask);
    }
    let answer = cloud.write(|state, now| state.answer(ask, now));
    noted(cloud, ask, answer.unwrap_or_else(|refusal| refusal))
}

/// Remembers what nobody taught us.
fn noted(cloud: &Cloud, ask: &Ask, answer: Answer) -> Answer {
    if answer == unknown(ask) {
        cloud.write(|state, _| {
            state
                .unknown
                .push(format!("{} {}/{}", ask.method, ask.service, ask.path.join("/")));
        });
    }
    answer
}

fn failed(
    service: Service,
    status: u16,
    body: Option<String>,
    retry_after: Option<String>,
) -> io::Result<Response<Body>> {
    let mut answer = errors::of_status(service, status);
    if let Some(wait) = retry_after {
        answer = answer.header("Retry-After", wait);
    }
    let replaced = body.map(Garbling::Replaced);
    render(answer, replaced.as_ref())
}

fn finish(answer: Answer, garbling: Option<&Garbling>) -> io::Result<Response<Body>> {
    match garbling {
        Some(Garbling::Lost) => Err(broken("lost")),
        garbling => render(answer, garbling),
    }
}

fn render(answer: Answer, garbling: Option<&Garbling>) -> io::Result<Response<Body>> {
    let bytes = match (garbling, &answer.body) {
        (Some(Garbling::Replaced(text)), _) => Bytes::from(text.clone()),
        (_, Some(serde_json::Value::String(text)))
            if answer.headers.iter().any(|(name, _)| *name == "Content-Type") =>
        {
            Bytes::from(text.clone())
        }
        (_, Some(json)) => Bytes::from(serde_json::to_vec(json).map_err(io::Error::other)?),
        (_, None) => Bytes::new(),
    };
    let mut response = Response::builder().status(answer.status);
    if !answer.headers.iter().any(|(name, _)| *name == "Content-Type") && answer.body.is_some() {
        response = response.header(header::CONTENT_TYPE, "application/json");
    }
    if answer.status != 204 {
        response = response.header(header::CONTENT_LENGTH, bytes.len());
    }
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(body(bytes, garbling)).map_err(io::Error::other)
}

fn close(cloud: &Cloud, number: u64, status: Option<u16>) {
    let at = cloud.age();
    cloud.write(|state, _| {
        if let Some(call) = state.calls.find(number) {
            call.took = Some(at.saturating_sub(call.at));
            call.status = status;
        }
    });
}

fn broken(how: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, format!("{how} on purpose"))
}
