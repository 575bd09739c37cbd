//! SOAP 1.1, as vCenter speaks it: requests in, the values of an answer or a fault out.

use super::xml::{Broken, Element, escaped};
use cloud::Error;
use cloud_http::{DecodeError, Failure, Response};
use std::fmt;

/// A managed object of a vCenter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    /// Its type: `VirtualMachine`.
    pub kind: String,
    /// Its ID: `vm-1`.
    pub id: String,
}

impl Reference {
    /// The object of this type and ID.
    pub fn new(kind: impl Into<String>, id: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            id: id.into(),
        }
    }

    /// The object that an element names.
    pub fn of(element: &Element) -> Option<Self> {
        let is_named = !element.kind.is_empty() && !element.text.is_empty();
        is_named.then(|| Self::new(&element.kind, &element.text))
    }

    /// It as an element of this name.
    pub fn element(&self, name: &str) -> String {
        format!(
            "<{name} type=\"{}\">{}</{name}>",
            escaped(&self.kind),
            escaped(&self.id)
        )
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.id)
    }
}

/// A text as an element of this name.
pub fn element(name: &str, text: &str) -> String {
    format!("<{name}>{}</{name}>", escaped(text))
}

/// The body of a request that calls a method of an object; `arguments` are elements.
pub fn request(method: &str, this: &Reference, arguments: &str) -> String {
    let this = this.element("_this");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Envelope xmlns=\"http://schemas.xmlsoap.org/soap/envelope/\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><Body><{method} xmlns=\"urn:vim25\">{this}{arguments}</{method}></Body></Envelope>"
    )
}

/// The values that a method returned.
///
/// # Errors
/// If the answer is not complete, or is something else.
pub fn returned(method: &str, response: &Response) -> Result<Vec<Element>, DecodeError> {
    values(method, &String::from_utf8_lossy(response.body()))
}

fn values(method: &str, text: &str) -> Result<Vec<Element>, DecodeError> {
    let root = Element::parse(text).map_err(|broken| match broken {
        Broken::Truncated => DecodeError::Truncated(format!("{method}Response has no end")),
        Broken::Garbled => DecodeError::Garbled("it is no such XML".to_owned()),
    })?;
    let answer = body(root).filter(|answer| answer.name.strip_suffix("Response") == Some(method));
    let answer = answer.ok_or_else(|| DecodeError::Garbled(format!("it is no {method}Response")))?;
    let values = answer.children.into_iter();
    Ok(values.filter(|value| value.name == "returnval").collect())
}

/// The element in the body of an envelope.
fn body(root: Element) -> Option<Element> {
    let mut parts = root.children.into_iter();
    let body = parts.find(|part| root.name == "Envelope" && part.name == "Body")?;
    body.children.into_iter().next()
}

/// Why a vCenter refused a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its type: `InvalidLogin`.
    pub kind: String,
    /// What the vCenter says.
    pub message: String,
}

impl Fault {
    /// The fault in a failure; `None` if no vCenter wrote it.
    pub fn of(failure: &Failure) -> Option<Self> {
        Self::parse(failure.text())
    }

    fn parse(text: &str) -> Option<Self> {
        let fault = body(Element::parse(text).ok()?).filter(|fault| fault.name == "Fault")?;
        let detail = fault.child("detail").and_then(|detail| detail.children.first());
        let kind = detail.map_or("", |detail| match detail.kind.as_str() {
            "" => detail.name.strip_suffix("Fault").unwrap_or(&detail.name),
            kind => kind,
        });
        Some(Self {
            kind: kind.to_owned(),
            message: fault.text_of("faultstring").to_owned(),
        })
    }
}

/// Whether a vCenter wrote this.
pub fn is_own(failure: &Failure) -> bool {
    Fault::of(failure).is_some()
}

/// Whether the session has ended.
pub fn is_stale(failure: &Failure) -> bool {
    Fault::of(failure).is_some_and(|fault| fault.kind == "NotAuthenticated")
}

/// What a fault means for the caller.
pub fn explain(failure: &Failure) -> Option<Error> {
    let fault = Fault::of(failure)?;
    let call = || failure.call().to_owned();
    Some(match fault.kind.as_str() {
        "InvalidLogin" | "NotAuthenticated" | "NoPermission" | "RestrictedVersion" => {
            Error::denied(call(), failure.clone())
        }
        "ManagedObjectNotFound" => Error::not_found(failure.what()),
        "InvalidArgument" | "InvalidProperty" | "InvalidType" | "InvalidRequest" | "MethodNotFound" => {
            Error::invalid("request", format!("{} was refused: {}", failure.call(), fault.message))
        }
        // Everything else may pass: HostCommunication, ServerBusy, RequestCanceled …
        _ => Error::unavailable(call(), failure.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn envelope(body: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\">\
             <soapenv:Body>{body}</soapenv:Body></soapenv:Envelope>"
        )
    }

    #[test]
    fn arguments_are_escaped() {
        let text = request(
            "Login",
            &Reference::new("SessionManager", "SessionManager"),
            &element("password", "a<b>&\"c\""),
        );
        assert!(
            text.contains("<_this type=\"SessionManager\">SessionManager</_this>"),
            "{text}"
        );
        assert!(
            text.contains("<password>a&lt;b&gt;&amp;&quot;c&quot;</password>"),
            "{text}"
        );
    }

    #[test]
    fn values_of_an_answer() {
        let text = envelope(
            "<FindAllByUuidResponse xmlns=\"urn:vim25\"><returnval type=\"VirtualMachine\">vm-1</returnval>\
             <returnval type=\"VirtualMachine\">vm-2</returnval></FindAllByUuidResponse>",
        );
        let values = values("FindAllByUuid", &text).unwrap();
        let values: Vec<_> = values.iter().filter_map(Reference::of).collect();
        assert_eq!(values, ["vm-1", "vm-2"].map(|id| Reference::new("VirtualMachine", id)));
        let none = envelope("<FindAllByUuidResponse xmlns=\"urn:vim25\"></FindAllByUuidResponse>");
        assert_eq!(super::values("FindAllByUuid", &none).unwrap(), []);
    }

    #[rstest]
    #[case::nothing("", "has no end")]
    #[case::torn("<soapenv:Envelope><soapenv:Body><FindAllByUuidResp", "has no end")]
    #[case::page("<html><body>Service Unavailable</body></html>", "it is no FindAllByUuidResponse")]
    #[case::another(&envelope("<LoginResponse/>"), "it is no FindAllByUuidResponse")]
    #[case::empty(&envelope(""), "it is no FindAllByUuidResponse")]
    #[case::text("error", "it is no such XML")]
    fn no_answer(#[case] text: &str, #[case] why: &str) {
        let error = values("FindAllByUuid", text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[rstest]
    #[case::by_type(
        "<InvalidLoginFault xmlns=\"urn:vim25\" xsi:type=\"InvalidLogin\"></InvalidLoginFault>",
        "InvalidLogin"
    )]
    #[case::by_name(
        "<NotAuthenticatedFault xmlns=\"urn:vim25\"><privilegeId>System.View</privilegeId></NotAuthenticatedFault>",
        "NotAuthenticated"
    )]
    #[case::without_detail("", "")]
    fn faults(#[case] detail: &str, #[case] kind: &str) {
        let text = envelope(&format!(
            "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>no</faultstring><detail>{detail}</detail></soapenv:Fault>"
        ));
        let fault = Fault::parse(&text).unwrap();
        assert_eq!((fault.kind.as_str(), fault.message.as_str()), (kind, "no"));
    }

    #[test]
    fn a_page_of_a_proxy_is_no_fault() {
        assert_eq!(Fault::parse("<html><body><h1>503</h1></body></html>"), None);
        assert_eq!(Fault::parse("{\"error\": 1}"), None);
    }
}
