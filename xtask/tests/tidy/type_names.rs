//! A type name stands for one thing in the whole workspace, so that a reader need not look up which one is meant.

use std::collections::BTreeMap;

use super::assert_none;
use super::files::{find_files, read_text, relative_path};

/// Names that every crate may declare: its error, as Rust's libraries name it, and the root of its command line, as clap's
/// documentation names it.
const NAMES_OF_A_CRATE: [&str; 3] = ["Error", "Cli", "Command"];

/// Whether a file belongs to tests only.
fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// The program of a file of tests: `server/tests/fleet/main.rs` is of `server/tests/fleet`. The types of one are not seen by another.
fn test_program(path: &str) -> &str {
    let Some((_, rest)) = path.split_once("/tests/") else { return path };
    let name = rest.split(['/', '.']).next().unwrap_or_default();
    &path[..path.len() - rest.len() + name.len()]
}

/// Where types are declared, by name: file and line.
type Declarations = BTreeMap<String, BTreeMap<String, usize>>;

/// The types of the files of the product, or those of tests.
fn find_declarations(is_included: impl Fn(&str) -> bool) -> Declarations {
    let mut declared = Declarations::new();
    for path in find_files(&["rs"]) {
        let file = relative_path(&path);
        if !is_included(&file) {
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
    declared
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
    let declared = find_declarations(|file| !is_test_file(file));
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
fn a_type_of_a_test_has_neither_the_name_of_another_one_nor_that_of_a_type_of_the_product() {
    let of_product = find_declarations(|file| !is_test_file(file));
    let of_tests = find_declarations(is_test_file);
    assert!(of_tests.len() > 100, "only {} types of tests were found", of_tests.len());
    let mut faults = Vec::new();
    for (name, files) in &of_tests {
        if let (Some(product), Some(test)) = (of_product.get(name), files.keys().next()) {
            let product = product.keys().next().map(String::as_str).unwrap_or_default();
            faults.push(format!(
                "{name} of {test} is declared in {product}: name it by what it is in the test"
            ));
        }
        let mut programs: BTreeMap<&str, &str> = BTreeMap::new();
        for file in files.keys() {
            if let Some(other) = programs.insert(test_program(file), file) {
                faults.push(format!("{name} is declared in {other} and in {file}, which are one program"));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn the_program_of_a_test_is_read_from_its_path() {
    assert_eq!(test_program("server/tests/fleet/main.rs"), "server/tests/fleet");
    assert_eq!(test_program("server/tests/races.rs"), "server/tests/races");
    assert_eq!(test_program("crates/store/src/tests/releases.rs"), "crates/store/src/tests/releases");
    assert_eq!(test_program("crates/engine/src/dry_run/tests.rs"), "crates/engine/src/dry_run/tests.rs");
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
