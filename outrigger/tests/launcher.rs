//! The product runs under the names of the programs that it replaces, and of a shell.

#![expect(clippy::unwrap_used, reason = "it is a test")]

use std::{
    os::unix::fs::symlink,
    path::PathBuf,
    process::{Command, Output},
};

/// The product under another name, as in the image.
struct Named(PathBuf);

impl Named {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(lab::unique("launcher"));
        std::fs::create_dir_all(&folder).unwrap();
        symlink(env!("CARGO_BIN_EXE_outrigger"), folder.join(name)).unwrap();
        Self(folder.join(name))
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(&self.0).args(args).output().unwrap()
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        // It is in the temporary folder.
        let _ = self.0.parent().map(std::fs::remove_dir_all);
    }
}

#[test]
fn becomes_the_program_of_the_script() {
    let bash = Named::new("bash");
    let script = "#!/bin/bash\nset -o allexport\nHOST=api.example\nexec /bin/sh -c \\\n 'echo $HOST $$'";
    let output = bash.run(&["-c", script]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("api.example "), "{printed}");
    assert!(output.status.success());
}

#[test]
fn starts_the_manager_by_its_name() {
    let manager = Named::new("openstack-cloud-controller-manager");
    let bash = Named::new("bash");
    let script = format!("set -o allexport\nexec {} \\\n--version", manager.0.display());
    let output = bash.run(&["-c", &script]);
    assert_eq!(output.stdout, manager.run(&["--version"]).stdout);
    assert!(!output.stdout.is_empty());
}

/// Manifests of images without an entrypoint name the program as the first argument; ours has an entrypoint.
#[test]
fn every_name_of_the_image_may_also_be_the_first_argument() {
    let names = concat!(
        include_str!("../../deploy/image/links"),
        include_str!("../../deploy/image/provider-links")
    );
    let names = names.lines();
    let names: Vec<_> = names.filter(|line| line.starts_with('/')).collect();
    assert!(names.contains(&"/bin/openstack-cloud-controller-manager"), "{names:?}");
    for path in names {
        let name = path.rsplit('/').next().unwrap();
        let args: &[&str] = match name {
            "bash" | "sh" => &["-c", "exec /bin/echo hello"],
            _ => &["--help"],
        };
        let by_link = Named::new(name).run(args);
        let by_argument = Command::new(env!("CARGO_BIN_EXE_outrigger"))
            .arg(path)
            .args(args)
            .output()
            .unwrap();
        assert_eq!(by_argument, by_link, "{path}");
        assert!(
            by_link.status.success() && !by_link.stdout.is_empty(),
            "{path}: {by_link:?}"
        );
    }
}

#[test]
fn another_first_argument_is_a_subcommand() {
    let output = Command::new(env!("CARGO_BIN_EXE_outrigger"))
        .args(["/bin/kube-apiserver", "--v=1"])
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(
        printed.contains("unrecognized subcommand '/bin/kube-apiserver'"),
        "{printed}"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn rejects() {
    let bash = Named::new("bash");
    for (args, code, message) in [
        (
            vec!["-c", "cat /etc/passwd | wc -l"],
            2,
            "bash: line 1: | is not supported: quote it if it is meant literally\n",
        ),
        (
            vec!["-c", "exec /no/such/program"],
            127,
            "bash: /no/such/program: not found: this image does not have it\n",
        ),
        (
            vec!["-c", "exec /etc/passwd"],
            126,
            "bash: /etc/passwd: cannot be run: Permission denied (os error 13)\n",
        ),
        (
            vec![],
            2,
            "bash: only -c SCRIPT is supported: this image has no shell, only scripts that set variables, source a file and execute one program\n",
        ),
    ] {
        let output = bash.run(&args);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), message);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
}
