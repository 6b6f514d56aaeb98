//! Skips a step whose inputs did not change: a hash over names and contents, kept beside what was built.
//!
//! Contents and not times: a fresh checkout, a branch switched back and forth, a restored cache all count as unchanged.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::paths::Paths;
use crate::step;

/// A step with inputs and outputs.
pub struct Stamp<'a> {
    /// Name of the step.
    pub name: &'a str,
    /// Files and folders it reads; missing ones count as empty.
    pub inputs: Vec<PathBuf>,
    /// Anything else it depends on, such as a compiler's version.
    pub also: String,
    /// Files it makes; when one is missing the step runs.
    pub outputs: Vec<PathBuf>,
}

impl Stamp<'_> {
    /// Runs `work` unless nothing changed since it last succeeded.
    pub fn run(&self, paths: &Paths, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let file = paths.own().join(format!("{}.stamp", self.name.replace(' ', "-")));
        let hash = self.hash(&paths.root)?;
        if self.outputs.iter().all(|path| path.exists())
            && fs::read_to_string(&file).is_ok_and(|old| old == hash)
        {
            step::unchanged(self.name, "unchanged");
            return Ok(());
        }
        work()?;
        fs::create_dir_all(paths.own())?;
        fs::write(&file, hash).with_context(|| format!("cannot write {}", file.display()))
    }

    /// The standard library's hasher: good enough against accidents, and nothing to compile. Another compiler may hash
    /// differently; then the step runs once more.
    fn hash(&self, root: &Path) -> Result<String> {
        let mut hash = DefaultHasher::new();
        for input in &self.inputs {
            for file in files_below(input)? {
                let name = file.strip_prefix(root).unwrap_or(&file);
                let content = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
                hash.write(name.to_string_lossy().as_bytes());
                hash.write_usize(content.len());
                hash.write(&content);
            }
        }
        hash.write(self.also.as_bytes());
        Ok(format!("{:016x}", hash.finish()))
    }
}

/// All files below a path in a fixed order, without hidden ones, `node_modules` and `target`.
pub fn files_below(path: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(path, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
    } else if path.is_dir() {
        for entry in fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if !name.starts_with('.') && name != "node_modules" && name != "target" {
                collect(&entry.path(), files)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_runs_again_only_when_a_file_says_something_else() {
        let root = std::env::temp_dir().join(format!("flotilla-stamp-{}", std::process::id()));
        let paths = Paths { root: root.clone(), target: root.join("t"), with_tests: false };
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a"), "1").unwrap();
        let stamp = Stamp { name: "x", inputs: vec![root.join("src")], also: String::new(), outputs: vec![] };
        let mut runs = 0;
        for text in ["1", "1", "2", "2"] {
            fs::write(root.join("src/a"), text).unwrap();
            stamp
                .run(&paths, || {
                    runs += 1;
                    Ok(())
                })
                .unwrap();
        }
        fs::remove_dir_all(root).unwrap();
        assert_eq!(runs, 2);
    }
}
