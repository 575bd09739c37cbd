//! Errors in the logs of managers.

use serde_json::Value;

/// The last error in a log, preferably about this object. Logs are in the text format of Kubernetes or in JSON.
pub(super) fn last_error<'a>(log: &'a str, object: &str) -> Option<&'a str> {
    let about = |line: &&str| line.contains(object) && severity(line) >= Severity::Warning;
    let error = |line: &&str| severity(line) == Severity::Error;
    let lines = || log.lines().rev();
    lines().find(about).or_else(|| lines().find(error)).map(str::trim)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Other,
    Warning,
    Error,
}

/// `E1119 22:15:30.123456 …` or `{"level":"error",…}`; the first line of a panic counts as an error.
fn severity(line: &str) -> Severity {
    let mut letters = line.chars();
    match (letters.next(), letters.next()) {
        (Some('E' | 'F'), Some('0'..='9')) => return Severity::Error,
        (Some('W'), Some('0'..='9')) => return Severity::Warning,
        (Some('{'), _) => {}
        _ if line.starts_with("panic:") || line.starts_with("Error: ") => return Severity::Error,
        _ => return Severity::Other,
    }
    let fields: Value = serde_json::from_str(line).unwrap_or_default();
    let level = ["level", "severity"].iter().find_map(|key| fields[key].as_str());
    match level.map(str::to_ascii_lowercase).as_deref() {
        Some("error" | "fatal") => Severity::Error,
        Some("warn" | "warning") => Severity::Warning,
        // client-go's JSON has no level: errors have this key.
        _ if fields.get("err").is_some() => Severity::Error,
        _ => Severity::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const TEXT: &str = "I1119 22:15:30.000001       1 main.go:1] \"Error: not one\"\n\
                        E1119 22:15:31.000001       1 a.go:1] \"first\"\n\
                        W1119 22:15:32.000001       1 a.go:1] \"slow\" service=\"default/web\"\n\
                        E1119 22:15:33.000001       1 a.go:1] \"other\" service=\"default/db\"\n";

    #[rstest]
    #[case::about_the_object(TEXT, "default/web", Some("\"slow\" service=\"default/web\""))]
    #[case::the_last_one(TEXT, "default/nothing", Some("\"other\" service=\"default/db\""))]
    #[case::no_error("I1119 22:15:30.000001 1 main.go:1] \"started\"", "x", None)]
    #[case::json(
        "{\"level\":\"error\",\"msg\":\"no\"}\n{\"level\":\"info\",\"msg\":\"x\"}",
        "x",
        Some("\"msg\":\"no\"}")
    )]
    #[case::json_of_go("{\"ts\":1,\"msg\":\"no\",\"err\":\"refused\"}", "x", Some("\"err\":\"refused\"}"))]
    #[case::command_line("Error: unknown flag: --nope", "x", Some("--nope"))]
    fn finds(#[case] log: &str, #[case] object: &str, #[case] expected_end: Option<&str>) {
        let found = last_error(log, object);
        assert_eq!(found.is_some(), expected_end.is_some(), "{found:?}");
        assert!(
            found.is_none_or(|line| line.ends_with(expected_end.unwrap())),
            "{found:?}"
        );
    }
}
