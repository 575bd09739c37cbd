//! The logging flags.

use super::{Level, VModule};
use crate::{
    feature_gates::{FeatureGates, Gate, Stage},
    flags::{Bytes, GoDuration, Problems, Section, Switch, Value},
};

/// The gates of logging.
pub const GATES: [Gate; 3] = [
    Gate {
        name: "ContextualLogging",
        stage: Stage::Beta,
        default: Switch::On,
        effect: "none, it is always on",
    },
    Gate {
        name: ALPHA,
        stage: Stage::Alpha,
        default: Switch::Off,
        effect: "allows the alpha logging flags",
    },
    Gate {
        name: BETA,
        stage: Stage::Beta,
        default: Switch::On,
        effect: "allows --logging-format=json",
    },
];

const ALPHA: &str = "LoggingAlphaOptions";
const BETA: &str = "LoggingBetaOptions";

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// klog's lines.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Where the log lines of one format go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing {
    /// Errors and warnings on stderr and the rest on stdout, instead of everything on stderr.
    pub split_stream: Switch,
    /// With split streams: collect this much before writing to stdout.
    pub info_buffer: Bytes,
}

/// Everything about logging that can be set by flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How lines look.
    pub format: Format,
    /// How long a buffered line may wait.
    pub flush_frequency: GoDuration,
    /// How much is logged.
    pub verbosity: Level,
    /// How much is logged by single source files.
    pub vmodule: VModule,
    /// Where text goes.
    pub text: Routing,
    /// Where JSON goes.
    pub json: Routing,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: Format::Text,
            flush_frequency: GoDuration::from_secs(5),
            verbosity: Level(0),
            vmodule: VModule::default(),
            text: Routing::default(),
            json: Routing::default(),
        }
    }
}

const SPLIT: &str = "[Alpha] Write errors and warnings to stderr and the rest to stdout, instead of everything to \
                     stderr, in this format. Needs the feature gate LoggingAlphaOptions.";
const BUFFER: &str = "[Alpha] With split streams, collect this much before writing to stdout, in this format: 512, 1K, \
                      2Ki, 3M; 0 writes at once. Needs the feature gate LoggingAlphaOptions.";

impl Options {
    /// Adds the flags to a section.
    #[must_use]
    pub fn flags<'a>(&'a mut self, section: Section<'a>) -> Section<'a> {
        section
            .flag(
                "logging-format",
                &mut self.format,
                "How log lines look: \"text\" or \"json\".",
            )
            .flag(
                "log-flush-frequency",
                &mut self.flush_frequency,
                "Longest time a buffered log line may wait.",
            )
            .short(
                'v',
                "v",
                &mut self.verbosity,
                "How much to log: 0 what happens, 2 more, 4 decisions, 6 everything, 8 libraries too.",
            )
            .flag(
                "vmodule",
                &mut self.vmodule,
                "Verbosity of single source files, as pattern=N,... (text format only).",
            )
            .flag("log-text-split-stream", &mut self.text.split_stream, SPLIT)
            .flag("log-text-info-buffer-size", &mut self.text.info_buffer, BUFFER)
            .flag("log-json-split-stream", &mut self.json.split_stream, SPLIT)
            .flag("log-json-info-buffer-size", &mut self.json.info_buffer, BUFFER)
    }

    /// Everything that is wrong with the options.
    pub fn validate(&self, gates: &FeatureGates) -> Problems {
        let Self {
            format,
            flush_frequency,
            verbosity: _,
            vmodule,
            text,
            json,
        } = self;
        let mut problems = Problems::default();
        if !flush_frequency.is_positive() {
            problems.push("--log-flush-frequency must be greater than zero");
        }
        if *format == Format::Json && !gates.is_on(BETA) {
            problems.push("--logging-format=json needs --feature-gates=LoggingBetaOptions=true");
        }
        if *format == Format::Json && !vmodule.is_empty() {
            problems.push("--vmodule works only with --logging-format=text");
        }
        for (name, routing) in [("text", text), ("json", json)] {
            let Routing {
                split_stream,
                info_buffer,
            } = routing;
            let alpha = [
                ("split-stream", split_stream.is_on()),
                ("info-buffer-size", info_buffer.count() > 0),
            ];
            for (flag, _) in alpha.into_iter().filter(|(_, used)| *used && !gates.is_on(ALPHA)) {
                problems.push(format!("--log-{name}-{flag} needs --feature-gates={ALPHA}=true"));
            }
        }
        problems
    }

    /// Where the lines of the chosen format go.
    pub fn routing(&self) -> &Routing {
        match self.format {
            Format::Text => &self.text,
            Format::Json => &self.json,
        }
    }
}

impl Value for Format {
    fn kind(&self) -> &'static str {
        "string"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        for text in given {
            *self = match text.as_str() {
                "text" => Self::Text,
                "json" => Self::Json,
                _ => return Err("unsupported log format, use text or json".to_owned()),
            };
        }
        Ok(())
    }

    fn print(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Json => "json".to_owned(),
        }
    }

    fn default_note(&self) -> Option<String> {
        Some(format!("{:?}", self.print()))
    }
}
