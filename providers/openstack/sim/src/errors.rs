//! The error bodies of the services, each in its own form.

use crate::{
    exchange::{Ask, Response},
    neutron, nova, octavia,
    service::Service,
};
use serde_json::json;

/// Whether this call needs no token.
pub(crate) fn is_open(ask: &Ask) -> bool {
    match (ask.service, ask.segments().as_slice()) {
        (_, []) | (Service::Nova, ["v2.1" | "v2"]) => true,
        _ => ask.service == Service::Keystone,
    }
}

/// No token, or none that is good.
pub(crate) fn unauthorized(ask: &Ask) -> Response {
    let keystone = format!("Keystone uri=\"{}/{}/v3\"", ask.origin, Service::Keystone);
    keystone_error(
        401,
        "Unauthorized",
        "The request you have made requires authentication.",
    )
    .header("WWW-Authenticate", keystone)
}

/// The body of a service for a status without a reason.
pub(crate) fn of_status(service: Service, status: u16) -> Response {
    let reason = http::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Error");
    match service {
        _ if status == 401 => keystone_error(401, reason, "The request you have made requires authentication."),
        Service::Keystone => keystone_error(status, reason, reason),
        Service::Nova => nova::error(status, reason),
        Service::Neutron => neutron::error(status, "HTTPError", reason),
        Service::Octavia => octavia::error(status, reason),
        Service::Barbican | Service::Glance => {
            Response::json(status, json!({"code": status, "title": reason, "description": reason}))
        }
    }
}

/// The form of Keystone, which the 401 of every service has, too.
pub(crate) fn keystone_error(status: u16, title: &str, message: &str) -> Response {
    Response::json(
        status,
        json!({"error": {"code": status, "title": title, "message": message}}),
    )
}

/// The page that a web framework gives where there is nothing.
pub(crate) fn not_found_page(reason: &str) -> Response {
    let page = format!(
        "<html>\n <head>\n  <title>404 Not Found</title>\n </head>\n <body>\n  <h1>404 Not Found</h1>\n  The resource could not \
         be found.<br /><br />\n{reason}\n\n\n </body>\n</html>"
    );
    Response::new(404, "text/html; charset=UTF-8", page)
}
