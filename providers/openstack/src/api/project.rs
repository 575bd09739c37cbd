//! The project and region of credentials. Pure.

use super::{catalog::Catalog, service::Service};
use crate::config::Global;
use cloud::Result;
use provider_kit::live_config::another;

/// A project in a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    id: Option<String>,
    /// The configured region; may be empty.
    asked: String,
    /// The region where Nova was found.
    region: Option<String>,
}

impl Project {
    /// The project and region of a token, by its catalog.
    pub fn of(project: Option<&str>, catalog: &Catalog, global: &Global) -> Self {
        let Global { region, interface, .. } = global;
        let found = catalog.region(Service::Compute, region, *interface);
        Self {
            id: project.map(str::to_owned),
            asked: region.clone(),
            region: found.map(str::to_owned),
        }
    }

    /// Whether what exists in `running` exists here, too.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`] if this is another project, or another region.
    pub fn follows(&self, running: &Self) -> Result<()> {
        if self.id != running.id {
            return Err(another("project", running.id.as_deref(), self.id.as_deref()));
        }
        // The same configured region selects the same endpoints as the running configuration, whatever the catalog contains now.
        if self.asked != running.asked && self.region != running.region {
            return Err(another("region", running.region.as_deref(), self.region.as_deref()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// `demo/RegionOne/RegionOne`: the project, the configured region, the region in the catalog; `-` is none.
    fn project(text: &str) -> Project {
        let words: Vec<_> = text.split('/').collect();
        let some = |word: &str| (word != "-").then(|| word.to_owned());
        Project {
            id: some(words[0]),
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
    #[case::no_region_has_another_endpoint(
        "demo/two/two",
        "demo/-/one",
        "invalid region: this configuration is for region one, and the running one is for region two; restart the manager if you mean it"
    )]
    fn follows(#[case] running: &str, #[case] new: &str, #[case] expected: &str) {
        let followed = project(new).follows(&project(running));
        assert_eq!(
            followed.err().map(|error| error.to_string()).unwrap_or_default(),
            expected
        );
    }
}
