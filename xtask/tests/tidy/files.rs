//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

pub fn repository_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent folder")
}

/// Files of the repository with one of these extensions, without build outputs, installed packages, and the bad inputs of
/// tests, some of which are not UTF-8.
pub fn find_files(kinds: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![repository_root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be listed").flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let skipped = [
                "target",
                "node_modules",
                ".git",
                ".flotilla",
                "test-results",
                "playwright-report",
                "bad-inputs",
            ];
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

pub fn relative_path(path: &Path) -> String {
    path.strip_prefix(repository_root()).unwrap_or(path).display().to_string()
}

pub fn read_text(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{} is not readable text: {error}", relative_path(path)))
}
