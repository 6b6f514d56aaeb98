//! `cargo xtask guard-rails`: writes docs/guard-rails.md from the catalogue of guard rails.
//!
//! Must be run when the catalogue changes; otherwise a test fails. That test writes the file, because `xtask` does not
//! depend on `domain`.

use anyhow::Result;

use crate::paths::Paths;
use crate::step;

/// The test that compares the document with the catalogue; it writes the file if `FLOTILLA_WRITE` is set.
const TEST: &str = "the_document_lists_the_catalogue";

/// Writes the document.
///
/// # Errors
/// When `domain` or its tests do not compile.
pub fn run(paths: &Paths) -> Result<()> {
    let mut cargo = paths.cargo();
    cargo.args(["test", "-p", "domain", "--test", "guard_rails", "--", "--exact", TEST]);
    cargo.env("FLOTILLA_WRITE", "1");
    step::run(paths, "guard rails", &mut cargo)?;
    step::print_line("  docs/guard-rails.md");
    Ok(())
}
