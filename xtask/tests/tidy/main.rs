//! Rules for the repository that the compiler does not check. Each message says what to do.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum lines of a source file, including tests.
const MAX_FILE_LINES: usize = 500;
/// Maximum lines of code in a function, without blank lines and comments.
const MAX_FUNCTION_LINES: usize = 75;
/// Maximum for a component, which is mostly markup with one element per line.
const MAX_COMPONENT_LINES: usize = 120;

const SOURCE_EXTENSIONS: [&str; 6] = ["rs", "css", "js", "ts", "sql", "sh"];
const TEXT_EXTENSIONS: [&str; 15] =
    ["rs", "css", "js", "ts", "sql", "sh", "toml", "md", "html", "json", "yaml", "yml", "tpl", "txt", "svg"];

/// File names that do not describe their content.
const VAGUE_FILE_NAMES: [&str; 9] =
    ["mod", "util", "utils", "common", "helper", "helpers", "types", "misc", "shared"];

/// Words that must not occur in the repository, and the correction. Split, so that this file does not contain them.
const FORBIDDEN_WORDS: [(&str, &str); 10] = [
    (concat!("TO", "DO"), "finish it, or remove it and document the limitation"),
    (concat!("FIX", "ME"), "fix it"),
    (concat!("XX", "X:"), "write a precise comment"),
    (concat!("/wo", "rk/"), "a path of one machine: use a path inside the repository"),
    (concat!("/tmp/", "team"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("Fixes ", "#"), "issue numbers belong in commit messages: write the reason itself"),
    (concat!("Closes ", "#"), "issue numbers belong in commit messages: write the reason itself"),
    (concat!("issue ", "#"), "issue numbers belong in commit messages: write the reason itself"),
    (concat!("lorem ", "ipsum"), "write the real text"),
];

fn repository_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent folder")
}

/// Files of the repository with one of these extensions, without build outputs and installed packages.
fn find_files(kinds: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![repository_root().to_owned()];
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

fn relative_path(path: &Path) -> String {
    path.strip_prefix(repository_root()).unwrap_or(path).display().to_string()
}

fn read_text(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{} is not readable text: {error}", relative_path(path)))
}

/// Fails with the list of all faults.
fn assert_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "{} to fix:\n  {}\n", faults.len(), faults.join("\n  "));
}

#[test]
fn file_names_describe_their_content() {
    let faults = find_files(&["rs"]).into_iter().filter_map(|path| {
        let stem = path.file_stem()?.to_str()?;
        match stem {
            "mod" => Some(format!("{}: rename to `<folder>.rs` beside the folder", relative_path(&path))),
            _ if VAGUE_FILE_NAMES.contains(&stem) => {
                Some(format!("{}: name it after the noun or verb that it defines", relative_path(&path)))
            }
            _ if stem.starts_with("new_") => {
                Some(format!("{}: replace the old file instead of adding a new one", relative_path(&path)))
            }
            _ => None,
        }
    });
    assert_none(faults.collect());
}

#[test]
fn source_files_do_not_exceed_the_line_limit() {
    let faults = find_files(&SOURCE_EXTENSIONS).into_iter().filter_map(|path| {
        let lines = read_text(&path).lines().count();
        (lines > MAX_FILE_LINES).then(|| {
            format!(
                "{}: {lines} lines, the limit is {MAX_FILE_LINES}: split it by noun or verb, tests into `x/tests.rs`",
                relative_path(&path)
            )
        })
    });
    assert_none(faults.collect());
}

#[test]
fn functions_do_not_exceed_the_line_limit() {
    let mut faults = Vec::new();
    for path in find_files(&["rs"]) {
        for function in find_functions(&read_text(&path)) {
            let limit = if function.is_component { MAX_COMPONENT_LINES } else { MAX_FUNCTION_LINES };
            if function.code_lines > limit {
                faults.push(format!(
                    "{}:{} fn {}: {} lines of code, the limit is {limit}: extract named functions",
                    relative_path(&path),
                    function.start_line,
                    function.name,
                    function.code_lines
                ));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn every_file_has_a_module_comment() {
    let faults = find_files(&["rs"]).into_iter().filter(|path| !read_text(path).starts_with("//!"));
    assert_none(
        faults
            .map(|path| format!("{}: start with `//!` and the purpose of the file", relative_path(&path)))
            .collect(),
    );
}

#[test]
fn no_test_is_ignored() {
    let off = concat!("#[ign", "ore");
    let faults = find_files(&["rs"])
        .into_iter()
        .filter(|path| read_text(path).lines().any(|line| line.trim_start().starts_with(off)));
    assert_none(faults.map(|path| format!("{}: run the test or delete it", relative_path(&path))).collect());
}

#[test]
fn no_forbidden_words() {
    let mut faults = Vec::new();
    for path in find_files(&TEXT_EXTENSIONS) {
        for (number, line) in read_text(&path).lines().enumerate() {
            for (word, why) in FORBIDDEN_WORDS.iter().filter(|(word, _)| line.contains(word)) {
                faults.push(format!("{}:{}: `{word}`: {why}", relative_path(&path), number + 1));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn lock_files_name_no_registry() {
    let faults = ["style", "end2end"].into_iter().filter(|folder| {
        read_text(&repository_root().join(folder).join("package-lock.json")).contains("\"resolved\"")
    });
    assert_none(
        faults
            .map(|folder| {
                format!(
                    "{folder}/package-lock.json: run `npm install` there again; its .npmrc omits the hosts"
                )
            })
            .collect(),
    );
}

#[test]
fn paths_in_the_documents_exist() {
    let mut faults = Vec::new();
    for name in ["README.md", "ARCHITECTURE.md"] {
        let Ok(text) = fs::read_to_string(repository_root().join(name)) else {
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

/// Paths in backticks or links of a document that do not exist.
fn missing_paths(text: &str) -> Vec<String> {
    let in_code = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
    let in_links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    in_code
        .filter(|word| is_repository_path(word))
        .chain(in_links.filter(|link| !link.contains("://") && !link.starts_with(['#', '/'])))
        .filter(|path| !path_exists(path))
        .map(str::to_owned)
        .collect()
}

/// Whether a word is a path: it starts with a top-level folder of the repository that is not a build output.
fn is_repository_path(word: &str) -> bool {
    match word.split_once('/') {
        Some(("target" | "node_modules", _)) | None => false,
        Some((first, _)) => {
            !first.is_empty() && !first.starts_with("..") && repository_root().join(first).is_dir()
        }
    }
}

/// Whether a path exists. Of `a/{b,c}.rs`, `a/*.rs`, `a/b.rs:12`, `a/b.rs#part` and `a/b.rs::name` only the part before the
/// special character is checked.
fn path_exists(path: &str) -> bool {
    let literal = path.split(['*', '{', '<', ':', '#', '…', ',', ';', '(']).next().unwrap_or(path);
    let literal = match literal.len() == path.len() {
        true => literal,
        false if path[literal.len()..].starts_with([':', '#', ',', ';', '(']) => literal,
        false => literal.rsplit_once('/').map_or(literal, |(folder, _)| folder),
    };
    repository_root().join(literal.trim_end_matches(['.', ','])).exists()
}

struct FunctionSpan {
    name: String,
    /// Line of `fn`, from 1.
    start_line: usize,
    /// Lines of code in the body.
    code_lines: usize,
    is_component: bool,
}

/// Functions with a body. Strings and comments are blanked first, because they may contain braces.
fn find_functions(source: &str) -> Vec<FunctionSpan> {
    let code = blank_literals(source);
    let lines: Vec<&str> = code.lines().collect();
    let starts = lines.iter().enumerate().filter_map(|(row, line)| Some((row, function_name(line)?)));
    starts
        .filter_map(|(row, name)| {
            let end = body_end(&lines[row..])? + row;
            let body = lines[row + 1..end.max(row + 1)].iter().filter(|line| !line.trim().is_empty()).count();
            let attributes =
                lines[..row].iter().rev().take_while(|line| !line.trim().is_empty() && !line.contains('}'));
            let component = attributes.into_iter().any(|line| line.trim_start().starts_with("#[component"));
            Some(FunctionSpan { name, start_line: row + 1, code_lines: body, is_component: component })
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

/// The index of the line on which the body ends; `None` for a signature that ends with `;`.
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

/// Replaces comments, strings and characters by spaces; line breaks stay.
fn blank_literals(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let length = literal_length(rest, &out).unwrap_or(0);
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
fn literal_length(rest: &str, before: &str) -> Option<usize> {
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
        return Some(quoted_length(rest, '"'));
    }
    // 'a' and '\n' are characters, 'a without a closing quote is a lifetime.
    let mut chars = rest.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('\''), Some('\\'), _) => Some(quoted_length(rest, '\'')),
        (Some('\''), Some(c), Some('\'')) => Some(2 + c.len_utf8()),
        _ => None,
    }
}

fn quoted_length(rest: &str, quote: char) -> usize {
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
        let found = find_functions(source);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].start_line, found[0].code_lines), ("a", 1, 2));
    }

    #[test]
    fn a_component_is_recognized_by_its_attribute() {
        let source =
            "fn b() {\n    1\n}\n\n#[component]\npub fn Page(\n    x: u8,\n) -> impl IntoView {\n    x\n}\n";
        let found = find_functions(source);
        assert!(!found[0].is_component && found[1].is_component);
    }

    #[test]
    fn paths_in_documents_are_found() {
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
