//! The command of a container: a list of flags in a manifest, a script in a cluster.
//!
//! `run: {binary, flags}` becomes the three-element command of every operand. The script reads the address of the API server
//! from a file of the machine, because the operands run before there is a Pod network through which the Service of the API server can be
//! reached.

use super::Wrong;
use serde_json::{Value, json};

/// The start of every script.
pub const PREFIX: &str = "\
#!/bin/bash
set -o allexport
if [[ -f /etc/kubernetes/apiserver-url.env ]]; then
  source /etc/kubernetes/apiserver-url.env
fi
exec ";

/// Replaces `run` in a container by its command, and removes arguments whose condition is empty.
pub fn expand(container: &mut Value) -> Result<(), Wrong> {
    if let Some(args) = container.get_mut("args") {
        *args = given(args)?.into();
    }
    let Some(run) = container.as_object_mut().and_then(|container| container.remove("run")) else {
        return Ok(());
    };
    let binary = run["binary"]
        .as_str()
        .ok_or_else(|| Wrong::manifest("run.binary is missing"))?;
    let mut words = given(&run["flags"])?;
    words.insert(0, binary.to_owned());
    container["command"] = json!(["/bin/bash", "-c", format!("{PREFIX}{}\n", words.join(" \\\n"))]);
    Ok(())
}

/// The flags to pass: all except those of the form `{flag, given}` whose `given` is empty.
fn given(flags: &Value) -> Result<Vec<String>, Wrong> {
    let flags = flags
        .as_array()
        .ok_or_else(|| Wrong::manifest("flags have to be a list"))?;
    let mut passed = Vec::new();
    for flag in flags {
        match (flag.as_str(), flag["flag"].as_str(), flag["given"].as_str()) {
            (Some(flag), _, _) => passed.push(flag.to_owned()),
            (_, Some(_), Some("")) => {}
            (_, Some(flag), Some(_)) => passed.push(flag.to_owned()),
            _ => return Err(Wrong::manifest(format!("{flag} is neither a flag nor {{flag, given}}"))),
        }
    }
    Ok(passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn is_a_script() {
        let mut container = json!({"run": {"binary": "/bin/ccm", "flags": [
            "--a=1", {"flag": "--b", "given": ""}, {"flag": "--c", "given": "x"}
        ]}});
        expand(&mut container).unwrap();
        let script = "#!/bin/bash\nset -o allexport\nif [[ -f /etc/kubernetes/apiserver-url.env ]]; then\n  \
                      source /etc/kubernetes/apiserver-url.env\nfi\nexec /bin/ccm \\\n--a=1 \\\n--c\n";
        assert_eq!(container, json!({"command": ["/bin/bash", "-c", script]}));
    }

    #[test]
    fn arguments_have_conditions_too() {
        let mut container = json!({"command": ["x"], "args": ["--a", {"flag": "--b", "given": ""}]});
        expand(&mut container).unwrap();
        assert_eq!(container, json!({"command": ["x"], "args": ["--a"]}));
    }

    #[rstest]
    #[case::no_binary(json!({"run": {"flags": []}}), "run.binary is missing")]
    #[case::no_list(json!({"run": {"binary": "x", "flags": "--a"}}), "flags have to be a list")]
    #[case::no_flag(json!({"args": [1]}), "1 is neither a flag nor {flag, given}")]
    fn refuses(#[case] mut container: Value, #[case] message: &str) {
        assert_eq!(expand(&mut container).unwrap_err().to_string(), message);
    }
}
