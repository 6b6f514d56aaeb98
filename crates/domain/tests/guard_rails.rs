//! The catalogue of guard rails compared with the sources of all crates and with docs/guard-rails.md.
//!
//! With `FLOTILLA_WRITE=1` the document is written instead of compared (`cargo xtask guard-rails`).

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use domain::Severity;
use domain::guard::catalogue::{FAMILIES, GuardRail, GuardRailFamily, Scope, find, rails};

/// Files that declare codes or list rules by code; a literal there emits nothing.
const DECLARATIONS: [&str; 2] =
    ["crates/domain/src/evaluation/guard/catalogue", "crates/domain/src/evaluation/guard/rules.rs"];
const DOCUMENT: &str = "docs/guard-rails.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A Rust source file.
struct RustFile {
    /// Path from the root of the repository.
    path: String,
    text: String,
}

impl RustFile {
    /// The part that is compiled into the products; empty for a file of tests.
    fn product_code(&self) -> &str {
        let is_test = |part: &str| matches!(part, "tests" | "benches" | "tests.rs" | "properties.rs");
        if self.path.split('/').any(is_test)
            || DECLARATIONS.iter().any(|prefix| self.path.starts_with(prefix))
        {
            return "";
        }
        self.text.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
    }
}

/// All Rust sources of the repository.
fn sources() -> Vec<RustFile> {
    let root = root();
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["crates", "app", "frontend", "server", "xtask"].map(|folder| root.join(folder)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push(RustFile { path: path.strip_prefix(&root).unwrap().display().to_string(), text });
            }
        }
    }
    assert!(found.len() > 500, "{} files", found.len());
    found
}

/// A code in quotes, and the text before and after it.
struct Literal<'a> {
    code: &'a str,
    before: &'a str,
    after: &'a str,
}

impl Literal<'_> {
    /// The severity of the finding that is created here, if it is written beside the code.
    fn severity(&self) -> Option<Severity> {
        let argument = self.after.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        match argument.trim_start_matches("crate::").strip_prefix("Severity::") {
            Some(name) if name.starts_with("Error") => return Some(Severity::Error),
            Some(name) if name.starts_with("Warning") => return Some(Severity::Warning),
            Some(_) => return Some(Severity::Note),
            None => {}
        }
        let function = self.before.trim_end().strip_suffix('(')?;
        [("error", Severity::Error), ("warning", Severity::Warning), ("note", Severity::Note)]
            .into_iter()
            .find_map(|(name, severity)| function.ends_with(name).then_some(severity))
    }

    /// Whether the code of a finding is compared with this literal.
    fn is_compared(&self) -> bool {
        let before = self.before.trim_end();
        before.ends_with("==") || before.ends_with("!=")
    }
}

fn literals(text: &str) -> impl Iterator<Item = Literal<'_>> {
    text.match_indices("\"G").filter_map(|(at, _)| {
        let (code, after) = text.get(at + 1..)?.split_once('"')?;
        let is_code = code.len() == 4 && code[1..].bytes().all(|byte| byte.is_ascii_digit());
        is_code.then_some(Literal { code, before: &text[..at], after })
    })
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} to fix:\n  {}\n", faults.len(), faults.join("\n  "));
}

#[test]
fn every_code_in_the_sources_is_declared() {
    let mut faults = Vec::new();
    for source in sources() {
        let unknown = literals(&source.text).filter(|literal| find(literal.code).is_none());
        faults.extend(unknown.map(|literal| {
            format!("{}: {} is not in domain::guard::catalogue: declare it there", source.path, literal.code)
        }));
    }
    assert_none(&faults);
}

#[test]
fn every_declared_code_is_emitted() {
    let sources = sources();
    let emitted: BTreeSet<&str> = sources
        .iter()
        .flat_map(|source| literals(source.product_code()))
        .filter(|literal| !literal.is_compared())
        .map(|literal| literal.code)
        .collect();
    let silent = rails().filter(|rail| !emitted.contains(rail.code));
    assert_none(
        &silent
            .map(|rail| format!("{} is declared and never emitted: remove it", rail.code))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn findings_are_created_with_a_declared_severity() {
    let mut faults = Vec::new();
    let mut checked = 0;
    for source in sources() {
        for literal in literals(source.product_code()) {
            let (Some(severity), Some(rail)) = (literal.severity(), find(literal.code)) else { continue };
            checked += 1;
            if !severities(rail).contains(&severity) {
                faults.push(format!(
                    "{}: {} is not declared as {}",
                    source.path,
                    rail.code,
                    severity.as_str()
                ));
            }
        }
    }
    assert!(checked > 150, "{checked} findings");
    assert_none(&faults);
}

#[test]
fn codes_are_compared_by_named_constants() {
    let mut faults = Vec::new();
    for source in sources() {
        let compared = literals(source.product_code()).filter(Literal::is_compared);
        faults.extend(compared.map(|literal| {
            format!("{}: compare with a constant of domain::guard instead of {:?}", source.path, literal.code)
        }));
    }
    assert_none(&faults);
}

/// All severities of a guard rail, worst first.
fn severities(rail: &GuardRail) -> Vec<Severity> {
    let all: BTreeSet<Severity> =
        rail.severities.iter().flat_map(|(_, severities)| *severities).copied().collect();
    all.into_iter().rev().collect()
}

fn join_names(severities: &[Severity]) -> String {
    severities.iter().map(|severity| severity.as_str()).collect::<Vec<_>>().join(", ")
}

/// The scopes of a guard rail, with the severities of those that emit only some.
fn describe_scopes(rail: &GuardRail) -> String {
    let all = severities(rail);
    let scope = |(scope, severities): &(Scope, &[Severity])| {
        if *severities == all {
            return scope.as_str().to_owned();
        }
        format!("{} ({})", scope.as_str(), join_names(severities))
    };
    rail.severities.iter().map(scope).collect::<Vec<_>>().join(", ")
}

fn write_family(text: &mut String, family: &GuardRailFamily) {
    let _ = writeln!(text, "\n## {}xx: {}\n", family.prefix, family.title);
    text.push_str("| code | severities | scope | what it finds | how to fix it |\n|---|---|---|---|---|\n");
    for rail in family.rails {
        let _ = writeln!(
            text,
            "| {} | {} | {} | **{}.** {} | {} |",
            rail.code,
            join_names(&severities(rail)),
            describe_scopes(rail),
            rail.title,
            rail.finds.replace('|', "\\|"),
            rail.fix.replace('|', "\\|")
        );
    }
}

fn render_document() -> String {
    let mut text = "# Guard rails\n\n\
        Written by `cargo xtask guard-rails` from `crates/domain/src/evaluation/guard/catalogue.rs`; a test compares the two.\n\n\
        A guard rail is a check with a code. Its findings name the object, the line, the reason and one fix. A code keeps its \
        meaning and is never\nreused, so numbers are missing.\n\n\
        | severity | effect |\n|---|---|\n\
        | error | Blocks the publish. |\n\
        | warning | To be reviewed before publishing. |\n\
        | note | For information. |\n\n\
        | scope | what the check reads |\n|---|---|\n"
        .to_owned();
    for &scope in Scope::ALL {
        let _ = writeln!(text, "| {} | {} |", scope.as_str(), scope.description());
    }
    for family in FAMILIES {
        write_family(&mut text, family);
    }
    text
}

#[test]
fn the_document_lists_the_catalogue() {
    let (path, expected) = (root().join(DOCUMENT), render_document());
    if std::env::var_os("FLOTILLA_WRITE").is_some() {
        fs::write(path, expected).unwrap();
        return;
    }
    let stored = fs::read_to_string(path).unwrap_or_default();
    let difference = expected.lines().zip(stored.lines()).find(|(expected, stored)| expected != stored);
    assert!(
        stored == expected,
        "run `cargo xtask guard-rails`: {DOCUMENT} differs, first in {difference:#?}"
    );
}
