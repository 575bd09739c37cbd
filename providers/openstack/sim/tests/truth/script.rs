//! The requests, as data.

use serde_json::Value;

/// One request of the list.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub name: String,
    pub who: String,
    pub method: String,
    pub service: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    /// Values of the answer to be kept: their names and where they are.
    pub kept: Vec<(String, String)>,
    pub until: Option<Until>,
    pub unordered: Vec<String>,
    pub some: Vec<String>,
    pub loose: Vec<String>,
    /// Values of the answer to be compared with kept ones: their names and where they are.
    pub than: Vec<(String, String)>,
    pub after: After,
    /// The load balancer whose next change fails.
    pub fail: Option<String>,
}

impl Request {
    /// The load balancer of this run that it gives a name, if it does.
    pub fn balancer(&self) -> Option<String> {
        let body: Value = serde_json::from_str(self.body.as_deref()?).ok()?;
        let name = body["loadbalancer"]["name"].as_str()?;
        name.contains("${run}").then(|| name.to_owned())
    }
}

/// When to send a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum After {
    #[default]
    Nothing,
    /// Times of services are in whole seconds: later changes have a later time from then on.
    ASecond,
}

/// When to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Until {
    Gone,
    Is(String, String),
}

/// Reads the list.
pub fn parse(text: &str) -> Vec<Request> {
    let blocks = text
        .split("\n\n")
        .map(|block| block.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>());
    blocks
        .filter(|lines| !lines.is_empty())
        .map(|lines| request(&lines))
        .collect()
}

fn request(lines: &[&str]) -> Request {
    let mut request = Request {
        who: "us".into(),
        ..Request::default()
    };
    for line in lines.iter().filter(|line| !line.is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let pair = || {
            rest.split_once(' ')
                .map(|(one, two)| (one.to_owned(), two.to_owned()))
                .unwrap_or_default()
        };
        match word {
            "=" => rest.clone_into(&mut request.name),
            "H" => request.headers.extend(
                rest.split_once(": ")
                    .map(|(name, value)| (name.to_owned(), value.to_owned())),
            ),
            ">" => request.kept.push(pair()),
            "until" if rest == "gone" => request.until = Some(Until::Gone),
            "until" => request.until = Some(Until::Is(pair().0, pair().1)),
            "unordered" => request.unordered.push(rest.to_owned()),
            "some" => request.some.push(rest.to_owned()),
            "than" => request.than.push(pair()),
            "pause" => request.after = After::ASecond,
            "fail" => request.fail = Some(rest.to_owned()),
            "loose" => request.loose.push(rest.to_owned()),
            _ if line.starts_with('@') => line[1..].clone_into(&mut request.who),
            _ if line.starts_with('{') => request.body = Some((*line).to_owned()),
            method => {
                method.clone_into(&mut request.method);
                (request.service, request.path) = pair();
            }
        }
    }
    request
}

/// The values at a place; `*` is every item.
pub fn select<'a>(value: &'a mut Value, path: &str) -> Vec<&'a mut Value> {
    let mut found = vec![value];
    for part in path.trim_matches('/').split('/').filter(|part| !part.is_empty()) {
        found = found
            .into_iter()
            .flat_map(|value| match (value, part) {
                (Value::Array(items), "*") => items.iter_mut().collect::<Vec<_>>(),
                (Value::Array(items), index) => index
                    .parse()
                    .ok()
                    .and_then(|index: usize| items.get_mut(index))
                    .into_iter()
                    .collect(),
                (Value::Object(fields), name) => fields.get_mut(name).into_iter().collect(),
                _ => Vec::new(),
            })
            .collect();
    }
    found
}
