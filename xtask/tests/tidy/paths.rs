//! Paths in documents and comments lead to files.

use std::fs;
use std::path::Path;

use super::files::{find_files, read_text, relative_path, repository_root};
use super::{TEXT_EXTENSIONS, assert_none};

#[test]
fn paths_in_the_documents_exist() {
    let mut faults = Vec::new();
    for name in ["README.md", "ARCHITECTURE.md"] {
        if !repository_root().join(name).is_file() {
            faults.push(format!("{name} is missing: write it"));
        }
    }
    for document in find_files(&["md"]) {
        let folder = document.parent().expect("a file is in a folder");
        faults.extend(missing_paths(&read_text(&document), folder).into_iter().map(|path| {
            format!("{} names `{path}`, which does not exist: correct the document", relative_path(&document))
        }));
    }
    assert_none(faults);
}

#[test]
fn cited_pages_exist() {
    let mut faults = Vec::new();
    for file in find_files(&TEXT_EXTENSIONS) {
        for (number, line) in read_text(&file).lines().enumerate() {
            faults.extend(
                cited_pages(line)
                    .filter(|page| !page_exists(page))
                    .map(|page| format!("{}:{}: there is no {page}", relative_path(&file), number + 1)),
            );
        }
    }
    assert_none(faults);
}

/// The pages below `docs` that a line names. `docs` in the path of a web address is another folder.
fn cited_pages(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("docs/").filter_map(|(at, _)| {
        let is_start =
            !line[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_'));
        let path = line[at..].split(|c: char| !c.is_ascii_alphanumeric() && !"/-_.".contains(c)).next()?;
        is_start.then(|| path.trim_end_matches(['.', '-', '/']))
    })
}

/// Whether a page exists. A decision may be named by its number.
fn page_exists(page: &str) -> bool {
    if repository_root().join(page).exists() {
        return true;
    }
    let Some(number) = page.strip_prefix("docs/decisions/").filter(|number| number.len() == 4) else {
        return false;
    };
    let decisions = fs::read_dir(repository_root().join("docs/decisions")).expect("there are decisions");
    decisions.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(number))
}

/// Paths in backticks or links of a document that do not exist. Links begin at the folder of the document.
fn missing_paths(text: &str, folder: &Path) -> Vec<String> {
    let in_code = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
    let in_links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let missing_in_code =
        in_code.filter(|word| is_repository_path(word)).filter(|path| !path_exists(repository_root(), path));
    let missing_links = in_links
        .filter(|link| !link.contains("://") && !link.starts_with(['#', '/']))
        .filter(|link| !path_exists(folder, link));
    missing_in_code.chain(missing_links).map(str::to_owned).collect()
}

/// Whether a word is a path: it starts with a top-level folder of the repository that is not a build output.
fn is_repository_path(word: &str) -> bool {
    match word.split_once('/') {
        Some(("target" | "node_modules", _)) | None => false,
        Some((first, _)) => {
            !first.is_empty() && !first.starts_with('.') && repository_root().join(first).is_dir()
        }
    }
}

/// Whether a path exists. Of `a/{b,c}.rs`, `a/*.rs`, `a/b.rs:12`, `a/b.rs#part` and `a/b.rs::name` only the part before the
/// special character is checked.
fn path_exists(folder: &Path, path: &str) -> bool {
    let literal = path.split(['*', '{', '<', ':', '#', '…', ',', ';', '(']).next().unwrap_or(path);
    let literal = match literal.len() == path.len() {
        true => literal,
        false if path[literal.len()..].starts_with([':', '#', ',', ';', '(']) => literal,
        false => literal.rsplit_once('/').map_or(literal, |(folder, _)| folder),
    };
    folder.join(literal.trim_end_matches(['.', ','])).exists()
}

#[test]
fn paths_in_documents_are_found() {
    let missing = |text| missing_paths(text, repository_root());
    assert_eq!(missing("`xtask/src/main.rs:3` `xtask/src/*.rs` `GET /api/v1` `target/site`"), [""; 0]);
    assert_eq!(
        missing("see `xtask/nowhere.rs` and [this](docs-not-there.md)"),
        ["xtask/nowhere.rs", "docs-not-there.md"]
    );
    let cited: Vec<&str> = cited_pages("(docs/decisions/0014), <https://example.com/docs/a.md>").collect();
    assert_eq!(cited, ["docs/decisions/0014"]);
    assert!(page_exists("docs/decisions/0014") && !page_exists(concat!("docs", "/decisions/9999")));
}
