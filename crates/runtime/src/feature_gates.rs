//! `--feature-gates`: switches for new features, and for features that will be removed.

use crate::flags::{Problems, Switch, Value, or_nearest};
use std::{collections::BTreeMap, fmt::Write};

/// The maturity of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// May change or be removed; `AllAlpha` switches all of them.
    Alpha,
    /// Will be kept, details may change; `AllBeta` switches all of them.
    Beta,
}

/// A feature that can be switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its maturity.
    pub stage: Stage,
    /// Whether it is on by default.
    pub default: Switch,
    /// Its effect in this program.
    pub effect: &'static str,
}

/// The known gates and their settings. A gate that is set by name takes precedence over `AllAlpha` and `AllBeta`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureGates {
    known: Vec<Gate>,
    set: BTreeMap<String, Switch>,
}

const ALL: [(&str, Stage); 2] = [("AllAlpha", Stage::Alpha), ("AllBeta", Stage::Beta)];

impl FeatureGates {
    /// The given gates, none of them set.
    #[must_use]
    pub fn new(known: &[&[Gate]]) -> Self {
        let mut known = known.concat();
        known.sort_unstable_by_key(|gate| gate.name);
        Self {
            known,
            set: BTreeMap::new(),
        }
    }

    /// Whether the feature is on. An unknown feature is off.
    pub fn is_on(&self, name: &str) -> bool {
        let Some(gate) = self.known.iter().find(|gate| gate.name == name) else {
            return false;
        };
        let all = ALL
            .iter()
            .find(|(_, stage)| *stage == gate.stage)
            .map_or("", |(all, _)| all);
        self.set
            .get(name)
            .or_else(|| self.set.get(all))
            .copied()
            .unwrap_or(gate.default)
            .is_on()
    }

    /// Warnings about gates that are set although their features are always on.
    pub fn warnings(&self) -> Vec<String> {
        let retired = self.set.keys().filter(|name| RETIRED.contains(&name.as_str()));
        retired
            .map(|name| format!("feature gate {name} has been removed: its feature is always on"))
            .collect()
    }

    /// The help of the flag, with every gate that has an effect.
    pub fn help(&self) -> String {
        let mut help = "Features to switch, as name=true or name=false. Those of Kubernetes itself and of the generic \
                        API server library are accepted and have no effect. The others are:"
            .to_owned();
        let all = ALL.map(|(name, stage)| Gate {
            name,
            stage,
            default: Switch::Off,
            effect: "all of that stage",
        });
        let mut gates: Vec<_> = self.known.iter().chain(&all).collect();
        gates.sort_unstable_by_key(|gate| gate.name);
        for Gate {
            name,
            stage,
            default,
            effect,
        } in gates
        {
            let stage = if *stage == Stage::Alpha { "ALPHA" } else { "BETA" };
            let written = write!(help, "\n{name}=true|false ({stage} - default={default}): {effect}");
            debug_assert!(written.is_ok(), "writing to a string cannot fail");
        }
        help
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.known.iter().map(|gate| gate.name).chain(ALL.map(|(name, _)| name))
    }

    fn pair(&self, pair: &str) -> Result<(String, Switch), String> {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("missing bool value for {pair}"))?;
        let (name, value) = (name.trim(), value.trim());
        let on = value
            .parse()
            .map_err(|error| format!("invalid value of {name}={value}, {error}"))?;
        if !is_inert(name) && !self.names().any(|known| known == name) {
            return Err(format!(
                "unrecognized feature gate: {name}{}",
                or_nearest(name, "", self.names())
            ));
        }
        Ok((name.to_owned(), on))
    }
}

impl Value for FeatureGates {
    fn kind(&self) -> &'static str {
        "mapStringBool"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        let mut problems = Problems::default();
        for pair in given
            .iter()
            .flat_map(|text| text.split(','))
            .filter(|pair| !pair.trim().is_empty())
        {
            match self.pair(pair.trim()) {
                Ok((name, on)) => drop(self.set.insert(name, on)),
                Err(problem) => problems.push(problem),
            }
        }
        problems
            .or(())
            .map_err(|problems| problems.iter().collect::<Vec<_>>().join("; "))
    }

    fn print(&self) -> String {
        self.set
            .iter()
            .map(|(name, on)| format!("{name}={on}"))
            .collect::<Vec<_>>()
            .join(",")
    }
}

fn is_inert(name: &str) -> bool {
    RETIRED.contains(&name) || KUBERNETES.lines().any(|known| known == name)
}

/// The gates of Kubernetes 1.35, and those of the generic API server library of Kubernetes 1.33 to 1.37. Go components accept them,
/// because they share one registry, and charts set one list for all components.
const KUBERNETES: &str = include_str!("feature_gates/kubernetes.txt");

/// Former gates of cloud controller managers; their features are always on.
const RETIRED: [&str; 4] = [
    "CloudDualStackNodeIPs",
    "ControllerManagerLeaderMigration",
    "LoadBalancerIPMode",
    "StableLoadBalancerNodeSet",
];

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const KNOWN: [Gate; 4] = [
        Gate {
            name: "NewRoutes",
            stage: Stage::Alpha,
            default: Switch::Off,
            effect: "routes",
        },
        Gate {
            name: "NewLogs",
            stage: Stage::Beta,
            default: Switch::On,
            effect: "logs",
        },
        Gate {
            name: "NewPorts",
            stage: Stage::Beta,
            default: Switch::Off,
            effect: "ports",
        },
        Gate {
            name: "NewTea",
            stage: Stage::Alpha,
            default: Switch::Off,
            effect: "tea",
        },
    ];

    fn parse(given: &[&str]) -> Result<FeatureGates, String> {
        let mut gates = FeatureGates::new(&[&KNOWN]);
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        gates.set(&given).map(|()| gates)
    }

    #[rstest]
    #[case::defaults(&[], "NewLogs")]
    #[case::by_name(&["NewRoutes=true,NewLogs=false"], "NewRoutes")]
    #[case::repeated(&["NewRoutes=true", "NewPorts=T"], "NewLogs NewPorts NewRoutes")]
    #[case::the_last_wins(&["NewRoutes=true,NewRoutes=false"], "NewLogs")]
    #[case::all_alpha(&["AllAlpha=true"], "NewLogs NewRoutes NewTea")]
    #[case::all_but_one(&["NewTea=false", "AllAlpha=true"], "NewLogs NewRoutes")]
    #[case::all_but_one_in_the_other_order(&["AllAlpha=true", "NewTea=false"], "NewLogs NewRoutes")]
    #[case::no_beta(&["AllBeta=false"], "")]
    #[case::spaces(&[" NewTea = true , "], "NewLogs NewTea")]
    #[case::of_the_api_server(&["WatchList=true,KMSv1=false"], "NewLogs")]
    #[case::of_kubernetes(&["InPlacePodVerticalScaling=true,NodeSwap=false"], "NewLogs")]
    #[case::retired(&["StableLoadBalancerNodeSet=true"], "NewLogs")]
    fn are_on(#[case] given: &[&str], #[case] on: &str) {
        let gates = parse(given).unwrap();
        let names: Vec<_> = gates
            .known
            .iter()
            .map(|gate| gate.name)
            .filter(|name| gates.is_on(name))
            .collect();
        assert_eq!(names.join(" "), on);
    }

    #[rstest]
    #[case::unknown("Newroute=true", "unrecognized feature gate: Newroute, did you mean NewRoutes?")]
    #[case::nothing_like_it("Sea=true", "unrecognized feature gate: Sea")]
    #[case::no_value("NewTea", "missing bool value for NewTea")]
    #[case::no_bool("NewTea=maybe", "invalid value of NewTea=maybe, neither true nor false")]
    #[case::two_problems("A=true,B=true", "unrecognized feature gate: A; unrecognized feature gate: B")]
    fn are_rejected(#[case] given: &str, #[case] problem: &str) {
        assert_eq!(parse(&[given]).unwrap_err(), problem);
    }

    #[test]
    fn retired_gates_cause_a_warning() {
        let gates = parse(&["WatchList=true,LoadBalancerIPMode=true"]).unwrap();
        assert_eq!(
            gates.warnings(),
            ["feature gate LoadBalancerIPMode has been removed: its feature is always on"]
        );
        assert_eq!(gates.print(), "LoadBalancerIPMode=true,WatchList=true");
    }

    #[test]
    fn help_lists_stage_default_and_effect() {
        let help = FeatureGates::new(&[&KNOWN]).help();
        let lines: Vec<_> = help.lines().skip(1).collect();
        assert_eq!(
            lines[0],
            "AllAlpha=true|false (ALPHA - default=false): all of that stage"
        );
        assert_eq!(lines[2], "NewLogs=true|false (BETA - default=true): logs");
        assert_eq!(lines.len(), KNOWN.len() + 2);
    }
}
