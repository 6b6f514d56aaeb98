//! Rules for the repository that the compiler does not check. Each message says what to do.

mod files;
mod ids;
mod imports;
mod layers;
mod paths;
mod tokens;
mod type_names;
mod words;

use files::{find_files, read_text, relative_path, repository_root};

/// Maximum lines of a source file, including tests.
const MAX_FILE_LINES: usize = 500;

const SOURCE_EXTENSIONS: [&str; 7] = ["rs", "css", "js", "mjs", "ts", "sql", "sh"];
const TEXT_EXTENSIONS: [&str; 16] = [
    "rs", "css", "js", "mjs", "ts", "sql", "sh", "toml", "md", "html", "json", "yaml", "yml", "tpl", "txt",
    "svg",
];

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
