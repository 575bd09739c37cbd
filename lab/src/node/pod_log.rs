//! The logs of containers, from the files that the runtime writes.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The text of a container, all its restarts one after the other. Static pods have the node's name at the end of theirs.
pub(super) fn read(pods: &Path, namespace: &str, pod: &str, container: &str) -> String {
    let prefix = format!("{namespace}_{pod}_");
    let folders = entries(pods)
        .into_iter()
        .filter(|folder| name(folder).starts_with(&prefix));
    let files = folders.flat_map(|folder| {
        let mut files = entries(&folder.join(container));
        files.retain(|file| file.extension().is_some_and(|end| end == "log"));
        files.sort_by_key(|file| name(file).trim_end_matches(".log").parse::<u32>().unwrap_or(u32::MAX));
        files
    });
    files
        .map(|file| text(&fs::read_to_string(file).unwrap_or_default()))
        .collect()
}

/// Each line is `TIME STREAM TAG TEXT`; the tag `P` means that the line continues in the next one.
fn text(log: &str) -> String {
    let mut text = String::new();
    for line in log.lines() {
        let mut fields = line.splitn(4, ' ').skip(2);
        let (tag, content) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        text.push_str(content);
        if tag != "P" {
            text.push('\n');
        }
    }
    text
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn lines_and_parts_of_lines() {
        let log = "2026-01-01T00:00:00.1Z stdout F one\n2026-01-01T00:00:00.2Z stderr P two \
                   \n2026-01-01T00:00:00.3Z stderr F three\n2026-01-01T00:00:00.4Z stdout F \n";
        assert_eq!(text(log), "one\ntwo three\n\n");
    }
}
