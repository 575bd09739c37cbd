use super::{
    Problem, invocation,
    plan::{Files, Plan, plan},
    script::Options,
};
use rstest::rstest;
use std::{
    collections::BTreeMap,
    io::{self, ErrorKind},
};

/// Files by path; one without a text cannot be read.
struct Given(&'static [(&'static str, Option<&'static str>)]);

impl Files for Given {
    fn is_file(&self, path: &str) -> bool {
        self.0.iter().any(|(each, _)| *each == path)
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let found = self.0.iter().find(|(each, _)| *each == path);
        let (_, text) = found.ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
        text.map(str::to_owned)
            .ok_or_else(|| io::Error::from(ErrorKind::PermissionDenied))
    }
}

const URL: (&str, Option<&str>) = (
    "/etc/kubernetes/apiserver-url.env",
    Some(
        "# where the API is\nKUBERNETES_SERVICE_HOST='api-int.lab.example'\nexport KUBERNETES_SERVICE_PORT=\"6443\"\n\n",
    ),
);

fn planned(script: &str, files: &Given) -> Result<Plan, Problem> {
    let environment = [("HOME", "/home/me"), ("TWO", "a  b"), ("EMPTY", ""), ("BLANK", " a ")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    plan(script, Options::default(), BTreeMap::from(environment), files)
}

/// `NAME=value|… program|argument|…`, as a line.
fn line(plan: &Plan) -> String {
    let env: Vec<_> = plan.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let words: Vec<_> = std::iter::once(&plan.program).chain(&plan.args).cloned().collect();
    format!("{} {}", env.join("|"), words.join("|")).trim_start().to_owned()
}

/// The script of a cloud controller manager as `OpenShift`'s operator writes it.
const OPENSTACK: &str = r"#!/bin/bash
set -o allexport
if [[ -f /etc/kubernetes/apiserver-url.env ]]; then
  source /etc/kubernetes/apiserver-url.env
fi
exec /usr/bin/openstack-cloud-controller-manager \
  --v=1 \
  --cloud-config=/etc/openstack/config/cloud.conf \
  --cloud-provider=openstack \
  --cluster-name=lab-x7k2p \
  --use-service-account-credentials=true \
  --configure-cloud-routes=false \
  --bind-address=127.0.0.1 \
  --feature-gates= \
  --tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384 \
  --tls-min-version=VersionTLS12 \
  --secure-port=0
";

/// As vSphere's, with its quotes and its star.
const VSPHERE: &str = "#!/bin/bash
set -o allexport
if [[ -f /etc/kubernetes/apiserver-url.env ]]; then
  source /etc/kubernetes/apiserver-url.env
fi
exec /bin/vsphere-cloud-controller-manager \\
--v=3 \\
--controllers=* \\
--node-labels=\"node.openshift.io/platform-type=vsphere\" \\
--leader-elect=true";

/// The operator's own.
const OPERATOR: &str = r#"#!/bin/bash
set -o allexport
if [[ -f /etc/kubernetes/apiserver-url.env ]]; then
  source /etc/kubernetes/apiserver-url.env
else
  URL_ONLY_KUBECONFIG=/etc/kubernetes/kubeconfig
fi
exec /cluster-controller-manager-operator \
--leader-elect=true \
--leader-elect-lease-duration=137s \
"--images-json=/etc/cloud-controller-manager-config/images.json" \
--metrics-bind-address=:9258 \
--health-addr=127.0.0.1:9259
"#;

#[test]
fn starts_openstack_as_upstream_does() {
    let plan = planned(OPENSTACK, &Given(&[URL])).unwrap();
    assert_eq!(plan.program, "/usr/bin/openstack-cloud-controller-manager");
    assert_eq!(plan.args.len(), 11);
    assert_eq!(plan.args[0], "--v=1");
    assert_eq!(plan.args[7], "--feature-gates=");
    assert_eq!(plan.args[10], "--secure-port=0");
    let env: Vec<_> = plan.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        env,
        [
            "KUBERNETES_SERVICE_HOST=api-int.lab.example",
            "KUBERNETES_SERVICE_PORT=6443"
        ]
    );
}

#[rstest]
#[case::without_the_file(
    OPERATOR,
    Given(&[]),
    "URL_ONLY_KUBECONFIG=/etc/kubernetes/kubeconfig /cluster-controller-manager-operator|--leader-elect=true|--leader-elect-lease-duration=137s|--images-json=/etc/cloud-controller-manager-config/images.json|--metrics-bind-address=:9258|--health-addr=127.0.0.1:9259"
)]
#[case::with_a_star_and_quotes(
    VSPHERE,
    Given(&[]),
    "/bin/vsphere-cloud-controller-manager|--v=3|--controllers=*|--node-labels=node.openshift.io/platform-type=vsphere|--leader-elect=true"
)]
#[case::other_spelling(
    "set -a; if [ -f /etc/kubernetes/apiserver-url.env ]; then . /etc/kubernetes/apiserver-url.env; fi; /ccm -v=2",
    Given(&[URL]),
    "KUBERNETES_SERVICE_HOST=api-int.lab.example|KUBERNETES_SERVICE_PORT=6443 /ccm|-v=2"
)]
#[case::exported_only_by_name(
    "if test -f /etc/kubernetes/apiserver-url.env\nthen source /etc/kubernetes/apiserver-url.env\nfi\nexec ccm",
    Given(&[URL]),
    "KUBERNETES_SERVICE_PORT=6443 ccm"
)]
#[case::exec_in_a_branch(
    "if [[ -f /etc/a ]]; then exec /a; else exec /b; fi",
    Given(&[("/etc/a", Some(""))]),
    "/a"
)]
#[case::nested(
    "if [[ -f /etc/a ]]; then if [[ -f /etc/b ]]; then A=1; fi; fi; exec /a $A",
    Given(&[("/etc/a", Some("")), ("/etc/b", Some(""))]),
    "/a|1"
)]
#[case::the_last_may_be_in_a_branch("if [[ -f /etc/a ]]; then A=1; else /b; fi", Given(&[]), "/b")]
#[case::after_exec_nothing_happens("exec /a\n/b\n/c", Given(&[]), "/a")]
#[case::file_named_by_a_variable(
    "F=/etc/x; source \"$F\"; exec /a $X",
    Given(&[("/etc/x", Some("X=from-the-file"))]),
    "/a|from-the-file"
)]
#[case::file_that_sources(
    "source /one; exec /a $X",
    Given(&[("/one", Some(". /two")), ("/two", Some("X=2"))]),
    "/a|2"
)]
#[case::carriage_returns("set -a\r\nX=1\r\nexec /a --x\r\n", Given(&[]), "X=1 /a|--x")]
fn runs(#[case] script: &str, #[case] files: Given, #[case] expected: &str) {
    assert_eq!(line(&planned(script, &files).unwrap()), expected);
}

#[rstest]
#[case::single_quotes("exec /a 'one $HOME \"two\"'", r#"/a|one $HOME "two""#)]
#[case::double_quotes(r#"exec /a "$HOME/${HOME} \$HOME \" \\ \n""#, r#"/a|/home/me//home/me $HOME " \ \n"#)]
#[case::side_by_side(r#"exec /a a'b'"c"\ d"#, "/a|abc d")]
#[case::empty_words(r#"exec /a "" '' --x="""#, "/a|||--x=")]
#[case::variable_is_split("exec /a $TWO x$TWO-y", "/a|a|b|xa|b-y")]
#[case::variable_with_blank_ends("exec /a x${BLANK}y", "/a|x|a|y")]
#[case::quoted_is_not_split("exec /a \"$TWO\"", "/a|a  b")]
#[case::unset_vanishes("exec /a $NOTHING \"$NOTHING\" x$EMPTY", "/a||x")]
#[case::value_is_not_split("set -a; X=$TWO; exec /a", "X=a  b /a")]
#[case::value_uses_an_earlier_one("A=1 B=$A; exec /a $B", "/a|1")]
#[case::kept_to_the_script("X=1; exec /a", "/a")]
#[case::switched_off_again("set -a; X=1; set +a; Y=2; exec /a", "X=1 /a")]
#[case::long_name_off("set -o allexport; X=1; set +o allexport; Y=2; exec /a", "X=1 /a")]
#[case::exported("X=1; export X Y=2; exec /a", "X=1|Y=2 /a")]
#[case::inherited_stays_exported("HOME=/tmp; exec /a", "HOME=/tmp /a")]
#[case::only_for_the_program("X=1 exec /a", "X=1 /a")]
#[case::only_for_the_last("X=1 /a $X", "X=1 /a")]
#[case::strict("set -euo pipefail; exec /a $HOME", "/a|/home/me")]
#[case::comments("# one\nexec /a x#y # two", "/a|x#y")]
#[case::continued_in_a_word("exec /a --x=\\\ny", "/a|--x=y")]
#[case::continued_at_the_end("exec /a \\\n", "/a")]
#[case::a_dollar_alone("exec /a $ \"$\" x$", "/a|$|$|x$")]
#[case::braces_without_a_list("exec /a {} --x={y}", "/a|{}|--x={y}")]
#[case::quoted_json(r#"exec /a '{"a":1,"b":2}'"#, r#"/a|{"a":1,"b":2}"#)]
#[case::quoted_keyword("'if' x", "if|x")]
fn words(#[case] script: &str, #[case] expected: &str) {
    assert_eq!(line(&planned(script, &Given(&[])).unwrap()), expected);
}

#[rstest]
#[case::kubelet_left_it(
    "exec /a \\\n--cloud-config=$(CLOUD_CONFIG)",
    2,
    "line 2: $(CLOUD_CONFIG) would run a command: the container has no environment variable CLOUD_CONFIG"
)]
#[case::command("exec /a $(date -u)", 2, "line 1: $(date -u) would run a command")]
#[case::backtick(
    "exec /a `date`",
    2,
    "line 1: ` is not understood: quote it if it is meant literally"
)]
#[case::backtick_in_quotes(
    "exec /a \"`date`\"",
    2,
    "line 1: ` is not understood: quote it if it is meant literally"
)]
#[case::pipe("/a | /b", 2, "line 1: | is not understood: quote it if it is meant literally")]
#[case::background("\n/a &", 2, "line 2: & is not understood: quote it if it is meant literally")]
#[case::redirection(
    "exec /a >/dev/null",
    2,
    "line 1: > is not understood: quote it if it is meant literally"
)]
#[case::several_programs(
    "/bin/cp a b\nexec /a",
    127,
    "line 1: /bin/cp is not the last command: this image has no shell, only the last can be run"
)]
#[case::no_program("set -a\nX=1\n", 127, "line 2: the script runs no program")]
#[case::empty("", 127, "line 1: the script runs no program")]
#[case::empty_name("exec \"$NOTHING\"", 127, "line 1: the program's name is empty")]
#[case::loops(
    "while true; do /a; done",
    2,
    "line 1: while is not understood: this image has no shell, only scripts that set variables, source a file and run one program"
)]
#[case::other_condition(
    "if [[ -n $HOME ]]; then exec /a; fi",
    2,
    "line 1: this condition is not understood: only [[ -f FILE ]] is"
)]
#[case::elif(
    "if [[ -f /a ]]; then exec /a; elif [[ -f /b ]]; then exec /b; fi",
    2,
    "line 1: fi is missing"
)]
#[case::no_fi("if [[ -f /a ]]; then\nexec /a\n", 2, "line 3: else or elif or fi is missing")]
#[case::no_then("if [[ -f /a ]]\nexec /a", 2, "line 2: then is missing")]
#[case::open_quote("exec /a\nexec 'b\n", 2, "line 2: a ' is never closed")]
#[case::open_double_quote("exec \"b\n", 2, "line 1: a \" is never closed")]
#[case::default_value("exec /a ${X:-1}", 2, "line 1: ${X:-1} is not understood: only ${NAME} is")]
#[case::parameter("exec /a $1", 2, "line 1: $1 is not understood: only $NAME is")]
#[case::special_quotes("exec /a $'x'", 2, "line 1: $' is not understood: only $NAME is")]
#[case::tilde("exec ~/a", 2, "line 1: ~ is not understood: write the whole path, or quote it")]
#[case::tilde_in_a_value("X=~/a", 2, "line 1: ~ is not understood: write the whole path, or quote it")]
#[case::brace_list("exec /a --x={b,c}", 2, "line 1: --x={b,c} would be expanded: quote it")]
#[case::tracing("set -x", 2, "line 1: the shell option x is not understood: only a, e, u and o are")]
#[case::unknown_option(
    "set -o vi",
    2,
    "line 1: the shell option vi is not understood: only allexport, errexit, nounset and pipefail are"
)]
#[case::option_of_exec("exec -a x /a", 2, "line 1: -a of exec is not understood")]
#[case::nothing_to_exec("exec", 2, "line 1: exec needs a program")]
#[case::stray_semicolon("; exec /a", 2, "line 1: a ; has nothing before it")]
#[case::missing_under_nounset("set -u\nexec /a $NOTHING", 1, "line 2: NOTHING is not set")]
#[case::missing_file_under_errexit("set -e; source /none; exec /a", 1, "line 1: cannot read /none: entity not found")]
#[case::program_in_a_file("source /f; exec /a", 2, "/f: line 2: a sourced file may only set variables")]
#[case::nonsense_in_a_file("source /g; exec /a", 2, "/g: line 1: $(date -u) would run a command")]
fn refuses(#[case] script: &str, #[case] code: u8, #[case] expected: &str) {
    let files = Given(&[("/f", Some("X=1\nrm -rf /")), ("/g", Some("X=$(date -u)"))]);
    let problem = planned(script, &files).unwrap_err();
    assert_eq!((problem.to_string().as_str(), problem.code), (expected, code));
}

/// As a shell does: it says so, and goes on.
#[test]
fn goes_on_without_a_file_that_cannot_be_read() {
    let files = Given(&[("/secret", None)]);
    let plan = planned("if [[ -f /secret ]]; then source /secret; fi; exec /a", &files).unwrap();
    assert_eq!(plan.program, "/a");
    let warnings: Vec<_> = plan.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["line 1: cannot read /secret: permission denied"]);
}

#[rstest]
#[case::as_in_manifests("-c|exec /a", "ok exec /a")]
#[case::with_parameters("-c|exec /a|name|more", "ok exec /a")]
#[case::with_options("-euo|pipefail|-c|exec /a", "ok exec /a")]
#[case::in_one("-ec|exec /a", "ok exec /a")]
#[case::interactive(
    "",
    "this image has no shell: only -c and a script that sets variables, sources a file and runs one program"
)]
#[case::file(
    "/start.sh",
    "this image has no shell: only -c and a script that sets variables, sources a file and runs one program"
)]
#[case::no_script("-c", "-c needs a script")]
#[case::login("-l", "the shell option l is not understood: only a, e, u and o are")]
fn is_called(#[case] args: &str, #[case] expected: &str) {
    let args: Vec<String> = args
        .split('|')
        .filter(|arg| !arg.is_empty())
        .map(str::to_owned)
        .collect();
    let answer = invocation(&args).map_or_else(|problem| problem.to_string(), |(_, script)| format!("ok {script}"));
    assert_eq!(answer, expected);
}

#[test]
fn options_before_the_script_count() {
    let args = ["-uac", "exec /a $NOTHING"].map(str::to_owned);
    let (options, script) = invocation(&args).unwrap();
    let problem = plan(script, options, BTreeMap::new(), &Given(&[])).unwrap_err();
    assert_eq!(problem.to_string(), "line 1: NOTHING is not set");
}

/// What the real shell makes of a script, for those that both understand.
#[rstest]
#[case::quotes(r#"exec printf '%s|' a'b'"c"\ d "$HOME" '$HOME' "\$HOME \" \\ \n""#)]
#[case::splitting("A=' a  b '; exec printf '%s|' $A x$A\"y\"$A \"$A\" $NOTHING x${NOTHING}y \"\"")]
#[case::stars("exec printf '%s|' --controllers=*,-nodeipam '*' a?b")]
#[case::continued("exec printf \\\n  '%s|' \\\n --x=\\\ny # end")]
#[case::kept_and_exported("X=1; export Y=2; set -a; Z=\"3 4\"; set +a; exec sh -c 'echo ${X-none} $Y $Z'")]
#[case::for_the_program("X=1 exec sh -c 'echo $X'")]
#[case::inherited("HOME=/elsewhere; exec sh -c 'echo $HOME'")]
#[case::branches("if [[ -f /none ]]; then A=1; else A=2; fi; if [ -f /etc/passwd ]; then B=3; fi; exec echo $A $B")]
#[case::sourced(
    "set -o allexport; if [[ -f @ENV@ ]]; then source @ENV@; fi; exec sh -c 'echo \"$HOST $PORT $QUOTED\"'"
)]
#[case::dollars("exec printf '%s|' $ \"$\" x$ \"$ x\"")]
#[case::last_command("X=1\n\n# then\n/usr/bin/env printf '%s|' $X")]
fn agrees_with_bash(#[case] script: &str) {
    let folder = std::env::temp_dir().join(lab::unique("launcher"));
    std::fs::create_dir_all(&folder).unwrap();
    let env = folder.join("url.env");
    std::fs::write(
        &env,
        "# a comment\nHOST='api.example'\nexport PORT=\"6443\"\n\nQUOTED=\"it's $PORT\"\n",
    )
    .unwrap();
    let script = script.replace("@ENV@", env.to_str().unwrap());
    let inherited = ["HOME", "PATH"].map(|name| (name.to_owned(), std::env::var(name).unwrap()));
    let command = |name: &str| {
        let mut command = std::process::Command::new(name);
        command.env_clear().envs(inherited.clone());
        command
    };
    let bash = command("bash").args(["-c", &script]).output().unwrap();
    let plan = plan(
        &script,
        Options::default(),
        BTreeMap::from(inherited.clone()),
        &super::Disk,
    )
    .unwrap();
    let ours = command(&plan.program)
        .args(&plan.args)
        .envs(&plan.env)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(ours.stdout).unwrap(),
        String::from_utf8(bash.stdout).unwrap()
    );
    assert!(bash.status.success() && ours.status.success());
    std::fs::remove_dir_all(folder).unwrap();
}
