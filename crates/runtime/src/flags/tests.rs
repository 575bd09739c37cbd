use super::*;
use proptest::prelude::*;
use rstest::rstest;

/// A program with one flag of each kind.
#[derive(Debug, PartialEq)]
struct Demo {
    elect: Switch,
    profile: Switch,
    period: GoDuration,
    name: String,
    list: Strings,
    numbers: Numbers,
    qps: Auto<f32>,
    workers: i32,
    port: Port,
    size: Ignored,
    address: std::net::IpAddr,
    version: Version,
    verbosity: i32,
    old: Switch,
}

impl Default for Demo {
    fn default() -> Self {
        Self {
            elect: Switch::On,
            profile: Switch::Off,
            period: GoDuration::from_secs(43200),
            name: "kubernetes".to_owned(),
            list: Strings::from(["*"]),
            numbers: Numbers::default(),
            qps: Auto::Unset(20.0),
            workers: 1,
            port: Port(10258),
            size: Ignored::new("quantity", "0"),
            address: std::net::Ipv4Addr::UNSPECIFIED.into(),
            version: Version::Run,
            verbosity: 0,
            old: Switch::Off,
        }
    }
}

impl Demo {
    fn set(&mut self) -> Set<'_> {
        let generic = Section::new("generic")
            .flag("leader-elect", &mut self.elect, "Elect a leader.")
            .flag("profiling", &mut self.profile, "Profile.")
            .flag("min-resync-period", &mut self.period, "Period.")
            .flag("cluster-name", &mut self.name, "Name.")
            .flag("controllers", &mut self.list, "Which ones.\nAll: a, b")
            .flag("curves", &mut self.numbers, "Numbers.")
            .flag("kube-api-qps", &mut self.qps, "Rate.")
            .flag("workers", &mut self.workers, "Workers.")
            .deprecated("old", &mut self.old, "Old.", "it does nothing");
        let serving = Section::new("secure serving")
            .flag("secure-port", &mut self.port, "Port.")
            .flag("buffer", &mut self.size, "Size.")
            .flag("bind-address", &mut self.address, "Address.");
        let global = Section::new("global")
            .flag("version", &mut self.version, "Version.")
            .short('v', "v", &mut self.verbosity, "Verbosity.");
        Set::new("demo", "A demonstration.", vec![generic, serving, global])
    }

    fn parse(args: &str) -> (Self, Result<Parsed, Problems>) {
        let mut demo = Self::default();
        let parsed = demo.set().parse(args.split_whitespace());
        (demo, parsed)
    }
}

fn parsed(args: &str) -> Demo {
    let (demo, parsed) = Demo::parse(args);
    parsed.unwrap();
    demo
}

#[rstest]
#[case::alone("--profiling", "true")]
#[case::with_value("--profiling=true", "true")]
#[case::one("--profiling=1", "true")]
#[case::capitals("--profiling=FALSE", "false")]
#[case::letter("--profiling=T", "true")]
#[case::the_last_wins("--profiling --profiling=false", "false")]
fn switches(#[case] args: &str, #[case] value: &str) {
    assert_eq!(parsed(args).profile.to_string(), value);
}

#[rstest]
#[case::long("--v=2")]
#[case::long_apart("--v 2")]
#[case::short("-v=2")]
#[case::short_apart("-v 2")]
#[case::short_joined("-v2")]
#[case::the_last_wins("--v=4 -v 2")]
fn verbosities(#[case] args: &str) {
    assert_eq!(parsed(args).verbosity, 2);
}

/// As in pflag 1.0.6 and later.
#[rstest]
#[case::default("", "0.0.0.0")]
#[case::given("--bind-address=192.0.2.1", "192.0.2.1")]
#[case::version_6("--bind-address=::", "::")]
#[case::empty("--bind-address=", "0.0.0.0")]
#[case::empty_after_another("--bind-address=192.0.2.1 --bind-address=", "192.0.2.1")]
fn addresses(#[case] args: &str, #[case] value: &str) {
    assert_eq!(parsed(args).address.print(), value);
}

#[rstest]
#[case::default("", "[*]")]
#[case::commas("--controllers=a,b", "[a,b]")]
#[case::minus("--controllers=*,-node-route-controller", "[*,-node-route-controller]")]
#[case::minus_apart("--controllers -route", "[-route]")]
#[case::repeated("--controllers=a --controllers=b,c", "[a,b,c]")]
#[case::cleared("--controllers=", "[]")]
#[case::quoted(r#"--controllers="a,b",c"#, r#"["a,b",c]"#)]
#[case::doubled_quotes(r#"--controllers="a""b""#, r#"["a""b"]"#)]
#[case::empty_items("--controllers=a,,b,", "[a,,b,]")]
fn lists(#[case] args: &str, #[case] value: &str) {
    assert_eq!(parsed(args).list.print(), value);
}

#[rstest]
#[case::underscores("--leader_elect=false --kube_api_qps=5 --cluster_name=a_b")]
#[case::mixed("--leader_elect=false --kube-api_qps=5 --cluster-name=a_b")]
#[case::apart("--leader-elect=false --kube_api_qps 5 --cluster_name a_b")]
fn underscores_are_hyphens(#[case] args: &str) {
    let demo = parsed(args);
    assert_eq!(
        (demo.elect, demo.qps.given(), demo.name.as_str()),
        (Switch::Off, Some(5.0), "a_b")
    );
}

#[rstest]
#[case::not_given("", None, 20.0, "auto")]
#[case::given("--kube-api-qps=50.0", Some(50.0), 50.0, "50")]
#[case::given_the_usual("--kube-api-qps=20", Some(20.0), 20.0, "20")]
fn auto_knows_whether_it_was_given(
    #[case] args: &str,
    #[case] given: Option<f32>,
    #[case] nominal: f32,
    #[case] print: &str,
) {
    let qps = parsed(args).qps;
    assert_eq!(
        (qps.given(), qps.nominal(), qps.print().as_str()),
        (given, nominal, print)
    );
}

#[test]
fn reports_given_flags_and_every_value() {
    let (_, parsed) = Demo::parse("--workers=1 --old --v=3");
    let parsed = parsed.unwrap();
    assert!(parsed.given.has("workers") && !parsed.given.has("leader-elect"));
    assert_eq!(parsed.given.iter().collect::<Vec<_>>(), ["old", "v", "workers"]);
    assert_eq!(parsed.warnings, ["flag --old has been deprecated: it does nothing"]);
    let values: Vec<_> = parsed
        .values
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        values.join(" "),
        "bind-address=0.0.0.0 buffer=0 cluster-name=kubernetes controllers=[*] curves=[] kube-api-qps=auto \
         leader-elect=true min-resync-period=12h0m0s old=true profiling=false secure-port=10258 v=3 version=false \
         workers=1"
    );
}

/// As a template leaves them: `args: ["--v=3", ""]`.
#[test]
fn empty_arguments_are_ignored() {
    let mut demo = Demo::default();
    demo.set().parse(["", "--v=3", ""]).unwrap();
    demo.set().parse(["--cluster-name", "", "--v=4"]).unwrap();
    assert_eq!(demo.name, "", "there it is a value");
}

#[rstest]
#[case::version("--version", Version::Print)]
#[case::raw("--version=raw", Version::Raw)]
#[case::not_asked("--version=false", Version::Run)]
#[case::short("--version=1", Version::Print)]
#[case::short_not_asked("--version=F", Version::Run)]
#[case::reported("--version=v1.2.3-custom", Version::Run)]
fn versions(#[case] args: &str, #[case] version: Version) {
    assert_eq!(parsed(args).version, version);
}

#[rstest]
#[case::unknown("--nosuch", "unknown flag: --nosuch")]
#[case::near_miss("--leader-elct=false", "unknown flag: --leader-elct, did you mean --leader-elect?")]
#[case::one_dash(
    "-leader-elect=false",
    "unknown shorthand flag: l in -leader-elect=false, did you mean --leader-elect?"
)]
#[case::one_letter("-x", "unknown shorthand flag: x in -x")]
#[case::one_letter_long("--x", "unknown flag: --x")]
#[case::second_letter("-xv", "unknown shorthand flag: x in -xv")]
#[case::unknown_with_value("--nosuch 5 --v=1", "unknown flag: --nosuch")]
#[case::positional("run", "\"demo\" does not take any arguments, got \"run\"")]
#[case::bool_apart("--leader-elect false", "\"demo\" does not take any arguments, got \"false\"")]
#[case::after_dashes("-- x", "\"demo\" does not take any arguments, got \"x\"")]
#[case::no_value("--cluster-name", "flag needs an argument: --cluster-name")]
#[case::no_value_short("-v", "flag needs an argument: --v")]
#[case::bool(
    "--leader-elect=maybe",
    "invalid argument \"maybe\" for \"--leader-elect\" flag: neither true nor false"
)]
#[case::empty_bool(
    "--leader-elect=",
    "invalid argument \"\" for \"--leader-elect\" flag: neither true nor false"
)]
#[case::duration(
    "--min-resync-period=5",
    "invalid argument \"5\" for \"--min-resync-period\" flag: not a duration such as 300ms, 1.5h or 2h45m"
)]
#[case::port(
    "--secure-port=700000",
    "invalid argument \"700000\" for \"--secure-port\" flag: must be between 0 and 65535, inclusive"
)]
#[case::negative_port(
    "--secure-port=-1",
    "invalid argument \"-1\" for \"--secure-port\" flag: must be between 0 and 65535, inclusive"
)]
#[case::address(
    "--bind-address=xx",
    "invalid argument \"xx\" for \"--bind-address\" flag: not an IP address"
)]
#[case::number(
    "--workers=1.5",
    "invalid argument \"1.5\" for \"--workers\" flag: not a whole number between -2147483648 and 2147483647"
)]
#[case::float(
    "--kube-api-qps=fast",
    "invalid argument \"fast\" for \"--kube-api-qps\" flag: not a number"
)]
#[case::infinite(
    "--kube-api-qps=inf",
    "invalid argument \"inf\" for \"--kube-api-qps\" flag: not a number"
)]
#[case::numbers(
    "--curves=23,x",
    "invalid argument \"23,x\" for \"--curves\" flag: \"x\" is not a whole number"
)]
#[case::stray_quote(
    "--controllers=a\"b",
    "invalid argument \"a\\\"b\" for \"--controllers\" flag: a quotation mark inside the unquoted item \"a\\\"b\""
)]
#[case::open_quote(
    "--controllers=\"ab",
    "invalid argument \"\\\"ab\" for \"--controllers\" flag: a quotation mark is not closed"
)]
#[case::version(
    "--version=1.2",
    "invalid argument \"1.2\" for \"--version\" flag: neither true, false, raw nor a version that starts with v"
)]
#[case::first_of_two(
    "--workers=x --workers=1",
    "invalid argument \"x\", \"1\" for \"--workers\" flag: not a whole number between -2147483648 and 2147483647"
)]
fn refuses_with_one_sentence(#[case] args: &str, #[case] sentence: &str) {
    let (_, parsed) = Demo::parse(args);
    assert_eq!(parsed.unwrap_err().to_string(), sentence);
}

#[rstest]
#[case::flags(
    "--nosuch --secure-port=x --leader-elct=no -y",
    "--nosuch|--leader-elct|in -y|\"--secure-port\""
)]
#[case::values("--nosuch 5 run --workers=x", "--nosuch|got \"run\"|\"--workers\"")]
#[case::no_value(
    "--nosuch --workers=x --cluster-name",
    "--nosuch|needs an argument: --cluster-name|\"--workers\""
)]
#[case::a_value_is_no_flag("--cluster-name --nosuch --nosuch --workers=x", "--nosuch|\"--workers\"")]
#[case::after_dashes("--nosuch -- a --b", "--nosuch|got \"a\"|--b")]
fn all_problems_are_reported_together(#[case] args: &str, #[case] expected: &str) {
    let problems = Demo::parse(args).1.unwrap_err();
    let expected: Vec<_> = expected.split('|').collect();
    assert_eq!(problems.iter().count(), expected.len(), "{problems}");
    for (problem, part) in problems.iter().zip(expected) {
        assert!(problem.contains(part), "{part} is not in {problem}");
    }
}

#[test]
fn all_wrong_values_are_reported_together() {
    let (demo, parsed) = Demo::parse("--secure-port=x --workers=7 --kube-api-qps=y");
    let problems = parsed.unwrap_err();
    assert_eq!(problems.iter().count(), 2);
    assert!(
        problems
            .to_string()
            .starts_with("2 problems:\n  - invalid argument \"y\""),
        "{problems}"
    );
    assert_eq!(
        (demo.port, demo.workers),
        (Port(10258), 7),
        "what is right is taken, what is wrong left alone"
    );
}

#[test]
fn help_has_the_layout_of_pflag() {
    let expected = "\
A demonstration.

Usage:
  demo [flags]

Generic flags:

      --cluster-name string          Name. (default \"kubernetes\")
      --controllers strings          Which ones.
                                     All: a, b (default [*])
      --curves int32Slice            Numbers.
      --kube-api-qps float32         Rate. (default auto)
      --leader-elect                 Elect a leader. (default true)
      --min-resync-period duration   Period. (default 12h0m0s)
      --old                          Old. (DEPRECATED: it does nothing)
      --profiling                    Profile.
      --workers int32                Workers. (default 1)

Secure serving flags:

      --bind-address ip   Address. (default 0.0.0.0)
      --buffer quantity   Size.
      --secure-port int   Port. (default 10258)

Global flags:

  -v, --v int32                  Verbosity.
      --version version[=true]   Version.
";
    assert_eq!(Demo::default().set().help(Show::Unwrapped), expected);
}

#[rstest]
#[case::enough(60, "      --name string   one two three four five six seven\n")]
#[case::two_lines(
    48,
    "      --name string   one two three four five\n                      six seven\n"
)]
#[case::too_narrow(40, "      --name string   one two three four five six seven\n")]
fn help_wraps_between_words(#[case] columns: usize, #[case] line: &str) {
    let mut name = String::new();
    let section = Section::new("generic").flag("name", &mut name, "one two three four five six seven");
    let help = Set::new("demo", "", vec![section]).help(Show::Columns(columns));
    assert!(help.ends_with(&format!("flags:\n\n{line}")), "{help}");
}

#[test]
fn the_reference_is_a_table_a_section() {
    let page = Demo::default().set().reference();
    assert!(
        page.contains("\n## Secure serving flags\n\n| Flag | Type | Default | Meaning |\n"),
        "{page}"
    );
    assert!(
        page.contains("| `--controllers` | strings | `[*]` | Which ones.<br>All: a, b |\n"),
        "{page}"
    );
    assert!(page.contains("| `-v`, `--v` | int32 |  | Verbosity. |\n"), "{page}");
    assert!(
        page.contains("| `--leader-elect` | bool | `true` | Elect a leader. |\n"),
        "{page}"
    );
}

#[test]
fn clap_can_use_the_same_flags() {
    let command = Demo::default().set().command();
    command.clone().debug_assert();
    let arg = command
        .get_arguments()
        .find(|arg| arg.get_id() == "secure-port")
        .unwrap();
    assert_eq!(arg.get_help_heading(), Some("Secure serving flags"));
}

#[test]
fn sections_of_the_same_name_are_one() {
    let (mut a, mut b) = (Switch::Off, Switch::Off);
    let sections = vec![
        Section::new("x").flag("b", &mut b, "B."),
        Section::new("x").flag("a", &mut a, "A."),
    ];
    let help = Set::new("demo", "", sections).help(Show::Unwrapped);
    assert!(help.ends_with("X flags:\n\n      --a   A.\n      --b   B.\n"), "{help}");
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in ".*") {
        let _ = Strings::default().set(std::slice::from_ref(&text));
        let mut demo = Demo::default();
        let _ = demo.set().parse([text]);
    }
}

#[rstest]
#[case::none(&[], "[]")]
#[case::one(&["a"], "[a]")]
#[case::not_split(&["a,b"], "[\"a,b\"]")]
#[case::in_order(&["a", "b c"], "[a,b c]")]
fn texts_are_one_item_an_occurrence(#[case] given: &[&str], #[case] printed: &str) {
    let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
    let mut texts = Texts::default();
    texts.set(&given).unwrap();
    assert_eq!(texts.0, given);
    assert_eq!(texts.print(), printed);
}

#[rstest]
#[case::decimal("10258", Some(10258))]
#[case::negative("-5", Some(-5))]
#[case::signed("+5", Some(5))]
#[case::hexadecimal("0x1F", Some(31))]
#[case::octal("0o17", Some(15))]
#[case::old_octal("017", Some(15))]
#[case::binary("-0b101", Some(-5))]
#[case::zero("0", Some(0))]
#[case::underscores("1_000", Some(1000))]
#[case::underscore_after_the_base("0x_ff", Some(255))]
#[case::smallest("-9223372036854775808", Some(i64::MIN))]
#[case::too_large("9223372036854775808", None)]
#[case::nothing("", None)]
#[case::sign_alone("-", None)]
#[case::two_signs("--5", None)]
#[case::base_alone("0x", None)]
#[case::no_octal_digit("08", None)]
#[case::underscore_first("_1", None)]
#[case::underscore_last("1_", None)]
#[case::two_underscores("1__0", None)]
#[case::blank(" 1", None)]
#[case::part("1.5", None)]
fn whole_numbers_are_gos(#[case] text: &str, #[case] number: Option<i64>) {
    assert_eq!(whole(text), number);
}
