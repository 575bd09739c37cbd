//! AWS's query protocol from the side of the server: parameters of a form become a tree, and answers become XML.

use fakecloud::{Query, Response, Value};
use serde_json::Map;

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub code: &'static str,
    pub message: String,
}

/// What a call answers.
pub type Answer = Result<Value, Refusal>;

impl Refusal {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: 400,
            code,
            message: message.into(),
        }
    }
}

/// The parameters of a call. All values are texts.
#[derive(Debug, Clone, Default)]
pub struct Params(Value);

impl Params {
    pub fn of(form: &Query) -> Self {
        let mut tree = Value::Object(Map::new());
        for (name, value) in form.pairs() {
            let mut at = &mut tree;
            for part in name.split('.').filter(|part| *part != "member") {
                if !at.is_object() {
                    *at = Value::Object(Map::new());
                }
                at = &mut at[part];
            }
            *at = value.into();
        }
        Self(with_lists(tree))
    }

    /// The text of a parameter; empty if it is not given.
    pub fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    /// The text of a parameter that must be given.
    pub fn required(&self, name: &'static str) -> Result<&str, Refusal> {
        let missing = || {
            Refusal::new(
                "MissingParameter",
                format!("The request must contain the parameter {name}"),
            )
        };
        Some(self.text(name))
            .filter(|text| !text.is_empty())
            .ok_or_else(missing)
    }

    pub fn number(&self, name: &str) -> Option<usize> {
        self.text(name).parse().ok()
    }

    /// The items of a list.
    pub fn list(&self, name: &str) -> &[Value] {
        self.0[name].as_array().map_or(&[], Vec::as_slice)
    }

    /// The items of a list of texts.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        self.list(name).iter().filter_map(Value::as_str).collect()
    }

    /// What was given, as it is.
    pub fn get(&self, name: &str) -> &Value {
        &self.0[name]
    }

    /// The given ones of these parameters.
    pub fn only(&self, names: &[&str]) -> Value {
        let given = names.iter().filter(|name| !self.0[**name].is_null());
        Value::Object(given.map(|name| ((*name).to_owned(), self.0[*name].clone())).collect())
    }
}

/// Objects whose keys are the numbers from 1 are lists.
fn with_lists(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let mut numbered: Vec<(usize, Value)> = Vec::new();
    let is_list = !fields.is_empty() && fields.keys().all(|key| key.parse::<usize>().is_ok());
    if !is_list {
        return Value::Object(
            fields
                .into_iter()
                .map(|(key, value)| (key, with_lists(value)))
                .collect(),
        );
    }
    for (key, value) in fields {
        numbered.push((key.parse().unwrap_or_default(), with_lists(value)));
    }
    numbered.sort_by_key(|(number, _)| *number);
    Value::Array(numbered.into_iter().map(|(_, value)| value).collect())
}

/// The two dialects of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// EC2: lists have `<item>`s, and nothing is wrapped.
    Ec2,
    /// The others: lists have `<member>`s, and the result is wrapped.
    Query,
}

pub fn answer(dialect: Dialect, action: &str, value: &Value) -> Response {
    let mut body = String::new();
    match dialect {
        Dialect::Ec2 => {
            render(value, "item", &mut body);
            let namespace = "http://ec2.amazonaws.com/doc/2016-11-15/";
            body =
                format!("<{action}Response xmlns=\"{namespace}\"><requestId>sim</requestId>{body}</{action}Response>");
        }
        Dialect::Query => {
            render(value, "member", &mut body);
            body = format!(
                "<{action}Response><{action}Result>{body}</{action}Result>\
                 <ResponseMetadata><RequestId>sim</RequestId></ResponseMetadata></{action}Response>"
            );
        }
    }
    Response::new(200, "text/xml", body)
}

pub fn refuse(dialect: Dialect, refusal: &Refusal) -> Response {
    let mut message = String::new();
    escape(&refusal.message, &mut message);
    let error = format!("<Code>{}</Code><Message>{message}</Message>", refusal.code);
    let body = match dialect {
        Dialect::Ec2 => {
            format!("<Response><Errors><Error>{error}</Error></Errors><RequestID>sim</RequestID></Response>")
        }
        Dialect::Query => {
            format!(
                "<ErrorResponse><Error><Type>Sender</Type>{error}</Error><RequestId>sim</RequestId></ErrorResponse>"
            )
        }
    };
    Response::new(refusal.status, "text/xml", body)
}

fn render(value: &Value, item: &str, into: &mut String) {
    match value {
        Value::Null => {}
        Value::String(text) => escape(text, into),
        Value::Bool(_) | Value::Number(_) => into.push_str(&value.to_string()),
        Value::Array(items) => {
            for value in items {
                element(item, value, item, into);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                element(name, value, item, into);
            }
        }
    }
}

fn element(name: &str, value: &Value, item: &str, into: &mut String) {
    into.extend(["<", name, ">"]);
    render(value, item, into);
    into.extend(["</", name, ">"]);
}

fn escape(text: &str, into: &mut String) {
    for letter in text.chars() {
        match letter {
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '&' => into.push_str("&amp;"),
            letter => into.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fakecloud::json;

    #[test]
    fn parameters_become_a_tree() {
        let form =
            Query::parse("Action=A&Filter.1.Name=vpc-id&Filter.1.Value.2=b&Filter.1.Value.1=a&Names.member.1=x&Empty=");
        let params = Params::of(&form);
        assert_eq!(params.list("Filter"), [json!({"Name": "vpc-id", "Value": ["a", "b"]})]);
        assert_eq!((params.texts("Names"), params.texts("Empty")), (vec!["x"], vec![]));
    }

    #[test]
    fn answers_become_xml() {
        let value = json!({"set": [{"a": "<1>"}, {"b": 2}], "none": null});
        let text = |dialect| String::from_utf8(answer(dialect, "Do", &value).body.to_vec()).unwrap_or_default();
        assert!(
            text(Dialect::Ec2).contains("<set><item><a>&lt;1&gt;</a></item><item><b>2</b></item></set></DoResponse>")
        );
        assert!(text(Dialect::Query).starts_with("<DoResponse><DoResult><set><member><a>"));
    }
}
