//! What the API server was asked, according to its audit log.

use super::Rig;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

/// A moment, and its place in the audit log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mark {
    offset: u64,
    at: Timestamp,
}

/// One request that was answered, or a watch that was begun.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Who asked.
    pub user: String,
    /// As what program.
    pub agent: String,
    /// `get`, `patch`, …
    pub verb: String,
    /// With its subresource: `nodes/status`.
    pub resource: String,
    /// Of the object; empty for lists.
    pub namespace: String,
    /// Of the object; empty for lists and for what has just been made.
    pub name: String,
    /// The HTTP status.
    pub code: u16,
    /// When it came.
    pub at: Timestamp,
}

impl Rig {
    /// The end of the audit log as of now.
    pub fn mark(&self) -> Mark {
        Mark::end_of(&self.plane().audit_log())
    }

    /// What the managers of this rig asked, oldest first.
    pub fn requests(&self) -> Vec<Entry> {
        self.requests_since(Mark::default())
    }

    /// What they asked since then.
    pub fn requests_since(&self, mark: Mark) -> Vec<Entry> {
        self.requests_of(&self.name, mark)
    }

    /// What this user asked since then.
    pub fn requests_of(&self, user: &str, mark: Mark) -> Vec<Entry> {
        let all = self.all_requests(mark).into_iter();
        all.filter(|entry| entry.user == user).collect()
    }

    /// What anybody asked since then.
    pub fn all_requests(&self, mark: Mark) -> Vec<Entry> {
        mark.read(&self.plane().audit_log())
    }
}

impl Mark {
    /// The end of this audit log as of now.
    pub fn end_of(log: &Path) -> Self {
        Self {
            offset: std::fs::metadata(log).unwrap().len(),
            at: Timestamp::now(),
        }
    }

    /// What was asked since then: the answer to what was asked before may be written down later.
    pub fn read(self, log: &Path) -> Vec<Entry> {
        let mut text = String::new();
        let mut file = File::open(log).unwrap();
        file.seek(SeekFrom::Start(self.offset)).unwrap();
        file.read_to_string(&mut text).unwrap();
        // The last line may still be being written.
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter_map(|line: Value| entry(&line))
            .filter(|entry| entry.at >= self.at)
            .collect()
    }
}

impl Entry {
    /// Whether it changes something.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// `verb resource`, for counting.
    pub fn what(&self) -> String {
        format!("{} {}", self.verb, self.resource)
    }
}

fn entry(line: &Value) -> Option<Entry> {
    let text = |pointer: &str| {
        line.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let code = line.pointer("/responseStatus/code").and_then(Value::as_u64);
    let code = u16::try_from(code.unwrap_or_default()).ok()?;
    // A watch has one line at its beginning and one at its end.
    if text("/verb") == "watch" && text("/stage") == "ResponseComplete" && code == 200 {
        return None;
    }
    let (resource, sub) = (text("/objectRef/resource"), text("/objectRef/subresource"));
    Some(Entry {
        user: text("/user/username"),
        agent: text("/userAgent"),
        verb: text("/verb"),
        resource: if sub.is_empty() {
            resource
        } else {
            format!("{resource}/{sub}")
        },
        namespace: text("/objectRef/namespace"),
        name: text("/objectRef/name"),
        code,
        at: text("/requestReceivedTimestamp").parse().ok()?,
    })
}
