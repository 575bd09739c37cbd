//! The logging flags.

use super::Level;
use crate::{
    feature_gates::{FeatureGates, Gate, Stage},
    flags::{GoDuration, Ignored, Problems, Section, Switch, Value},
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

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// klog's lines.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Where the log lines of one format are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// Errors and warnings on stderr and the rest on stdout, instead of everything on stderr.
    pub split_stream: Switch,
    /// The size of the buffer for stdout. It has no effect: lines are written at once.
    pub info_buffer: Ignored,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            split_stream: Switch::Off,
            info_buffer: Ignored::new("quantity", "0"),
        }
    }
}

/// Everything about logging that can be set by flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The format of lines.
    pub format: Format,
    /// How often buffers are flushed. It has no effect: lines are written at once.
    pub flush_frequency: GoDuration,
    /// How much is logged.
    pub verbosity: Level,
    /// The verbosity of single source files. It has no effect: the source files are not those of the Go program.
    pub vmodule: Ignored,
    /// Where text is written.
    pub text: Routing,
    /// Where JSON is written.
    pub json: Routing,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: Format::Text,
            flush_frequency: GoDuration::from_secs(5),
            verbosity: Level(0),
            vmodule: Ignored::new("pattern=N,...", ""),
            text: Routing::default(),
            json: Routing::default(),
        }
    }
}

const SPLIT: &str = "[Alpha] Write errors and warnings to stderr and the rest to stdout, instead of everything to \
                     stderr, in this format. Needs the feature gate LoggingAlphaOptions.";
const BUFFER: &str = "[Alpha] Accepted, without effect: lines are written at once. Needs the feature gate \
                      LoggingAlphaOptions.";

impl Options {
    /// Adds the flags to a section.
    #[must_use]
    pub fn flags<'a>(&'a mut self, section: Section<'a>) -> Section<'a> {
        section
            .flag(
                "logging-format",
                &mut self.format,
                "The format of log lines: \"text\" or \"json\".",
            )
            .flag(
                "log-flush-frequency",
                &mut self.flush_frequency,
                "Accepted, without effect: lines are written at once.",
            )
            .short(
                'v',
                "v",
                &mut self.verbosity,
                "The verbosity of the log: 0 changes, 2 more, 4 decisions, 6 everything, 8 also libraries.",
            )
            .flag(
                "vmodule",
                &mut self.vmodule,
                "Accepted, without effect: set the verbosity of the whole process with -v.",
            )
            .flag("log-text-split-stream", &mut self.text.split_stream, SPLIT)
            .flag("log-text-info-buffer-size", &mut self.text.info_buffer, BUFFER)
            .flag("log-json-split-stream", &mut self.json.split_stream, SPLIT)
            .flag("log-json-info-buffer-size", &mut self.json.info_buffer, BUFFER)
    }

    /// All problems of the options.
    pub fn validate(&self, gates: &FeatureGates) -> Problems {
        let Self {
            format,
            flush_frequency,
            verbosity: _,
            vmodule: _,
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
        for (name, routing) in [("text", text), ("json", json)] {
            let Routing {
                split_stream,
                info_buffer,
            } = routing;
            let alpha = [
                ("split-stream", split_stream.is_on()),
                ("info-buffer-size", info_buffer.is_set()),
            ];
            for (flag, _) in alpha.into_iter().filter(|(_, used)| *used && !gates.is_on(ALPHA)) {
                problems.push(format!("--log-{name}-{flag} needs --feature-gates={ALPHA}=true"));
            }
        }
        problems
    }

    /// Where the lines of the selected format are written.
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
