use super::{
    Problem,
    script::{Files, Program, interpret},
};
use rstest::rstest;
use std::io::{self, ErrorKind};

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
        "# the API server\nKUBERNETES_SERVICE_HOST='api-int.lab.example'\nexport KUBERNETES_SERVICE_PORT=\"6443\"\n\n",
    ),
);

/// `NAME=value|… program|argument|…`, as a line.
fn line(program: &Program) -> String {
    let env: Vec<_> = program
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let words: Vec<_> = std::iter::once(&program.path).chain(&program.args).cloned().collect();
    format!("{} {}", env.join("|"), words.join("|")).trim_start().to_owned()
}

/// A script of `OpenShift`'s operator.
const OPENSTACK: &str = r"#!/bin/bash
set -o allexport
if [[ -f /etc/kubernetes/apiserver-url.env ]]; then
  source /etc/kubernetes/apiserver-url.env
fi
exec /usr/bin/openstack-cloud-controller-manager \
  --v=1 \
  --cloud-config=/etc/openstack/config/cloud.conf \
  --feature-gates= \
  --tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384 \
  --secure-port=0
";

/// The same, with quotes and a star.
const VSPHERE: &str = "#!/bin/bash
set -o allexport
if [[ -f /etc/kubernetes/apiserver-url.env ]]; then
  source /etc/kubernetes/apiserver-url.env
fi
exec /bin/vsphere-cloud-controller-manager \\
--controllers=* \\
--node-labels=\"node.openshift.io/platform-type=vsphere\" \\
--leader-elect=true";

/// The script of the operator itself.
const OPERATOR: &str = r#"#!/bin/bash
set -o allexport
if [[ -f /etc/kubernetes/apiserver-url.env ]]; then
  source /etc/kubernetes/apiserver-url.env
else
  URL_ONLY_KUBECONFIG=/etc/kubernetes/kubeconfig
fi
exec /cluster-controller-manager-operator \
--leader-elect=true \
"--images-json=/etc/cloud-controller-manager-config/images.json" \
--metrics-bind-address=:9258
"#;

const HOST: &str = "KUBERNETES_SERVICE_HOST=api-int.lab.example|KUBERNETES_SERVICE_PORT=6443";

#[rstest]
#[case::openstack(
    OPENSTACK,
    Given(&[URL]),
    &format!("{HOST} /usr/bin/openstack-cloud-controller-manager|--v=1|--cloud-config=/etc/openstack/config/cloud.conf|--feature-gates=|--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384|--secure-port=0")
)]
#[case::vsphere_without_the_file(
    VSPHERE,
    Given(&[]),
    "/bin/vsphere-cloud-controller-manager|--controllers=*|--node-labels=node.openshift.io/platform-type=vsphere|--leader-elect=true"
)]
#[case::operator(
    OPERATOR,
    Given(&[URL]),
    &format!("{HOST} /cluster-controller-manager-operator|--leader-elect=true|--images-json=/etc/cloud-controller-manager-config/images.json|--metrics-bind-address=:9258")
)]
#[case::operator_without_the_file(
    OPERATOR,
    Given(&[]),
    "URL_ONLY_KUBECONFIG=/etc/kubernetes/kubeconfig /cluster-controller-manager-operator|--leader-elect=true|--images-json=/etc/cloud-controller-manager-config/images.json|--metrics-bind-address=:9258"
)]
#[case::in_one_line("if [[ -f /f ]]; then source /f; else export A=1; fi; exec /a", Given(&[("/f", Some("export X=1 Y='2 3'"))]), "X=1|Y=2 3 /a")]
#[case::after_exec_nothing_is_read("exec /a\n/b\n/c", Given(&[]), "/a")]
#[case::exec_in_a_branch("if [[ -f /f ]]; then\nexec /a\nelse\nexec /b\nfi", Given(&[]), "/b")]
#[case::carriage_returns("set -o allexport\r\nX=1\r\nexec /a --x\r\n", Given(&[]), "X=1 /a|--x")]
#[case::quotes("exec /a a'b'\"c d\" '' \"\" '$HOME \"x\"' 'exec'", Given(&[]), "/a|abc d|||$HOME \"x\"|exec")]
#[case::comments("# one\nexec /a x#y # two", Given(&[]), "/a|x#y")]
#[case::continued_in_a_word("exec /a --x=\\\ny \\\n", Given(&[]), "/a|--x=y")]
fn executes(#[case] script: &str, #[case] files: Given, #[case] expected: &str) {
    assert_eq!(line(&interpret(script, &files).unwrap()), expected);
}

#[rstest]
#[case::kubelet_kept_it(
    "exec /a \\\n--cloud-config=$(CLOUD_CONFIG)",
    2,
    "line 2: $(CLOUD_CONFIG): the container has no environment variable CLOUD_CONFIG"
)]
#[case::kubelet_kept_it_in_quotes(
    "exec /a \"$(LABELS)\"",
    2,
    "line 1: $(LABELS): the container has no environment variable LABELS"
)]
#[case::command(
    "exec /a $(date -u)",
    2,
    "line 1: $(date is not supported: quote it with ' if it is meant literally"
)]
#[case::variable(
    "exec /a $HOME",
    2,
    "line 1: $HOME is not supported: quote it with ' if it is meant literally"
)]
#[case::backtick("exec /a `date`", 2, "line 1: ` is not supported: quote it if it is meant literally")]
#[case::backtick_in_quotes("exec /a \"`date`\"", 2, "line 1: ` is not supported in double quotes")]
#[case::pipe("exec /a | /b", 2, "line 1: | is not supported: quote it if it is meant literally")]
#[case::list("exec /a {b,c}", 2, "line 1: { is not supported: quote it if it is meant literally")]
#[case::escape("exec /a \\ b", 2, "line 1: a \\ is supported only at the end of a line")]
#[case::open_quote("exec /a\nexec 'b\n", 2, "line 2: a ' is never closed")]
#[case::open_double_quote("exec \"b\n", 2, "line 1: a \" is never closed")]
#[case::another_program(
    "/bin/cp a b\nexec /a",
    2,
    "line 1: /bin/cp is not supported: this image has no shell, only scripts that set variables, source a file and execute one program"
)]
#[case::no_program("set -o allexport\nX=1\n", 127, "line 2: the script executes no program")]
#[case::empty("", 127, "line 1: the script executes no program")]
#[case::not_exported("X=1\nexec /a", 2, "line 1: X is not exported: write export X=…")]
#[case::nested_if(
    "if [[ -f /f ]]; then\nif [[ -f /g ]]; then exec /a; fi\nfi",
    2,
    "line 2: if inside of an if is not supported"
)]
#[case::elif(
    "if [[ -f /none ]]; then exec /a; elif [[ -f /f ]]; then exec /b; fi",
    2,
    "line 1: elif inside of an if is not supported"
)]
#[case::program_in_a_file(
    "set -o allexport; source /f; exec /a",
    2,
    "/f: line 2: rm is not supported: this image has no shell, only scripts that set variables, source a file and execute one program"
)]
#[case::expansion_in_a_file(
    "source /g",
    2,
    "/g: line 1: $(date is not supported: quote it with ' if it is meant literally"
)]
fn rejects(#[case] script: &str, #[case] code: u8, #[case] expected: &str) {
    let files = Given(&[("/f", Some("X=1\nrm -rf /")), ("/g", Some("X=$(date -u)"))]);
    let Problem { text, code: found } = interpret(script, &files).unwrap_err();
    assert_eq!((text.as_str(), found), (expected, code));
}

#[test]
fn continues_without_a_file_that_cannot_be_read() {
    let files = Given(&[("/secret", None)]);
    let program = interpret("if [[ -f /secret ]]; then source /secret; fi; exec /a", &files).unwrap();
    assert_eq!(
        (program.path.as_str(), program.warnings),
        ("/a", vec!["cannot read /secret: permission denied".to_owned()])
    );
}

/// Bash executes the same program, with the same arguments and variables.
#[rstest]
#[case::openstack(OPENSTACK)]
#[case::vsphere(VSPHERE)]
#[case::operator(OPERATOR)]
fn agrees_with_bash(#[case] script: &str) {
    let folder = std::env::temp_dir().join(lab::unique("launcher"));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("url.env");
    std::fs::write(&file, URL.1.unwrap()).unwrap();
    let script = script.replace(URL.0, file.to_str().unwrap());
    let program = interpret(&script, &super::Disk).unwrap();
    // In place of the program, one that prints its environment and its arguments.
    let printing = r#"/bin/sh -c 'env | grep KUBERNETES_; printf "%s|" "$@"' sh "#;
    let script = script.replace(&format!("exec {}", program.path), &format!("exec {printing}"));
    let bash = std::process::Command::new("bash")
        .args(["-c", &script])
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .output()
        .unwrap();
    let expected: Vec<_> = program.args.iter().map(|arg| format!("{arg}|")).collect();
    let printed = String::from_utf8(bash.stdout).unwrap();
    assert!(printed.ends_with(&expected.concat()), "{printed}");
    for (name, value) in &program.env {
        assert!(printed.contains(&format!("{name}={value}\n")), "{printed}");
    }
    assert!(bash.status.success() && program.env.len() == 2);
    std::fs::remove_dir_all(folder).unwrap();
}
