//! Where credentials lead to: a project in a region. What a Service has there is nowhere else. Pure.

use super::{catalog::Catalog, service::Service};
use crate::config::Global;
use cloud::{Error, Result};

/// A project in a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    project: Option<String>,
    /// The region that is asked for; may be empty.
    asked: String,
    /// The region where Nova was found.
    region: Option<String>,
}

impl Place {
    /// Where a token leads to, by the catalog that came with it.
    pub fn of(project: Option<&str>, catalog: &Catalog, global: &Global) -> Self {
        let Global { region, interface, .. } = global;
        let found = catalog.region(Service::Compute, region, *interface);
        Self {
            project: project.map(str::to_owned),
            asked: region.clone(),
            region: found.map(str::to_owned),
        }
    }

    /// Whether one can go over from `running` to this and find everything there.
    ///
    /// # Errors
    /// [`Error::Invalid`] if this is another project, or another region.
    pub fn follows(&self, running: &Self) -> Result<()> {
        if self.project != running.project {
            return Err(elsewhere(
                "project",
                self.project.as_deref(),
                running.project.as_deref(),
            ));
        }
        // Who asks for the same as before gets the same as without a new configuration, whatever the catalog says today.
        if self.asked != running.asked && self.region != running.region {
            return Err(elsewhere("region", self.region.as_deref(), running.region.as_deref()));
        }
        Ok(())
    }
}

fn elsewhere(what: &str, new: Option<&str>, running: Option<&str>) -> Error {
    let named = |name: Option<&str>| name.map_or_else(|| format!("no {what}"), |name| format!("{what} {name}"));
    let (new, running) = (named(new), named(running));
    Error::invalid(
        what,
        format!(
            "this configuration is for {new}, and the running one is for {running}; restart the manager if you mean it"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// `demo/RegionOne/RegionOne`: the project, the region that is asked for, the one that is found; `-` is none.
    fn place(text: &str) -> Place {
        let words: Vec<_> = text.split('/').collect();
        let some = |word: &str| (word != "-").then(|| word.to_owned());
        Place {
            project: some(words[0]),
            asked: some(words[1]).unwrap_or_default(),
            region: some(words[2]),
        }
    }

    #[rstest]
    #[case::the_same("demo/one/one", "demo/one/one", "")]
    #[case::named_at_last("demo/-/one", "demo/one/one", "")]
    #[case::not_named_any_more("demo/one/one", "demo/-/one", "")]
    #[case::by_its_other_name("demo/Old Name/one", "demo/one/one", "")]
    #[case::another_order_of_the_catalog("demo/-/one", "demo/-/two", "")]
    #[case::another_project(
        "demo/one/one",
        "admin/one/one",
        "invalid project: this configuration is for project admin, and the running one is for project demo; restart the manager if you mean it"
    )]
    #[case::no_project(
        "demo/one/one",
        "-/one/one",
        "invalid project: this configuration is for no project, and the running one is for project demo; restart the manager if you mean it"
    )]
    #[case::another_region(
        "demo/one/one",
        "demo/two/two",
        "invalid region: this configuration is for region two, and the running one is for region one; restart the manager if you mean it"
    )]
    #[case::no_region_leads_elsewhere(
        "demo/two/two",
        "demo/-/one",
        "invalid region: this configuration is for region one, and the running one is for region two; restart the manager if you mean it"
    )]
    fn follows(#[case] running: &str, #[case] new: &str, #[case] expected: &str) {
        let followed = place(new).follows(&place(running));
        assert_eq!(
            followed.err().map(|error| error.to_string()).unwrap_or_default(),
            expected
        );
    }
}
