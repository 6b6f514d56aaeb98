//! Finds the folder of real manifests and charts that tests read, which is not part of the repository.

use std::env;
use std::path::PathBuf;

/// Environment variable with the folder of real manifests and charts, or `none` to run without them.
pub const CORPUS_VAR: &str = "FLOTILLA_CORPUS";

/// The folder of real manifests and charts; `None` if the run was asked to go without it, which prints a line with the
/// skipped test's name.
///
/// # Panics
/// If the variable is not set: a test that lacks its input must not pass unnoticed.
pub fn find_corpus(test: &str) -> Option<PathBuf> {
    let corpus = env::var_os(CORPUS_VAR).filter(|corpus| !corpus.is_empty()).unwrap_or_else(|| {
        panic!(
            "set {CORPUS_VAR} to the folder of real manifests and charts, or to `none` to run without them"
        )
    });
    if corpus == "none" {
        crate::print_line(&format!("did not run, no corpus: {test}"));
        return None;
    }
    Some(PathBuf::from(corpus))
}
