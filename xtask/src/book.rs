//! The book: `docs/SUMMARY.md` has every page of `docs`, and every link of a Markdown file leads to a file and a heading.
//!
//! As a preprocessor of mdBook it redirects links that leave `docs`: the book does not contain those files.

mod links;

use anyhow::{Context, Result};
use clap::Args;
use links::{anchors, links, prose};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
};

const FOLDER: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";
/// From the folder that mdBook writes to the root of the repository.
const ROOT_OF_BOOK: &str = "../../";
/// Not ours, or without pages.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

/// The Markdown files of the repository, by path.
type Pages = BTreeMap<PathBuf, String>;

pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut pages = Pages::new();
    collect(root, Path::new(""), &mut pages)?;
    let mut problems = summary(&pages);
    for (path, text) in &pages {
        problems.extend(broken(path, text, &pages, |target| root.join(target).exists()));
    }
    Ok(problems)
}

fn collect(root: &Path, folder: &Path, pages: &mut Pages) -> Result<()> {
    let absolute = root.join(folder);
    for entry in fs::read_dir(&absolute).with_context(|| format!("cannot read {}", absolute.display()))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
                collect(root, &path, pages)?;
            }
        } else if is_page(&path) {
            pages.insert(path, fs::read_to_string(entry.path())?);
        }
    }
    Ok(())
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// Pages that the summary does not have or has twice, and pages without a title.
fn summary(pages: &Pages) -> Vec<String> {
    let path = Path::new(SUMMARY);
    let text = pages.get(path).map(String::as_str).unwrap_or_default();
    let mut listed: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for target in links(&prose(text)) {
        *listed
            .entry(resolve(path, &target.path).unwrap_or_default())
            .or_default() += 1;
    }
    let of_book = pages
        .iter()
        .filter(|(page, _)| page.starts_with(FOLDER) && page.as_path() != path);
    of_book
        .flat_map(|(page, text)| {
            let place = match listed.get(page) {
                None => Some(format!("book: {SUMMARY} does not have {}", page.display())),
                Some(1) => None,
                Some(times) => Some(format!("book: {SUMMARY} has {} {times} times", page.display())),
            };
            let title = !text.starts_with("# ");
            let title = title.then(|| format!("book: {} does not begin with a title", page.display()));
            place.into_iter().chain(title)
        })
        .collect()
}

/// The links of a page whose file or heading does not exist.
fn broken(page: &Path, text: &str, pages: &Pages, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    for link in links(&prose(text)) {
        let target = if link.path.is_empty() {
            Some(page.to_owned())
        } else {
            resolve(page, &link.path)
        };
        let Some(target) = target.filter(|target| exists(target)) else {
            problems.push(format!(
                "book: {} links to {}, which does not exist",
                page.display(),
                link.path
            ));
            continue;
        };
        let headings = pages.get(&target).filter(|_| !link.anchor.is_empty());
        if headings.is_some_and(|text| !anchors(text).contains(&link.anchor)) {
            problems.push(format!(
                "book: {} links to #{} of {}, which has no such heading",
                page.display(),
                link.anchor,
                target.display()
            ));
        }
    }
    problems
}

/// The path from the root of the repository; `None` if it leaves the repository.
fn resolve(page: &Path, link: &str) -> Option<PathBuf> {
    let mut path = page.parent()?.to_owned();
    for component in Path::new(link).components() {
        match component {
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Redirect links that leave the book: a preprocessor of mdBook.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// mdBook asks with "supports html" whether it may use this preprocessor.
    question: Vec<String>,
}

pub(crate) fn preprocess(options: &Options) -> Result<()> {
    if !options.question.is_empty() {
        return Ok(());
    }
    let input: (Value, Value) =
        serde_json::from_reader(io::stdin()).context("standard input is not the book that mdBook sends")?;
    let (context, mut book) = input;
    let repository = context["config"]["output"]["html"]["git-repository-url"].as_str();
    redirect_chapters(&mut book, repository);
    println!("{book}");
    Ok(())
}

/// The versions of mdBook differ in how chapters are nested, and not in what a chapter is.
fn redirect_chapters(value: &mut Value, repository: Option<&str>) {
    if let Some(path) = value["path"].as_str().map(PathBuf::from)
        && let Some(text) = value["content"].as_str()
    {
        value["content"] = redirect(&path, text, repository).into();
    }
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| redirect_chapters(value, repository)),
        Value::Object(values) => values
            .values_mut()
            .for_each(|value| redirect_chapters(value, repository)),
        _ => {}
    }
}

/// A chapter whose links to files outside of the book lead to the repository, or to this checkout without its URL.
fn redirect(chapter: &Path, text: &str, repository: Option<&str>) -> String {
    let page = Path::new(FOLDER).join(chapter);
    let up = "../".repeat(chapter.components().count().saturating_sub(1));
    let base = match repository {
        Some(url) => format!("{}/blob/HEAD/", url.trim_end_matches('/')),
        None => format!("{up}{ROOT_OF_BOOK}"),
    };
    let mut redirected = text.to_owned();
    for link in links(&prose(text)).iter().rev() {
        let outside = resolve(&page, &link.path).filter(|target| !link.path.is_empty() && !target.starts_with(FOLDER));
        if let Some(target) = outside {
            let mut target = target.display().to_string();
            if repository.is_none() {
                // mdBook would make it a page of the book.
                target = target.replace(".md", "%2Emd");
            }
            redirected.replace_range(link.place.clone(), &format!("{base}{target}"));
        }
    }
    redirected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(texts: &[(&str, &str)]) -> Pages {
        let texts = texts.iter();
        texts
            .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn the_summary_has_every_page_once_and_every_page_has_a_title() {
        let pages = pages(&[
            (SUMMARY, "- [A](a.md)\n- [B](b/b.md)\n- [B](b/b.md)\n"),
            ("README.md", "no page"),
            ("docs/a.md", "# A\n"),
            ("docs/b/b.md", "## B\n"),
            ("docs/c.md", "# C\n"),
        ]);
        let expected = [
            "book: docs/SUMMARY.md has docs/b/b.md 2 times",
            "book: docs/b/b.md does not begin with a title",
            "book: docs/SUMMARY.md does not have docs/c.md",
        ];
        assert_eq!(summary(&pages), expected);
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let text = "# A\n\n## Two words: *a* `b-c`\n[1](#two-words-a-b-c) [2](#none) [3](b/b.md#b) [4](b/b.md#c) [5](../../x) \
                    [6](../LICENSE) [7](gone.md) [8](https://example.com/x)\n```\n[9](code.md)\n```\n`[10](code.md)`\n";
        let pages = pages(&[("docs/a.md", text), ("docs/b/b.md", "# B\n")]);
        let exists = |path: &Path| pages.contains_key(path) || path == Path::new("LICENSE");
        let expected = [
            "book: docs/a.md links to #none of docs/a.md, which has no such heading",
            "book: docs/a.md links to #c of docs/b/b.md, which has no such heading",
            "book: docs/a.md links to ../../x, which does not exist",
            "book: docs/a.md links to gone.md, which does not exist",
        ];
        assert_eq!(broken(Path::new("docs/a.md"), text, &pages, exists), expected);
    }

    #[test]
    fn links_that_leave_the_book_lead_to_the_repository() {
        let text = "[a](../b.md#c) [d](../../deploy/e.md#i) `[f](../../g)`";
        let here = "[a](../b.md#c) [d](../../../deploy/e%2Emd#i) `[f](../../g)`";
        assert_eq!(redirect(Path::new("x/y.md"), text, None), here);
        let there = "[a](../b.md#c) [d](https://example.com/o/r/blob/HEAD/deploy/e.md#i) `[f](../../g)`";
        assert_eq!(
            redirect(Path::new("x/y.md"), text, Some("https://example.com/o/r/")),
            there
        );
    }

    #[test]
    fn chapters_are_redirected_wherever_they_are_nested() {
        let mut book = serde_json::json!({"items": [{"Chapter": {"path": "a.md", "content": "[b](../b)", "sub_items": [
            {"Chapter": {"path": "c.md", "content": "[b](../b)"}}]}}, "Separator", {"PartTitle": "x"}]});
        redirect_chapters(&mut book, None);
        assert_eq!(book.to_string().matches("[b](../../b)").count(), 2, "{book}");
    }
}
