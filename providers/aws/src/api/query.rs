//! AWS's query protocol: parameters of a form in, XML out.

use cloud_http::{DecodeError, Response};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::Value;
use std::ops::Deref;

/// How the items of a list are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// `InstanceId.1`, as in EC2. An empty list is left out.
    Flat,
    /// `Names.member.1`, as everywhere else. An empty list is sent as `Names=`: it removes what was there.
    Members,
}

/// The parameters that a request has. A field that is `null` is left out.
///
/// # Errors
/// If the request has something that is no parameter.
pub fn parameters(request: &impl Serialize, lists: Lists) -> Result<Vec<(String, String)>, serde_json::Error> {
    let mut parameters = Vec::new();
    flatten("", &serde_json::to_value(request)?, lists, &mut parameters);
    Ok(parameters)
}

fn flatten(name: &str, value: &Value, lists: Lists, into: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::String(text) => into.push((name.to_owned(), text.clone())),
        Value::Bool(_) | Value::Number(_) => into.push((name.to_owned(), value.to_string())),
        Value::Object(fields) => {
            let dot = if name.is_empty() { "" } else { "." };
            for (field, value) in fields {
                flatten(&format!("{name}{dot}{field}"), value, lists, into);
            }
        }
        Value::Array(items) if items.is_empty() && lists == Lists::Members => {
            into.push((name.to_owned(), String::new()));
        }
        Value::Array(items) => {
            let infix = match lists {
                Lists::Flat => "",
                Lists::Members => ".member",
            };
            for (item, number) in items.iter().zip(1..) {
                flatten(&format!("{name}{infix}.{number}"), item, lists, into);
            }
        }
    }
}

/// Decodes the answer to an action. What most APIs wrap into a result is unwrapped.
///
/// # Errors
/// If the answer is not complete, or is something else.
pub fn decode<A: DeserializeOwned>(action: &str, response: &Response) -> Result<A, DecodeError> {
    decode_text(action, &String::from_utf8_lossy(response.body()))
}

fn decode_text<A: DeserializeOwned>(action: &str, text: &str) -> Result<A, DecodeError> {
    let text = text.trim();
    if !text.contains(&format!("<{action}Response")) {
        // A body that ends with the connection looks complete to HTTP.
        return Err(match text {
            "" => DecodeError::Truncated("the answer is empty".to_owned()),
            _ => DecodeError::Garbled(format!("it is no {action}Response")),
        });
    }
    if !text.ends_with(&format!("</{action}Response>")) && !text.ends_with("/>") {
        return Err(DecodeError::Truncated(format!("{action}Response has no end")));
    }
    let inner = element(text, &format!("{action}Result")).unwrap_or(text);
    // The message may quote the answer, so only its kind is shown.
    quick_xml::de::from_str(inner).map_err(|error| DecodeError::Garbled(kind(&error)))
}

/// The first element of this name, with its tags.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{name}"))?;
    let rest = &text[start..];
    let end = format!("</{name}>");
    match rest.find(&end) {
        Some(at) => Some(&rest[..at + end.len()]),
        None => rest.find("/>").map(|at| &rest[..at + 2]),
    }
}

fn kind(error: &quick_xml::DeError) -> String {
    match error {
        quick_xml::DeError::Custom(message) if message.starts_with("missing field") => message.clone(),
        quick_xml::DeError::Custom(_) => "a value is not of its kind".to_owned(),
        _ => "it is no such XML".to_owned(),
    }
}

/// A list in an answer: `<set><item/>…</set>` or `<Things><member/>…</Things>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for List<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Items<T> {
            #[serde(alias = "member", default = "Vec::new")]
            item: Vec<T>,
        }
        Items::deserialize(deserializer).map(|Items { item }| Self(item))
    }
}

impl<T: Serialize> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The answer to an action that says nothing but that it succeeded.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Done {}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::ec2(
        json!({"InstanceId": ["i-1", "i-2"], "Filter": [{"Name": "vpc-id", "Value": ["v"]}], "DryRun": false, "NextToken": null, "Tag": []}),
        Lists::Flat,
        "DryRun=false Filter.1.Name=vpc-id Filter.1.Value.1=v InstanceId.1=i-1 InstanceId.2=i-2"
    )]
    #[case::others(
        json!({"Names": ["a"], "Port": 80, "SecurityGroups": [], "Tags": [{"Key": "k", "Value": ""}]}),
        Lists::Members,
        "Names.member.1=a Port=80 SecurityGroups= Tags.member.1.Key=k Tags.member.1.Value="
    )]
    fn flattens(#[case] request: Value, #[case] lists: Lists, #[case] expected: &str) {
        let mut pairs: Vec<String> = parameters(&request, lists)
            .unwrap()
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.sort();
        assert_eq!(pairs.join(" "), expected);
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Answer {
        #[serde(alias = "nameSet")]
        names: List<String>,
        #[serde(default)]
        port: Option<u16>,
    }

    const START: &str = r#"<?xml version="1.0"?><DoResponse xmlns="http://x/">"#;

    #[rstest]
    #[case::ec2(
        "<requestId>1</requestId><nameSet><item>a</item><item>b</item></nameSet></DoResponse>",
        "a b -"
    )]
    #[case::wrapped(
        "<DoResult><Names><member>a</member></Names><Port>80</Port></DoResult><ResponseMetadata/></DoResponse>",
        "a 80"
    )]
    #[case::empty_list("<DoResult><Names/></DoResult></DoResponse>\n", " -")]
    #[case::without_the_list("<DoResult><Port>80</Port></DoResult></DoResponse>", "missing field `Names`")]
    #[case::no_result("</DoResponse>", "missing field `Names`")]
    #[case::truncated("<DoResult><Names><member>a</mem", "DoResponse has no end")]
    #[case::truncated_between_items("<DoResult><Names><member>a</member>", "DoResponse has no end")]
    #[case::not_a_number(
        "<DoResult><Names/><Port>s3cr3t</Port></DoResult></DoResponse>",
        "a value is not of its kind"
    )]
    fn decodes(#[case] body: &str, #[case] expected: &str) {
        let text = match decode_text::<Answer>("Do", &format!("{START}{body}")) {
            Ok(answer) => {
                let port = answer.port.map_or("-".to_owned(), |port| port.to_string());
                format!("{} {port}", answer.names.join(" "))
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(text, expected);
    }

    #[rstest]
    #[case::nothing("", true)]
    #[case::a_page_of_a_proxy("<html>It works!</html>", false)]
    fn other_answers_are_refused(#[case] body: &str, #[case] truncated: bool) {
        let error = decode_text::<Done>("Do", body).unwrap_err();
        assert_eq!(matches!(error, DecodeError::Truncated(_)), truncated, "{error}");
    }

    #[test]
    fn a_result_without_content_is_an_answer() {
        assert!(decode_text::<Done>("Do", &format!("{START}<DoResult/></DoResponse>")).is_ok());
    }
}
