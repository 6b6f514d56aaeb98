//! The house rules that a compiler does not check. Each message says what to do.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a source file, tests included.
const FILE: usize = 500;
/// Lines of code in a function; blank lines and comments do not count.
const FUNCTION: usize = 75;
/// A component is mostly markup, one element a line.
const COMPONENT: usize = 120;

const SOURCE: [&str; 6] = ["rs", "css", "js", "ts", "sql", "sh"];
const TEXT: [&str; 15] =
    ["rs", "css", "js", "ts", "sql", "sh", "toml", "md", "html", "json", "yaml", "yml", "tpl", "txt", "svg"];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 9] =
    ["mod", "util", "utils", "common", "helper", "helpers", "types", "misc", "shared"];

/// Words that must not stand in the repository, and why. Split, so that this file may hold them.
const FORBIDDEN: [(&str, &str); 10] = [
    (concat!("TO", "DO"), "finish it, or leave it out and say so in the documentation"),
    (concat!("FIX", "ME"), "fix it"),
    (concat!("XX", "X:"), "say what is meant"),
    (concat!("/wo", "rk/"), "a path of one machine: use a path inside the repository"),
    (concat!("/tmp/", "team"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("Fixes ", "#"), "numbers of a tracker belong into commits: write the reason itself"),
    (concat!("Closes ", "#"), "numbers of a tracker belong into commits: write the reason itself"),
    (concat!("issue ", "#"), "numbers of a tracker belong into commits: write the reason itself"),
    (concat!("lorem ", "ipsum"), "write the real text"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent folder")
}

/// Files of the repository with one of these extensions; nothing that is built or installed.
fn files(kinds: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be listed").flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let skipped =
                ["target", "node_modules", ".git", ".flotilla", "test-results", "playwright-report"];
            if path.is_dir() && !skipped.contains(&name.as_str()) {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kinds.iter().any(|k| kind == *k)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn short(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{} is not readable text: {error}", short(path)))
}

/// Reports all faults at once: one run, one list.
fn assert_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "{} to put right:\n  {}\n", faults.len(), faults.join("\n  "));
}

#[test]
fn files_have_names_that_say_what_is_inside() {
    let faults = files(&["rs"]).into_iter().filter_map(|path| {
        let stem = path.file_stem()?.to_str()?;
        match stem {
            "mod" => Some(format!("{}: rename to `<folder>.rs` beside the folder", short(&path))),
            _ if EMPTY_NAMES.contains(&stem) => {
                Some(format!("{}: name it after the noun or verb inside", short(&path)))
            }
            _ if stem.starts_with("new_") => {
                Some(format!("{}: replace the old one, do not keep both", short(&path)))
            }
            _ => None,
        }
    });
    assert_none(faults.collect());
}

#[test]
fn files_stay_short_enough_to_read() {
    let faults = files(&SOURCE).into_iter().filter_map(|path| {
        let lines = read(&path).lines().count();
        (lines > FILE).then(|| {
            format!(
                "{}: {lines} lines, the ceiling is {FILE}: split it by noun or verb, tests into `x/tests.rs`",
                short(&path)
            )
        })
    });
    assert_none(faults.collect());
}

#[test]
fn functions_fit_on_a_screen() {
    let mut faults = Vec::new();
    for path in files(&["rs"]) {
        for function in functions(&read(&path)) {
            let ceiling = if function.component { COMPONENT } else { FUNCTION };
            if function.lines > ceiling {
                faults.push(format!(
                    "{}:{} fn {}: {} lines of code, the ceiling is {ceiling}: name its steps and move them out",
                    short(&path),
                    function.at,
                    function.name,
                    function.lines
                ));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn every_file_says_what_it_is_for() {
    let faults = files(&["rs"]).into_iter().filter(|path| !read(path).starts_with("//!"));
    assert_none(
        faults
            .map(|path| format!("{}: begin with `//!` and say what the file is for", short(&path)))
            .collect(),
    );
}

#[test]
fn no_test_is_switched_off() {
    let off = concat!("#[ign", "ore");
    let faults = files(&["rs"])
        .into_iter()
        .filter(|path| read(path).lines().any(|line| line.trim_start().starts_with(off)));
    assert_none(faults.map(|path| format!("{}: run the test or delete it", short(&path))).collect());
}

#[test]
fn no_forbidden_words() {
    let mut faults = Vec::new();
    for path in files(&TEXT) {
        for (number, line) in read(&path).lines().enumerate() {
            for (word, why) in FORBIDDEN.iter().filter(|(word, _)| line.contains(word)) {
                faults.push(format!("{}:{}: `{word}`: {why}", short(&path), number + 1));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn lock_files_name_no_registry() {
    let faults = ["style", "end2end"]
        .into_iter()
        .filter(|folder| read(&root().join(folder).join("package-lock.json")).contains("\"resolved\""));
    assert_none(faults.map(|folder| format!("{folder}/package-lock.json: run `npm install` there again; its .npmrc leaves the hosts out")).collect());
}

#[test]
fn paths_in_the_documents_exist() {
    let mut faults = Vec::new();
    for name in ["README.md", "ARCHITECTURE.md"] {
        let Ok(text) = fs::read_to_string(root().join(name)) else {
            faults.push(format!("{name} is missing: write it"));
            continue;
        };
        faults.extend(
            missing_paths(&text)
                .into_iter()
                .map(|path| format!("{name} names `{path}`, which does not exist: correct the document")),
        );
    }
    assert_none(faults);
}

/// Paths that a document names in backticks or links to, and that are not there.
fn missing_paths(text: &str) -> Vec<String> {
    let in_code = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
    let in_links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    in_code
        .filter(|word| starts_at_the_root(word))
        .chain(in_links.filter(|link| !link.contains("://") && !link.starts_with(['#', '/'])))
        .filter(|path| !exists(path))
        .map(str::to_owned)
        .collect()
}

/// A word is a path if it begins with a folder of the repository; what is built does not count.
fn starts_at_the_root(word: &str) -> bool {
    match word.split_once('/') {
        Some(("target" | "node_modules", _)) | None => false,
        Some((first, _)) => !first.is_empty() && !first.starts_with("..") && root().join(first).is_dir(),
    }
}

/// Whether a path exists; `a/{b,c}.rs`, `a/*.rs`, `a/b.rs:12`, `a/b.rs#part` and `a/b.rs::name` count by what is certain in them.
fn exists(path: &str) -> bool {
    let certain = path.split(['*', '{', '<', ':', '#', '…', ',', ';', '(']).next().unwrap_or(path);
    let certain = match certain.len() == path.len() {
        true => certain,
        false if path[certain.len()..].starts_with([':', '#', ',', ';', '(']) => certain,
        false => certain.rsplit_once('/').map_or(certain, |(folder, _)| folder),
    };
    root().join(certain.trim_end_matches(['.', ','])).exists()
}

struct Function {
    name: String,
    /// Line of `fn`, from 1.
    at: usize,
    /// Lines of code in the body.
    lines: usize,
    component: bool,
}

/// Functions with a body. Strings and comments are blanked first, so that braces can be trusted.
fn functions(source: &str) -> Vec<Function> {
    let code = blank(source);
    let lines: Vec<&str> = code.lines().collect();
    let starts = lines.iter().enumerate().filter_map(|(row, line)| Some((row, function_name(line)?)));
    starts
        .filter_map(|(row, name)| {
            let end = body_end(&lines[row..])? + row;
            let body = lines[row + 1..end.max(row + 1)].iter().filter(|line| !line.trim().is_empty()).count();
            let attributes =
                lines[..row].iter().rev().take_while(|line| !line.trim().is_empty() && !line.contains('}'));
            let component = attributes.into_iter().any(|line| line.trim_start().starts_with("#[component"));
            Some(Function { name, at: row + 1, lines: body, component })
        })
        .collect()
}

fn function_name(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "fn")?;
    let modifiers = ["pub", "async", "const", "unsafe", "extern", "\"C\"", "default"];
    if !words[..at].iter().all(|word| modifiers.contains(word) || word.starts_with("pub(")) {
        return None;
    }
    Some(words.get(at + 1)?.split(['(', '<']).next()?.to_owned())
}

/// The row on which the body ends; nothing for a signature that ends with `;`.
fn body_end(lines: &[&str]) -> Option<usize> {
    let (mut depth, mut round) = (0, 0);
    for (row, line) in lines.iter().enumerate() {
        for c in line.chars() {
            match c {
                '(' | '[' => round += 1,
                ')' | ']' => round -= 1,
                '{' => depth += 1,
                '}' if depth == 1 => return Some(row),
                '}' => depth -= 1,
                ';' if depth == 0 && round == 0 => return None,
                _ => {}
            }
        }
    }
    None
}

/// Replaces the insides of comments, strings and characters by spaces; line breaks stay.
fn blank(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let length = token(rest, &out).unwrap_or(0);
        if length == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    out
}

/// Bytes of the comment, string or character that starts here.
fn token(rest: &str, before: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    let in_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    if !in_word
        && let Some(hashes) = rest.strip_prefix('r').map(|r| r.len() - r.trim_start_matches('#').len())
    {
        let opening = 1 + hashes + 1;
        if rest[1 + hashes..].starts_with('"') {
            let closing = format!("\"{}", "#".repeat(hashes));
            return Some(
                rest[opening..].find(&closing).map_or(rest.len(), |end| opening + end + closing.len()),
            );
        }
    }
    if rest.starts_with('"') {
        return Some(quoted(rest, '"'));
    }
    // 'a' and '\n' are characters, 'a without an end is a lifetime.
    let mut chars = rest.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('\''), Some('\\'), _) => Some(quoted(rest, '\'')),
        (Some('\''), Some(c), Some('\'')) => Some(2 + c.len_utf8()),
        _ => None,
    }
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

mod scan {
    use super::*;

    #[test]
    fn braces_in_strings_characters_and_comments_do_not_count() {
        let source = "fn a<'x>(b: &'x str) -> char {\n    let c = \"}\\\"}\"; // }\n    let d = r#\"}\"}\"#;\n\n    /* } */ '}'\n}\nfn z();\n";
        let found = functions(source);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].at, found[0].lines), ("a", 1, 2));
    }

    #[test]
    fn a_component_is_known_by_its_attribute() {
        let source =
            "fn b() {\n    1\n}\n\n#[component]\npub fn Page(\n    x: u8,\n) -> impl IntoView {\n    x\n}\n";
        let found = functions(source);
        assert!(!found[0].component && found[1].component);
    }

    #[test]
    fn documents_are_read_for_paths() {
        assert_eq!(
            missing_paths("`xtask/src/main.rs:3` `xtask/src/*.rs` `GET /api/v1` `target/site`"),
            [""; 0]
        );
        assert_eq!(
            missing_paths("see `xtask/nowhere.rs` and [this](docs-not-there.md)"),
            ["xtask/nowhere.rs", "docs-not-there.md"]
        );
    }
}
