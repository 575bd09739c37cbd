//! `--cloud-provider=aws`.

use super::{Entry, Event, Metrics, Origin, Page};
use aws::{
    Aws, TaggingOptions, annotations,
    config::{self, Config, Untagged, Variables},
    permissions, surface,
};
use manager::{Provide, Registration, Setup};
use operator::standalone::provider::{self, Changes, ClusterName, Credentials, Needs};
use runtime::flags::{Section, Strings, Switch, Texts};
use std::{collections::BTreeMap, fs, num::NonZeroUsize, path::Path, sync::Arc};
use tracing::warn;

pub const ENTRY: Entry = Entry {
    registration: Registration {
        programs: &["aws-cloud-controller-manager"],
        ..Registration::new("aws", || Box::<Flags>::default())
    },
    needs: Needs {
        config: provider::Config::Optional,
        credentials: Credentials::File {
            variable: "AWS_SHARED_CREDENTIALS_FILE",
            key: "credentials",
        },
        changes: Changes::Unseen,
        cluster_name: ClusterName::Describes,
    },
    pages,
    policies: || annotations::TABLE.policies(),
    metrics: Some(Metrics {
        title: "With AWS: as in aws-cloud-controller-manager",
        register: aws::register_metrics,
    }),
    events: &[Event {
        reason: "LoadBalancerSettingIgnored",
        when: "the Service asks for something that its load balancer cannot have, or cannot get after it was created",
        origin: Origin::Outrigger,
    }],
};

/// The flags of the tagging controller.
struct Flags {
    tags: Strings,
    resources: Texts,
    rate: f32,
    burst: i32,
    syncs: i32,
    batching: Switch,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            tags: Strings::default(),
            resources: Texts::default(),
            rate: 0.0,
            burst: 0,
            syncs: 1,
            batching: Switch::Off,
        }
    }
}

impl Setup for Flags {
    #[rustfmt::skip]
    fn sections(&mut self) -> Vec<Section<'_>> {
        vec![
            Section::new("tagging controller")
                .flag("tags", &mut self.tags, "Tags of the instances behind nodes, as key=value, for the controller 'tagging'.")
                .flag("resources", &mut self.resources, "What is tagged; the only value is 'instance'. The controller 'tagging' needs it.")
                .flag("tagging-controller-rate-limit", &mut self.rate, "Nodes that are tagged a second. 0: no limit.")
                .flag("tagging-controller-burst-limit", &mut self.burst, "Nodes that are tagged at once before the rate limit applies.")
                .flag("tagging-controller-concurrent-node-syncs", &mut self.syncs, "Calls about tags at the same time.")
                .flag("tagging-controller-enable-batching", &mut self.batching, "(No effect: up to 50 instances are always tagged with one call.)"),
        ]
    }

    fn provider(&self, start: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
        let file = start.config_file().map(read).transpose()?;
        let file = file.as_ref().map(|(name, content)| (name.as_str(), content.as_slice()));
        let mut warnings = Vec::new();
        let config = Config::new(file, Variables::of_process(), &mut warnings);
        for warning in warnings {
            warn!("{warning}");
        }
        let untagged = match start.allow_untagged_cloud {
            Switch::On => Untagged::Allowed,
            Switch::Off => Untagged::Refused,
        };
        let config = Config { untagged, ..config? };
        let provider = Aws::new(config, self.tagging()?, &start.gate, start.registry);
        Ok(Arc::new(provider.map_err(|error| error.report())?))
    }
}

fn read(path: &Path) -> Result<(String, Vec<u8>), String> {
    let name = path.display().to_string();
    let content = fs::read(path).map_err(|error| format!("--cloud-config: cannot read {name}: {error}"))?;
    Ok((name, content))
}

impl Flags {
    /// What the tagging controller does; `None` if the flags do not say enough for it.
    fn tagging(&self) -> Result<Option<TaggingOptions>, String> {
        if let Some(other) = self.resources.0.iter().find(|resource| *resource != "instance") {
            return Err(format!(
                "--resources={other}: the only resource that can be tagged is 'instance'"
            ));
        }
        if self.rate < 0.0 || self.burst < 0 {
            return Err(
                "--tagging-controller-rate-limit and --tagging-controller-burst-limit must not be negative".to_owned(),
            );
        }
        let workers = usize::try_from(self.syncs).ok().and_then(NonZeroUsize::new);
        let workers = workers.ok_or("--tagging-controller-concurrent-node-syncs must be at least 1")?;
        let tags: Result<BTreeMap<String, String>, String> = self.tags.iter().map(|pair| tag(pair)).collect();
        let tags = tags?;
        if tags.is_empty() || self.resources.0.is_empty() {
            return Ok(None);
        }
        let burst = u32::try_from(self.burst).unwrap_or_default().max(1);
        Ok(Some(TaggingOptions {
            tags,
            workers,
            rate: (self.rate > 0.0).then_some((self.rate.into(), burst)),
        }))
    }
}

fn tag(pair: &str) -> Result<(String, String), String> {
    let (key, value) = pair
        .split_once('=')
        .ok_or_else(|| format!("--tags: {pair:?} must be key=value"))?;
    Ok((key.to_owned(), value.to_owned()))
}

fn flags() -> Vec<&'static str> {
    Flags::default().sections().iter().flat_map(Section::names).collect()
}

fn pages() -> Vec<Page> {
    let page = |name, text| Page { name, text };
    vec![
        page("aws-config", config::reference_page()),
        page("aws-annotations", annotations::TABLE.page()),
        page("aws-names", surface::page(&flags())),
        page("deploy/aws/iam-policy.json", permissions::policy()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flag_of_the_go_program_is_missing() {
        let page = surface::page(&super::flags());
        assert!(page.contains("| flags | 6 | 6 |"), "{page}");
    }

    fn flags(tags: &[&str], resources: &[&str]) -> Flags {
        Flags {
            tags: Strings(tags.iter().map(ToString::to_string).collect()),
            resources: Texts(resources.iter().map(ToString::to_string).collect()),
            ..Flags::default()
        }
    }

    #[test]
    fn tagging_needs_tags_and_resources() {
        let tagging = flags(&["a=1", "b=x=y", "c="], &["instance"])
            .tagging()
            .unwrap()
            .unwrap();
        let tags: Vec<(&str, &str)> = tagging
            .tags
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(tags, [("a", "1"), ("b", "x=y"), ("c", "")]);
        assert_eq!((tagging.workers.get(), tagging.rate), (1, None));
        assert_eq!(flags(&["a=1"], &[]).tagging().unwrap(), None);
        assert_eq!(flags(&[], &["instance"]).tagging().unwrap(), None);
    }

    #[test]
    fn bad_flags_are_refused() {
        assert!(
            flags(&["a"], &["instance"])
                .tagging()
                .unwrap_err()
                .contains("must be key=value")
        );
        assert!(
            flags(&["a=1"], &["volume"])
                .tagging()
                .unwrap_err()
                .contains("--resources=volume")
        );
        let slow = Flags {
            syncs: 0,
            ..flags(&["a=1"], &["instance"])
        };
        assert!(slow.tagging().is_err());
        let negative = Flags {
            rate: -1.0,
            ..flags(&["a=1"], &["instance"])
        };
        assert!(negative.tagging().is_err());
    }
}
