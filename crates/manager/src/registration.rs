//! A cloud provider as a program registers it: its name, flags, defaults and constructor.

use crate::{Options, Provide};
use runtime::flags::{Parsed, Problems, Section};
use std::sync::Arc;

/// One cloud provider of a program.
///
/// ```
/// use manager::{Provide, Registration};
/// use std::sync::Arc;
///
/// fn acme(start: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
///     Err(format!("cannot read --cloud-config={}", start.config))
/// }
///
/// const ACME: Registration = Registration {
///     programs: &["acme-cloud-controller-manager"],
///     ..Registration::new("acme", || Box::new(acme))
/// };
/// assert_eq!(ACME.name, "acme");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Registration {
    /// Its name in `--cloud-provider`.
    pub name: &'static str,
    /// The program names that select it if `--cloud-provider` is not set.
    pub programs: &'static [&'static str],
    /// Changes the defaults where the provider's Go program has others than the framework: the name of the lease, controllers and
    /// their aliases, periods. They hold if the provider is selected, and the user's flags win over them.
    pub defaults: fn(&mut Options),
    /// The provider's own flags with their defaults, and its constructor.
    pub setup: fn() -> Box<dyn Setup>,
}

/// The flags of one provider, and the constructor that uses them.
///
/// A provider without flags is a function that takes [`Provide`].
pub trait Setup {
    /// The flags, by section. They are in the help of every program that has the provider, and are rejected unless the provider is
    /// selected. A name must be unique among all flags.
    fn sections(&mut self) -> Vec<Section<'_>> {
        Vec::new()
    }

    /// Creates the provider. It makes no request to the cloud yet.
    ///
    /// # Errors
    /// One sentence: what is wrong with the configuration, and where.
    fn provider(&self, start: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String>;

    /// The ports without TLS that the provider's Go program serves in addition to the secure port.
    fn listeners(&self) -> Vec<Listener> {
        Vec::new()
    }
}

/// A port without TLS, for programs whose Go counterpart has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// The flag or the variable that has the address, for error messages.
    pub setting: &'static str,
    /// The address, as Go programs accept it: `:8080`, `127.0.0.1:8080`; `0` or nothing opens no port.
    pub address: String,
    /// What is served there.
    pub endpoint: Endpoint,
}

/// What a [`Listener`] serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `/healthz`, `/livez` and `/readyz`.
    Health,
    /// `/metrics`.
    Metrics,
}

impl<F: Fn(&Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String>> Setup for F {
    fn provider(&self, start: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
        self(start)
    }
}

impl Registration {
    /// A provider of this name, with the framework's defaults.
    #[must_use]
    pub const fn new(name: &'static str, setup: fn() -> Box<dyn Setup>) -> Self {
        Self {
            name,
            programs: &[],
            defaults: |_| {},
            setup,
        }
    }
}

/// The setups of all providers: one has been given the values of its flags once the command line is parsed.
pub(crate) struct Setups(Vec<(Registration, Box<dyn Setup>)>);

impl Setups {
    pub(crate) fn new(registered: &[Registration]) -> Self {
        Self(registered.iter().map(|one| (*one, (one.setup)())).collect())
    }

    pub(crate) fn sections(&mut self) -> Vec<Section<'_>> {
        self.0.iter_mut().flat_map(|(_, setup)| setup.sections()).collect()
    }

    /// The setup of the provider of this name.
    pub(crate) fn take(self, name: &str) -> Option<Box<dyn Setup>> {
        let found = self.0.into_iter().find(|(registered, _)| registered.name == name);
        found.map(|(_, setup)| setup)
    }
}

/// The options with the defaults of the selected provider; with the framework's if none is selected.
pub(crate) fn defaults(registered: &[Registration], program: &str, args: &[String]) -> Options {
    let named = options_of(by_program(registered, program));
    let mut given = named.clone();
    given
        .set(program, Setups::new(registered).sections())
        .parse_all(args.iter().cloned());
    let (named_provider, provider) = (&named.generic.cloud.provider, given.generic.cloud.provider.trim());
    if named_provider == provider {
        named
    } else {
        options_of(find(registered, provider))
    }
}

/// Checks that the provider is registered, and that no flag belongs to another one.
pub(crate) fn check(registered: &[Registration], options: &Options) -> Problems {
    let name = options.generic.cloud.provider.trim();
    if name.is_empty() {
        // That is reported in any case.
        return Problems::default();
    }
    match find(registered, name) {
        None => Problems::one(unknown(registered, name)),
        Some(selected) => foreign(registered, selected, &options.parsed),
    }
}

/// The provider of this name.
///
/// # Errors
/// One sentence, if it is not registered.
pub fn select(registered: &[Registration], name: &str) -> Result<Registration, String> {
    find(registered, name).copied().ok_or_else(|| unknown(registered, name))
}

fn options_of(provider: Option<&Registration>) -> Options {
    let mut options = Options::default();
    if let Some(provider) = provider {
        provider.name.clone_into(&mut options.generic.cloud.provider);
        (provider.defaults)(&mut options);
    }
    options
}

fn find<'r>(registered: &'r [Registration], name: &str) -> Option<&'r Registration> {
    registered.iter().find(|provider| provider.name == name)
}

/// The provider that needs no `--cloud-provider`: the program has its name, or has no other.
fn by_program<'r>(registered: &'r [Registration], program: &str) -> Option<&'r Registration> {
    match registered {
        [only] => Some(only),
        many => many.iter().find(|provider| provider.programs.contains(&program)),
    }
}

fn unknown(registered: &[Registration], name: &str) -> String {
    if name == "external" {
        return "--cloud-provider=external is for kubelets and the other controllers: name a cloud here".to_owned();
    }
    let names: Vec<&str> = registered.iter().map(|provider| provider.name).collect();
    let known = match names.as_slice() {
        [] => "no provider".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    format!("unknown cloud provider {name:?}: this program knows {known}")
}

fn foreign(registered: &[Registration], selected: &Registration, parsed: &Parsed) -> Problems {
    let others = registered.iter().filter(|other| other.name != selected.name);
    let problems = others.flat_map(|other| {
        let mut setup = (other.setup)();
        let flags: Vec<&str> = setup.sections().iter().flat_map(Section::names).collect();
        let given = flags.into_iter().filter(|flag| parsed.given.has(flag));
        given
            .map(|flag| {
                format!(
                    "--{flag} is a flag of the cloud provider {0}, not of {1}: remove it, or set --cloud-provider={0}",
                    other.name, selected.name
                )
            })
            .collect::<Vec<_>>()
    });
    problems.collect()
}
