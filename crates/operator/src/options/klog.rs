//! The flags that both original programs have from their log library. The operator logs to stderr in one format,
//! so they are accepted without effect: a Deployment that sets them must start.

use runtime::flags::{Section, Switch};

/// klog's flags without an effect. `-v` is one of [`runtime::logging::Options`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Klog {
    add_dir_header: Switch,
    also_to_stderr: Switch,
    also_to_stderr_threshold: String,
    legacy_stderr_threshold: Switch,
    backtrace_at: String,
    dir: String,
    file: String,
    file_max_size: i64,
    to_stderr: Switch,
    one_output: Switch,
    skip_headers: Switch,
    skip_log_headers: Switch,
    stderr_threshold: String,
}

impl Default for Klog {
    fn default() -> Self {
        Self {
            add_dir_header: Switch::Off,
            also_to_stderr: Switch::Off,
            also_to_stderr_threshold: "INFO".to_owned(),
            legacy_stderr_threshold: Switch::On,
            backtrace_at: String::new(),
            dir: String::new(),
            file: String::new(),
            file_max_size: 1800,
            to_stderr: Switch::On,
            one_output: Switch::Off,
            skip_headers: Switch::Off,
            skip_log_headers: Switch::Off,
            stderr_threshold: "ERROR".to_owned(),
        }
    }
}

const PLACE: &str = "Accepted, without effect: the log goes to stderr, never to files.";
const FORM: &str = "Accepted, without effect: log lines have one form.";
const TRACE: &str = "Accepted, without effect: there are no stack traces in the log.";

impl Klog {
    /// Adds the flags to a section. klog spells them with underscores, which are hyphens here as in every flag.
    pub fn flags<'a>(&'a mut self, section: Section<'a>) -> Section<'a> {
        section
            .flag("add-dir-header", &mut self.add_dir_header, FORM)
            .flag("alsologtostderr", &mut self.also_to_stderr, PLACE)
            .flag("alsologtostderrthreshold", &mut self.also_to_stderr_threshold, PLACE)
            .flag(
                "legacy-stderr-threshold-behavior",
                &mut self.legacy_stderr_threshold,
                PLACE,
            )
            .flag("log-backtrace-at", &mut self.backtrace_at, TRACE)
            .flag("log-dir", &mut self.dir, PLACE)
            .flag("log-file", &mut self.file, PLACE)
            .flag("log-file-max-size", &mut self.file_max_size, PLACE)
            .flag("logtostderr", &mut self.to_stderr, PLACE)
            .flag("one-output", &mut self.one_output, PLACE)
            .flag("skip-headers", &mut self.skip_headers, FORM)
            .flag("skip-log-headers", &mut self.skip_log_headers, FORM)
            .flag("stderrthreshold", &mut self.stderr_threshold, PLACE)
    }
}
