//! Ids of requirements, promises, benchmarks, invariants and guard rails: each that is cited is defined by a page, and each
//! that is defined is proven by a test, or its row says what is open.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{find_files, read_text, relative_path, repository_root};
use super::{TEXT_EXTENSIONS, assert_none};

/// The pages that define ids, in the first column of their tables.
const PAGES: [&str; 3] = ["docs/requirements.md", "docs/promises.md", "docs/guard-rails.md"];

/// One row of a page.
struct IdRow {
    id: String,
    page: &'static str,
    line: usize,
    /// The last column: status, proof, target or how to fix it.
    last_cell: String,
}

/// Whether a word is an id, such as S1-9b, E-2, P13, B1b, I2 or G403.
fn is_id(word: &str) -> bool {
    let Some((kind, number)) = word.split_at_checked(1) else { return false };
    let is_number =
        |text: &str, most| (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let base = number.strip_suffix('b').unwrap_or(number);
    match kind {
        "S" => base.split_once('-').is_some_and(|(chapter, row)| is_number(chapter, 1) && is_number(row, 2)),
        "R" | "E" => number.strip_prefix('-').is_some_and(|row| is_number(row, 2)),
        "B" => is_number(base, 2),
        "P" => is_number(number, 2),
        "I" => is_number(number, 1),
        "G" => number.len() == 3 && is_number(number, 3),
        _ => false,
    }
}

/// The ids in a line of text.
fn ids_in(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_')).filter(|word| is_id(word))
}

/// The ids that the name of a test begins with: `p9_p10_two_servers_…` is about P9 and P10. Other prefixes are returned as they
/// are written, such as `c1_`.
fn ids_of_name(name: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut parts = name.split('_').peekable();
    while let Some(part) = parts.next() {
        let Some((kind, number)) = part.split_at_checked(1) else { break };
        let id = match kind {
            "s" => format!("S{number}-{}", parts.next().unwrap_or_default()),
            "r" | "e" if number.is_empty() => {
                format!("{}-{}", kind.to_uppercase(), parts.next().unwrap_or_default())
            }
            "r" | "e" => format!("{}-{number}", kind.to_uppercase()),
            "p" | "i" | "g" => format!("{}{number}", kind.to_uppercase()),
            "c" | "f" if number.starts_with(|c: char| c.is_ascii_digit()) && number.len() <= 2 => {
                ids.push(format!("{part}_"));
                continue;
            }
            _ => break,
        };
        if !is_id(&id) {
            break;
        }
        ids.push(id);
    }
    ids
}

/// The name of the test or function that a line begins, in Rust or TypeScript.
fn name_in(line: &str) -> Option<&str> {
    let rest = line.split_once("fn ").or_else(|| line.split_once("test(\"")).map(|(_, rest)| rest)?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// All rows with an id, and rows of prefixes such as `c1_`.
fn id_rows() -> Vec<IdRow> {
    let mut rows = Vec::new();
    for page in PAGES {
        for (number, line) in read_text(&repository_root().join(page)).lines().enumerate() {
            let Some(cells) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) else {
                continue;
            };
            let (first, last) = (cells.split(" |").next(), cells.rsplit(" | ").next());
            let id = first.unwrap_or_default().trim().trim_matches('`');
            if is_id(id) || (id.ends_with('_') && id.len() <= 4) {
                let last_cell = last.unwrap_or_default().trim().to_owned();
                rows.push(IdRow { id: id.to_owned(), page, line: number + 1, last_cell });
            }
        }
    }
    rows
}

/// Ids in the names of tests and functions, with the first place of each.
fn ids_of_tests() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in find_files(&["rs", "ts"]) {
        for (number, line) in read_text(&path).lines().enumerate() {
            for id in name_in(line).map(ids_of_name).unwrap_or_default() {
                found.entry(id).or_insert_with(|| format!("{}:{}", relative_path(&path), number + 1));
            }
        }
    }
    found
}

#[test]
fn a_cited_id_is_defined_by_a_page() {
    let defined: BTreeSet<String> = id_rows().into_iter().map(|row| row.id).collect();
    let mut faults: Vec<String> = ids_of_tests()
        .into_iter()
        .filter(|(id, _)| !defined.contains(id))
        .map(|(id, place)| format!("{place}: a test names {id}, which no page defines"))
        .collect();
    for path in find_files(&TEXT_EXTENSIONS) {
        // Hashes of lock files and stored answers contain anything.
        if path.extension().is_some_and(|kind| kind == "json") {
            continue;
        }
        for (number, line) in read_text(&path).lines().enumerate() {
            for id in ids_in(line).filter(|id| !defined.contains(*id)) {
                faults.push(format!(
                    "{}:{}: {id} is defined by none of {}",
                    relative_path(&path),
                    number + 1,
                    PAGES.join(", ")
                ));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn a_defined_id_is_proven_or_its_row_says_what_is_open() {
    let tests = ids_of_tests();
    let benchmarks: String = find_files(&["rs"])
        .iter()
        .filter(|path| relative_path(path).contains("/flotilla-bench/"))
        .map(|path| read_text(path))
        .collect();
    let faults = id_rows().into_iter().filter_map(|row| {
        let fault = match (&row.id[..1], &*row.last_cell) {
            (_, cell) if cell.starts_with("open: ") => None,
            ("B", _) => (!ids_in(&benchmarks).any(|id| id == row.id))
                .then_some("no benchmark names it: write `open: …`"),
            ("I", cell) => {
                let is_proven = ids_in(cell).any(|id| tests.contains_key(id))
                    || cell.split('`').any(|name| ids_of_name(name).iter().any(|id| tests.contains_key(id)));
                (!is_proven).then_some("no test has the id that is named here")
            }
            ("S" | "R" | "E" | "P", cell) => status_fault(cell, tests.contains_key(&row.id)),
            _ => (!tests.contains_key(&row.id)).then_some("no test names it"),
        };
        fault.map(|fault| format!("{}:{} {}: {fault}", row.page, row.line, row.id))
    });
    assert_none(faults.collect());
}

/// What is wrong with the status of a requirement or promise.
fn status_fault(status: &str, is_named: bool) -> Option<&'static str> {
    let claims_none = status.contains("no test names the id");
    match status {
        _ if is_named && claims_none => Some("a test names it, and the status says that none does"),
        _ if status.starts_with("partial: ") => None,
        _ if status == "tested" || status.starts_with("tested; open: ") => {
            (!is_named).then_some("the status is `tested`, and no test names it")
        }
        _ => Some("the status is neither `tested`, `partial: …` nor `open: …`"),
    }
}

#[test]
fn tests_that_the_pages_name_exist() {
    let mut faults = Vec::new();
    for page in ["docs/promises.md", "docs/kubernetes.md", "docs/known-vulnerabilities.md"] {
        for (number, line) in read_text(&repository_root().join(page)).lines().enumerate() {
            for (path, names) in cited_tests(line) {
                let file = repository_root().join(path);
                let text = if file.is_file() { read_text(&file) } else { String::new() };
                for name in names {
                    if !text.contains(&format!("fn {name}(")) && !text.contains(&format!("test(\"{name}\"")) {
                        faults.push(format!("{page}:{}: {path} has no test {name}", number + 1));
                    }
                }
            }
        }
    }
    assert_none(faults);
}

/// The files and names of tests in an item of a list or in the last cell of a row: `path`: `name`, `name`; `path`: `name`.
fn cited_tests(line: &str) -> Vec<(&str, Vec<&str>)> {
    let last_cell = || line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit(" | ").next();
    let Some(list) = line.strip_prefix("- ").or_else(last_cell) else { return Vec::new() };
    let parts = list.strip_prefix('`').into_iter().flat_map(|list| list.split("; `"));
    let files = parts.filter_map(|part| part.split_once("`: "));
    files
        .map(|(path, names)| (path, names.split(['`', '"']).filter(|name| name.len() > 2).collect()))
        .collect()
}

#[test]
fn ids_are_found_in_names_and_text() {
    assert_eq!(ids_of_name("p9_p10_two_servers_share_work"), ["P9", "P10"]);
    assert_eq!(ids_of_name("s4_9_s4_10_a_wait"), ["S4-9", "S4-10"]);
    assert_eq!(ids_of_name("e_2_a_plan"), ["E-2"]);
    assert_eq!(ids_of_name("r7_a_wait"), ["R-7"]);
    assert_eq!(ids_of_name("c1_a_pod"), ["c1_"]);
    assert_eq!(ids_of_name("i64_at"), [""; 0]);
    assert_eq!(ids_of_name("a_release"), [""; 0]);
    assert_eq!(name_in("test(\"e_6 a label removed\", async"), Some("e_6"));
    assert_eq!(cited_tests("- `a.rs`: `one`, `two`"), [("a.rs", vec!["one", "two"])]);
    let row = "| met | `a.rs`: `one`; `b.ts`: \"three words\" |";
    assert_eq!(cited_tests(row), [("a.rs", vec!["one"]), ("b.ts", vec!["three words"])]);
    assert!(cited_tests("- A sentence about `a.rs`: `one`").is_empty());
    let text = "stops (S1-9b, P13), P-256 and \"G403\"";
    assert_eq!(ids_in(text).collect::<Vec<_>>(), ["S1-9b", "P13", "G403"]);
    assert!(status_fault("tested", false).is_some() && status_fault("works", true).is_some());
    assert!(status_fault("partial: works; no test names the id", true).is_some());
}
