//! Skips a step whose inputs did not change, by a hash over file names and contents.
//!
//! The hash ignores modification times: a new checkout, a switched branch or a restored cache counts as unchanged.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::paths::Paths;
use crate::step;

/// A step with inputs and outputs.
pub struct StepStamp<'a> {
    /// Name of the step.
    pub name: &'a str,
    /// Files and folders that the step reads; missing ones count as empty.
    pub inputs: Vec<PathBuf>,
    /// Another input, such as the version of a compiler.
    pub extra_input: String,
    /// Files that the step writes; if one is missing, the step runs.
    pub outputs: Vec<PathBuf>,
}

impl StepStamp<'_> {
    /// Runs `work` if anything changed since its last success.
    pub fn run_if_changed(&self, paths: &Paths, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let file = paths.xtask_folder().join(format!("{}.stamp", self.name.replace(' ', "-")));
        let hash = self.hash(&paths.root)?;
        if self.outputs.iter().all(|path| path.exists())
            && fs::read_to_string(&file).is_ok_and(|old| old == hash)
        {
            step::print_skipped(self.name, "unchanged");
            return Ok(());
        }
        work()?;
        fs::create_dir_all(paths.xtask_folder())?;
        fs::write(&file, hash).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Hashes the inputs with the standard library's hasher, which needs no dependency. Another compiler may hash differently;
    /// then the step runs once more.
    fn hash(&self, root: &Path) -> Result<String> {
        let mut hash = DefaultHasher::new();
        for input in &self.inputs {
            for file in list_files(input)? {
                let name = file.strip_prefix(root).unwrap_or(&file);
                let content = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
                hash.write(name.to_string_lossy().as_bytes());
                hash.write_usize(content.len());
                hash.write(&content);
            }
        }
        hash.write(self.extra_input.as_bytes());
        Ok(format!("{:016x}", hash.finish()))
    }
}

/// All files below a path, sorted, without hidden files, `node_modules` and `target`.
pub fn list_files(path: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect_files(path, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect_files(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
    } else if path.is_dir() {
        for entry in fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if !name.starts_with('.') && name != "node_modules" && name != "target" {
                collect_files(&entry.path(), files)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_runs_again_only_when_the_content_of_a_file_changes() {
        let root = std::env::temp_dir().join(format!("flotilla-stamp-{}", std::process::id()));
        let paths = Paths::below(&root, &root.join("t"));
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a"), "1").unwrap();
        let stamp = StepStamp {
            name: "x",
            inputs: vec![root.join("src")],
            extra_input: String::new(),
            outputs: vec![],
        };
        let mut runs = 0;
        for text in ["1", "1", "2", "2"] {
            fs::write(root.join("src/a"), text).unwrap();
            stamp
                .run_if_changed(&paths, || {
                    runs += 1;
                    Ok(())
                })
                .unwrap();
        }
        fs::remove_dir_all(root).unwrap();
        assert_eq!(runs, 2);
    }
}
