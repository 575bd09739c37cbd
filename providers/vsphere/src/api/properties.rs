//! The property collector: properties of many objects with one call and its pages.

use super::{
    Api, Scope,
    soap::{Reference, element},
    xml::Element,
};
use cloud::{Error, Result};
use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
};

/// How many objects a page has.
const PAGE: usize = 100;

/// How many objects are named in one call.
const MOST_NAMED: usize = 500;

/// More pages are an endless list.
const MOST_PAGES: usize = 10_000;

/// An object with the properties that were read.
#[derive(Debug, Clone)]
pub struct Object {
    /// Which object it is.
    pub reference: Reference,
    properties: BTreeMap<String, Element>,
}

/// An object and those above it, as far as they were read: the name and the parent of each.
pub type Inventory = HashMap<Reference, (String, Option<Reference>)>;

/// What is read, as elements.
struct Filter {
    /// Types and their properties.
    properties: String,
    /// Where to start, and how to go on.
    objects: String,
}

/// The end of a read.
enum End {
    Complete(Vec<Object>),
    /// Objects without their properties, because the session has ended.
    Unauthenticated,
}

impl Object {
    /// A property that is a text or a number; empty if it is not set.
    pub fn text(&self, path: &str) -> &str {
        self.value(path).map_or("", |value| &value.text)
    }

    /// A property that is an object.
    pub fn reference(&self, path: &str) -> Option<Reference> {
        self.value(path).and_then(Reference::of)
    }

    /// A property, if it is set.
    pub fn value(&self, path: &str) -> Option<&Element> {
        self.properties.get(path)
    }

    fn of(element: Element) -> Option<Self> {
        let reference = Reference::of(element.child("obj")?)?;
        let property = |property: Element| {
            let name = property.text_of("name").to_owned();
            let value = property.children.into_iter().find(|child| child.name == "val")?;
            Some((name, value))
        };
        let properties = element.children.into_iter().filter(|child| child.name == "propSet");
        Some(Self {
            reference,
            properties: properties.filter_map(property).collect(),
        })
    }
}

impl Api {
    /// Reads properties of these objects. Some may be left out of the answer.
    ///
    /// # Errors
    /// [`Error::NotFound`] if one of them does not exist any more.
    pub async fn objects(&self, kind: &str, references: &[Reference], paths: &[&str]) -> Result<Vec<Object>> {
        let mut objects = Vec::new();
        for references in references.chunks(MOST_NAMED) {
            let named = references.iter().map(|reference| object(reference, Skip::No, ""));
            let filter = Filter {
                properties: properties(kind, paths),
                objects: named.collect(),
            };
            objects.extend(self.read(&filter).await?);
        }
        Ok(objects)
    }

    /// Reads properties of all virtual machines in a scope.
    pub async fn machines(&self, scope: &Scope, paths: &[&str]) -> Result<Vec<Object>> {
        let start = match scope {
            Scope::Everywhere => self.root().await?,
            Scope::Datacenter(datacenter) => datacenter.clone(),
        };
        let filter = Filter {
            properties: properties("VirtualMachine", paths),
            objects: object(&start, Skip::Yes, &downwards()),
        };
        self.read(&filter).await
    }

    /// All datacenters, with the names of the folders above them.
    pub async fn datacenters(&self) -> Result<(Vec<Reference>, Inventory)> {
        let root = self.root().await?;
        let folders = traversal("folders", "Folder", "childEntity", &selection("folders"));
        let filter = Filter {
            properties: properties("Datacenter", &["name", "parent"]) + &properties("Folder", &["name", "parent"]),
            objects: object(&root, Skip::No, &folders),
        };
        let inventory = inventory(self.read(&filter).await?);
        let datacenters = inventory.keys().filter(|reference| reference.kind == "Datacenter");
        Ok((datacenters.cloned().collect(), inventory))
    }

    /// These objects and everything above them.
    pub async fn ancestors(&self, references: &[Reference]) -> Result<Inventory> {
        let upwards = traversal("upwards", "ManagedEntity", "parent", &selection("upwards"));
        let mut all = Inventory::new();
        for references in references.chunks(MOST_NAMED) {
            let named = references.iter().map(|reference| object(reference, Skip::No, &upwards));
            let filter = Filter {
                properties: properties("ManagedEntity", &["name", "parent"]),
                objects: named.collect(),
            };
            all.extend(inventory(self.read(&filter).await?));
        }
        Ok(all)
    }

    async fn read(&self, filter: &Filter) -> Result<Vec<Object>> {
        if let End::Complete(objects) = self.pages(filter).await? {
            return Ok(objects);
        }
        // This call never says that the session has ended: its objects then lack all properties.
        self.session.renew().await?;
        match self.pages(filter).await? {
            End::Complete(objects) => Ok(objects),
            End::Unauthenticated => Err(Error::denied(
                "retrieve properties",
                "the new session has ended already",
            )),
        }
    }

    async fn pages(&self, filter: &Filter) -> Result<End> {
        let session = self.session().await?;
        let collector = &session.content.property_collector;
        let Filter { properties, objects } = filter;
        let arguments =
            format!("<specSet>{properties}{objects}</specSet><options><maxObjects>{PAGE}</maxObjects></options>");
        let mut page = self
            .soap
            .call("retrieve_properties", "RetrievePropertiesEx", collector, &arguments)
            .await?;
        let mut all = Vec::new();
        for _ in 0..MOST_PAGES {
            let Some(result) = page.pop() else { break };
            let token = result.text_of("token").to_owned();
            for element in result.children.into_iter().filter(|child| child.name == "objects") {
                if is_unauthenticated(&element) {
                    return Ok(End::Unauthenticated);
                }
                all.extend(Object::of(element));
            }
            if token.is_empty() {
                break;
            }
            let token = element("token", &token);
            let method = "ContinueRetrievePropertiesEx";
            let next = self
                .soap
                .call("continue_retrieve_properties", method, collector, &token);
            page = next.await.map_err(of_page)?;
        }
        Ok(End::Complete(all))
    }
}

/// A vCenter that has lost its place in a list says that the token is wrong: nothing is known of the objects.
fn of_page(error: Error) -> Error {
    match error {
        Error::Invalid { .. } | Error::NotFound { .. } => {
            Error::unavailable("retrieve properties", "the inventory changed between two pages")
        }
        other => other,
    }
}

fn is_unauthenticated(object: &Element) -> bool {
    let faults = object
        .all("missingSet")
        .filter_map(|missing| missing.child("fault")?.child("fault"));
    let mut kinds = faults.map(|fault| fault.kind.as_str());
    kinds.any(|kind| kind == "NotAuthenticated")
}

fn inventory(objects: Vec<Object>) -> Inventory {
    let entry = |object: Object| {
        let (name, parent) = (object.text("name").to_owned(), object.reference("parent"));
        (object.reference, (name, parent))
    };
    objects.into_iter().map(entry).collect()
}

/// Whether an object is only the start of a way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skip {
    Yes,
    No,
}

fn properties(kind: &str, paths: &[&str]) -> String {
    let mut spec = format!("<propSet>{}<all>false</all>", element("type", kind));
    for path in paths {
        spec += &element("pathSet", path);
    }
    spec + "</propSet>"
}

fn object(reference: &Reference, skip: Skip, selections: &str) -> String {
    let skip = skip == Skip::Yes;
    format!(
        "<objectSet>{}<skip>{skip}</skip>{selections}</objectSet>",
        reference.element("obj")
    )
}

fn traversal(name: &str, kind: &str, path: &str, selections: &str) -> String {
    let mut spec = "<selectSet xsi:type=\"TraversalSpec\">".to_owned();
    let _ = write!(
        spec,
        "<name>{name}</name><type>{kind}</type><path>{path}</path><skip>false</skip>{selections}</selectSet>"
    );
    spec
}

fn selection(name: &str) -> String {
    format!("<selectSet xsi:type=\"SelectionSpec\"><name>{name}</name></selectSet>")
}

/// From a folder or a datacenter to all virtual machines beneath it.
fn downwards() -> String {
    let further = selection("folders") + &selection("datacenters") + &selection("vapps");
    traversal("folders", "Folder", "childEntity", &further)
        + &traversal("datacenters", "Datacenter", "vmFolder", &selection("folders"))
        + &traversal("vapps", "VirtualApp", "vm", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Element {
        Element::parse(text).unwrap()
    }

    #[test]
    fn properties_of_an_object() {
        let object = Object::of(parse(
            "<objects><obj type=\"VirtualMachine\">vm-7</obj>\
             <propSet><name>config.uuid</name><val xsi:type=\"xsd:string\">4206</val></propSet>\
             <propSet><name>runtime.host</name><val type=\"HostSystem\" xsi:type=\"ManagedObjectReference\">host-1</val></propSet></objects>",
        ))
        .unwrap();
        assert_eq!(object.reference, Reference::new("VirtualMachine", "vm-7"));
        assert_eq!(
            (object.text("config.uuid"), object.text("guest.hostName")),
            ("4206", "")
        );
        assert_eq!(
            object.reference("runtime.host"),
            Some(Reference::new("HostSystem", "host-1"))
        );
    }

    #[test]
    fn an_ended_session_is_recognised_by_what_is_missing() {
        let missing = |kind: &str| {
            parse(&format!(
                "<objects><obj type=\"VirtualMachine\">vm-7</obj><missingSet><path>name</path>\
                 <fault><fault xsi:type=\"{kind}\"/><localizedMessage/></fault></missingSet></objects>"
            ))
        };
        assert!(is_unauthenticated(&missing("NotAuthenticated")));
        assert!(!is_unauthenticated(&missing("NoPermission")));
    }

    #[test]
    fn requests_are_well_formed() {
        let root = Reference::new("Folder", "group-d1");
        let text = format!(
            "<specSet>{}{}</specSet>",
            properties("VirtualMachine", &["config.extraConfig[\"a\"]"]),
            object(&root, Skip::Yes, &downwards())
        );
        let spec = parse(&text);
        let set = spec.child("propSet").unwrap();
        assert_eq!(
            (set.text_of("type"), set.text_of("pathSet")),
            ("VirtualMachine", "config.extraConfig[\"a\"]")
        );
        let start = spec.child("objectSet").unwrap();
        assert_eq!(start.all("selectSet").count(), 3);
        assert!(start.all("selectSet").all(|select| select.kind == "TraversalSpec"));
    }
}
