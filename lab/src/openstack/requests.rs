//! Which requests the cloud was asked by others than itself, in order.

use super::{
    OpenStack,
    catalog::{Ports, Region, Service},
    client::{AGENT, until},
};
use crate::unique;
use anyhow::{Context, Result};
use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    ops::ControlFlow,
    time::Duration,
};

const FILE: &str = "requests.log";
/// A request that the door answers itself.
const MARK: &str = "/lab/mark";

/// A place in the log of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

/// A request that was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Who answered.
    pub service: Service,
    /// By which door it came.
    pub region: Region,
    /// For example `GET`.
    pub method: String,
    /// With its query.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// How long the answer took.
    pub took: Duration,
    /// The `User-Agent`, `-` if there was none.
    pub agent: String,
}

impl OpenStack {
    /// The end of the log of requests.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn mark(&self) -> Result<Mark> {
        let now = fs::metadata(self.folder.join(FILE))?.len();
        let text = self.settled_log(Mark(now)).await?;
        Ok(Mark(now + text.len() as u64))
    }

    /// All requests that were answered after the mark and before this call, without those of the services among each
    /// other and of the lab itself.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn requests_since(&self, mark: Mark) -> Result<Vec<Request>> {
        let text = self.settled_log(mark).await?;
        let parse = |line| parse(line, self.client.ports()).with_context(|| format!("a strange request: {line}"));
        let requests: Vec<Request> = text.lines().map(parse).collect::<Result<_>>()?;
        Ok(requests.into_iter().filter(Request::is_from_outside).collect())
    }

    /// The log from there, with everything in it that was answered before: a request is written down only after it was
    /// answered, but in order, so it waits for one of its own.
    async fn settled_log(&self, from: Mark) -> Result<String> {
        let path = &format!("{MARK}?{}", unique("mark"));
        self.client.knock(path).await?;
        until("the log has our own request", || async move {
            let text = self.log_from(from)?;
            let end = text
                .find(path)
                .and_then(|at| text[at..].find('\n').map(|length| at + length + 1));
            Ok(match end {
                Some(end) => ControlFlow::Break(text[..end].to_owned()),
                None => ControlFlow::Continue(format!("{} bytes are there without it", text.len())),
            })
        })
        .await
    }

    fn log_from(&self, from: Mark) -> Result<String> {
        let mut file = File::open(self.folder.join(FILE))?;
        file.seek(SeekFrom::Start(from.0))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(text)
    }
}

impl Request {
    /// The services ask each other with the cloud's own Python libraries.
    fn is_from_outside(&self) -> bool {
        let inside = self.agent.contains("keystoneauth1") || self.agent.starts_with("python-");
        !inside && self.agent != AGENT
    }
}

fn parse(line: &str, ports: &Ports) -> Option<Request> {
    let mut fields = line.splitn(6, '\t');
    let (service, region) = ports.find(fields.next()?.parse().ok()?)?;
    Some(Request {
        service,
        region,
        method: fields.next()?.to_owned(),
        path: fields.next()?.to_owned(),
        status: fields.next()?.parse().ok()?,
        took: Duration::try_from_secs_f64(fields.next()?.parse().ok()?).ok()?,
        agent: fields.next()?.to_owned(),
    })
}
