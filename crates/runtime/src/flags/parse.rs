//! Parsing of a command line into the fields of the flags.

use super::{Arity, Flag, Problems, Set, or_nearest, quote};
use clap::{
    Arg, ArgAction, ArgMatches, Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::collections::BTreeSet;

/// The flags on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given(BTreeSet<String>);

impl Given {
    /// Whether `--name` is on the command line.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Their names, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<S: Into<String>> FromIterator<S> for Given {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }
}

/// The result of parsing, besides the values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The flags that were given.
    pub given: Given,
    /// The given flags with an invalid value.
    pub refused: Given,
    /// Every flag with its value, as Go prints it, by name.
    pub values: Vec<(&'static str, String)>,
    /// Warnings, one sentence each.
    pub warnings: Vec<String>,
    /// Unknown flags, and flags without a value.
    pub unknown: Problems,
    /// Invalid values.
    pub problems: Problems,
}

impl Set<'_> {
    /// Parses the arguments (without the program's name) into the fields.
    ///
    /// # Errors
    /// All problems: unknown flags and invalid values.
    pub fn parse<A: Into<String>>(self, args: impl IntoIterator<Item = A>) -> Result<Parsed, Problems> {
        let parsed = self.parse_all(args);
        let mut problems = parsed.unknown.clone();
        problems.append(parsed.problems.clone());
        problems.or(parsed)
    }

    /// As [`Set::parse`], but problems are part of the result, so that the caller can add more and report all of them together.
    pub fn parse_all<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Parsed {
        let args = args.into_iter().map(|arg| normalised(arg.into()));
        let mut parsed = Parsed::default();
        let matches = self.matches(args, &mut parsed);
        for flag in self.sections.iter_mut().flat_map(|section| &mut section.flags) {
            take(flag, &matches, &mut parsed);
        }
        parsed.values.sort_unstable();
        parsed
    }

    /// The flags as a clap command, for shell completions and the manual page.
    #[must_use]
    pub fn command(&self) -> Command {
        let args = self.sections.iter().flat_map(|section| {
            let title = section.title();
            section
                .flags
                .iter()
                .map(move |flag| flag.arg().help_heading(title.clone()))
        });
        Command::new(self.program.clone())
            .about(self.about.clone())
            .disable_help_flag(true)
            .disable_version_flag(true)
            .args(args)
    }

    /// The matches of clap. It stops at the first unknown argument, so the arguments are added one by one, and unknown ones are
    /// recorded and left out.
    fn matches(&self, args: impl Iterator<Item = String>, parsed: &mut Parsed) -> ArgMatches {
        let mut command = self.command();
        let mut words = vec![self.program.clone()];
        let mut skip_value = false;
        for arg in args {
            words.push(arg.clone());
            let error = command.try_get_matches_from_mut(&words).err();
            let Some(error) = error.filter(|error| error.kind() == ErrorKind::UnknownArgument) else {
                skip_value = false;
                continue;
            };
            words.pop();
            let is_flag = arg.starts_with('-');
            // An empty argument is the result of a template with an unset value: ignored.
            if is_flag || !(skip_value || arg.is_empty()) {
                parsed.unknown.push(self.sentence(&error, &arg));
            }
            skip_value = is_flag && !arg.contains('=');
        }
        // The only remaining error is a last flag without its value.
        loop {
            match command.try_get_matches_from_mut(&words) {
                Ok(matches) => return matches,
                Err(error) => parsed.unknown.push(self.sentence(&error, "")),
            }
            words.pop();
        }
    }

    /// Clap's error about `arg` as one sentence, as pflag writes it.
    fn sentence(&self, error: &clap::Error, arg: &str) -> String {
        let word = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(word)) => word.as_str(),
            _ => "",
        };
        match error.kind() {
            ErrorKind::UnknownArgument if word.starts_with('-') => self.unknown(word, arg),
            ErrorKind::UnknownArgument => {
                format!(
                    "{} does not take any arguments, got {}",
                    quote(&self.program),
                    quote(word)
                )
            }
            ErrorKind::InvalidValue | ErrorKind::TooFewValues => {
                let name = word.split([' ', '=', '[']).next().unwrap_or(word);
                format!("flag needs an argument: {name}")
            }
            _ => error
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned(),
        }
    }

    fn unknown(&self, word: &str, arg: &str) -> String {
        let names = || self.flags().map(|flag| flag.name);
        if let Some(name) = word.strip_prefix("--") {
            return format!("unknown flag: {word}{}", or_nearest(name, "--", names()));
        }
        let name = arg.trim_start_matches('-').split('=').next().unwrap_or_default();
        // Two letters are two shorthands rather than a name with one dash missing.
        let near = if name.len() > 2 {
            or_nearest(name, "--", names())
        } else {
            String::new()
        };
        format!(
            "unknown shorthand flag: {} in {arg}{near}",
            word.trim_start_matches('-')
        )
    }
}

impl Flag<'_> {
    fn arg(&self) -> Arg {
        let default = self
            .value
            .default_note()
            .map_or_else(String::new, |default| format!(" (default {default})"));
        let arg = Arg::new(self.name)
            .long(self.name)
            .help(format!("{}{default}", self.help))
            .action(ArgAction::Append)
            .allow_hyphen_values(true);
        let arg = match self.short {
            Some(letter) => arg.short(letter),
            None => arg,
        };
        match self.value.arity() {
            Arity::One => arg.num_args(1).value_name(self.value.kind()),
            Arity::Optional => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
        }
    }
}

fn take(flag: &mut Flag<'_>, matches: &ArgMatches, parsed: &mut Parsed) {
    if let Some(given) = matches.get_many::<String>(flag.name) {
        let given: Vec<String> = given.cloned().collect();
        parsed.given.0.insert(flag.name.to_owned());
        if let Err(reason) = flag.value.set(&given) {
            let text = given.iter().map(|text| quote(text)).collect::<Vec<_>>().join(", ");
            parsed.problems.push(format!(
                "invalid argument {text} for \"--{}\" flag: {reason}",
                flag.name
            ));
            parsed.refused.0.insert(flag.name.to_owned());
        }
        if let Some(why) = flag.deprecated {
            parsed
                .warnings
                .push(format!("flag --{} has been deprecated: {why}", flag.name));
        }
    }
    parsed.values.push((flag.name, flag.value.print()));
}

/// `--leader_elect=false` is `--leader-elect=false`.
fn normalised(arg: String) -> String {
    if !arg.starts_with("--") {
        return arg;
    }
    match arg.split_once('=') {
        Some((name, value)) => format!("{}={value}", name.replace('_', "-")),
        None => arg.replace('_', "-"),
    }
}
