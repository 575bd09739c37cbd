//! The pages of the reference that the code itself writes, in Markdown.

use crate::{ccm, operator};
use openstack::{
    balancers::annotations::{self, Applied},
    config,
};
use std::fmt::Write;

/// The names of all pages.
pub const PAGES: [&str; 5] = [
    "flags",
    "operator-flags",
    "crd",
    "openstack-config",
    "openstack-annotations",
];

/// The page with this name.
pub fn page(name: &str) -> Option<String> {
    match name {
        "flags" => Some(ccm::reference()),
        "operator-flags" => Some(operator::reference()),
        "crd" => Some(::operator::standalone::crd_yaml()),
        "openstack-config" => Some(keys()),
        "openstack-annotations" => Some(service_annotations()),
        _ => None,
    }
}

fn keys() -> String {
    let mut page = "# The keys of cloud.conf for OpenStack\n".to_owned();
    let mut section = "";
    for key in config::reference() {
        if key.section != section {
            section = key.section;
            let _ = write!(
                page,
                "\n## [{section}]\n\n| key | type | default | meaning |\n|---|---|---|---|\n"
            );
        }
        let default = quoted(key.default);
        let inert = match key.effect {
            config::Effect::Used => "",
            config::Effect::Obsolete => ". No effect any more.",
            config::Effect::Foreign => ". For another program that reads this file.",
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {default} | {}{inert} |",
            key.key,
            key.kind,
            cell(key.meaning)
        );
    }
    page
}

fn service_annotations() -> String {
    let mut page = "# The annotations of Services for OpenStack\n\n\
                    | annotation | default | meaning | a change reaches a load balancer that exists |\n|---|---|---|---|\n"
        .to_owned();
    for one in annotations::reference() {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            one.key,
            cell(one.default),
            cell(one.meaning),
            applied(one.applied)
        );
    }
    page
}

fn applied(applied: Applied) -> &'static str {
    match applied {
        Applied::Always => "yes",
        Applied::AtCreation => "no",
        Applied::AtDeletion => "counts when it is deleted or becomes internal",
        Applied::Written => "written by the manager",
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("`{text}`")
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
