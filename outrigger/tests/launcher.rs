//! The binary stands in for the programs whose names it has in its image, and for the shell.

#![expect(clippy::unwrap_used, reason = "it is a test")]

use std::{
    os::unix::fs::symlink,
    path::PathBuf,
    process::{Command, Output},
};

/// The binary under another name, as the image has it.
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
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("api.example "), "{said}");
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

/// Where another image has no entrypoint, its manifests give the program as the first argument; ours has one.
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
        let asked: &[&str] = match name {
            "bash" | "sh" => &["-c", "exec /bin/echo said"],
            _ => &["--help"],
        };
        let by_link = Named::new(name).run(asked);
        let by_argument = Command::new(env!("CARGO_BIN_EXE_outrigger"))
            .arg(path)
            .args(asked)
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
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("unrecognized subcommand '/bin/kube-apiserver'"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn says_what_it_cannot_do() {
    let bash = Named::new("bash");
    for (args, code, said) in [
        (
            vec!["-c", "cat /etc/passwd | wc -l"],
            2,
            "bash: line 1: | is not understood: quote it if it is meant literally\n",
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
            "bash: this image has no shell: only -c and a script that sets variables, sources a file and runs one program\n",
        ),
    ] {
        let output = bash.run(&args);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), said);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
}
