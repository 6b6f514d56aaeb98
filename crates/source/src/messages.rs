//! Messages of renderers, without what they reveal of the server: its paths, and whether a file of it exists.
//!
//! A chart or a kustomization may name any path. The sandbox denies the file, but the reason would still say whether it exists:
//! `permission denied`, or `no such file`. Both are the same text here.

use std::path::Path;

/// What Go reports if a file can't be opened, in the order in which they are replaced.
const FILE_ERRORS: [&str; 6] = [
    "no such file or directory",
    "permission denied",
    "not a directory",
    "is a directory",
    "too many levels of symbolic links",
    "file does not exist",
];
/// What replaces them.
const UNREADABLE: &str = "is missing or can't be read";
/// What a message about a file contains, beside the errors above.
const FILE_WORDS: [&str; 8] = [
    UNREADABLE,
    "evalsymlink",
    "symlink",
    "not in or below",
    "security; file",
    "doesn't exist",
    "got file",
    "must resolve to",
];

/// The messages with paths relative to the folder of the run, and one text for every reason why a file can't be read.
pub(crate) fn redact(messages: &str, folder: &Path) -> String {
    let folder = folder.display().to_string();
    let mut text = messages.replace(&format!("{folder}/"), "").replace(&folder, ".");
    for error in FILE_ERRORS {
        text = text.replace(error, UNREADABLE);
    }
    text
}

/// Whether a redacted message is about a file outside of the folder of the run.
pub(crate) fn is_about_outside_file(redacted: &str) -> bool {
    let is_separator = |c: char| {
        c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '(' | ')' | '[' | ']' | ',' | ';' | ':' | '=')
    };
    FILE_WORDS.iter().any(|word| redacted.contains(word)) && redacted.split(is_separator).any(leaves_folder)
}

/// Whether a word is an absolute path, or one with more `..` than folders before them.
fn leaves_folder(word: &str) -> bool {
    if word.len() > 1 && word.starts_with('/') {
        return true;
    }
    let mut depth = 0_i32;
    word.split('/').any(|part| {
        match part {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        depth < 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p33_a_forbidden_file_and_a_missing_one_have_the_same_text() {
        let folder = Path::new("/data/scratch/server-1/chart-2");
        let show = |path: &str, reason: &str| {
            redact(&format!("in /data/scratch/server-1/chart-2/files/a.yaml: open {path}: {reason}"), folder)
        };
        let expected = "in files/a.yaml: open /etc/x: is missing or can't be read";
        for reason in ["permission denied", "no such file or directory", "not a directory", "is a directory"]
        {
            assert_eq!(show("/etc/x", reason), expected);
        }
        assert_eq!(redact("cd /data/scratch/server-1/chart-2", folder), "cd .");
    }

    #[test]
    fn messages_about_files_outside_are_found() {
        for outside in [
            "security; file '/etc/shadow' is not in or below 'files'",
            "evalsymlink failure on '/etc/missing' : lstat /etc/missing: is missing or can't be read",
            "open files/overlays/../../../../etc/shadow: is missing or can't be read",
            "open \"../x\": is missing or can't be read",
            "open file:///etc/shadow: is missing or can't be read",
        ] {
            assert!(is_about_outside_file(outside), "{outside}");
        }
        for inside in [
            "open files/overlays/eu/../../base/missing.yaml: is missing or can't be read",
            "add operation does not apply: doc is missing path: /spec/replicas: missing value",
            "accumulating resources from 'missing.yaml': evalsymlink failure on 'files/missing.yaml'",
        ] {
            assert!(!is_about_outside_file(inside), "{inside}");
        }
    }
}
