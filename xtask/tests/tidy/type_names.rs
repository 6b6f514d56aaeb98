//! A type name stands for one thing in the whole workspace, so that a reader need not look up which one is meant.

use std::collections::BTreeMap;

use super::assert_none;
use super::files::{find_files, read_text, relative_path};

/// Names that every crate may declare: its error, as Rust's libraries name it, and the root of its command line, as clap's
/// documentation names it.
const NAMES_OF_A_CRATE: [&str; 3] = ["Error", "Cli", "Command"];

/// Whether a file belongs to tests only. Their types are seen by one program each.
fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// The type that a line declares. An indented `type` belongs to a trait or its implementation.
fn declared_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub") {
        rest = match after.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1.trim_start(),
            None => after.trim_start(),
        };
    }
    let (keyword, rest) = rest.split_once(' ')?;
    let is_declaration = match keyword {
        "struct" | "enum" | "trait" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (is_declaration && name.starts_with(char::is_uppercase)).then_some(name)
}

#[test]
fn a_type_name_stands_for_one_thing() {
    let mut declared: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for path in find_files(&["rs"]) {
        let file = relative_path(&path);
        if is_test_file(&file) {
            continue;
        }
        let text = read_text(&path);
        let without_tests = text.split("\nmod tests {").next().unwrap_or_default();
        for (number, line) in without_tests.lines().enumerate() {
            if let Some(name) = declared_name(line) {
                // A second declaration in the same file is that of another platform.
                declared.entry(name.to_owned()).or_default().entry(file.clone()).or_insert(number + 1);
            }
        }
    }
    assert!(declared.len() > 500, "only {} types were found", declared.len());
    let repeated = declared
        .into_iter()
        .filter(|(name, files)| files.len() > 1 && !NAMES_OF_A_CRATE.contains(&name.as_str()));
    assert_none(
        repeated
            .map(|(name, files)| {
                let places: Vec<String> =
                    files.into_iter().map(|(file, line)| format!("{file}:{line}")).collect();
                format!(
                    "{name} is declared at {}: name each by what it is, or declare it once",
                    places.join(" and ")
                )
            })
            .collect(),
    );
}

#[test]
fn declarations_of_types_are_read_from_their_lines() {
    assert_eq!(declared_name("struct Row;"), Some("Row"));
    assert_eq!(declared_name("    pub(crate) enum RowState<'a> {"), Some("RowState"));
    assert_eq!(declared_name("type Rows = Vec<Row>;"), Some("Rows"));
    for other in ["    type Rows = Vec<Row>;", "/// struct Row", "publish_row(row, 1)", "let row = Row;", ""]
    {
        assert_eq!(declared_name(other), None, "{other}");
    }
}
