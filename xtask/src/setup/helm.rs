//! Helm, which renders charts.
//!
//! Built once from source with Go into the user's cache folder, which is independent of `target/` and shared by all checkouts.
//! Tests require it; without it the demo runs, and its console says that charts are not available.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::paths::{self, Paths, find_program};
use crate::step;

/// The oldest version that the server accepts is in `crates/source/src/helm/find.rs`.
const VERSION: &str = "v4.2.4";

/// The environment variable with the path of the program, which server and tests read.
pub const PATH_VAR: &str = "FLOTILLA_HELM";

/// The program in [`PATH_VAR`], or the one of the pinned version; builds it if it is not in the cache.
///
/// # Errors
/// When [`PATH_VAR`] names no file, Go is missing, or the module cannot be fetched or built.
pub fn ensure(paths: &Paths) -> Result<PathBuf> {
    if let Some(program) = env::var_os(PATH_VAR).filter(|path| !path.is_empty()) {
        return find_configured(Path::new(&program));
    }
    let cache = super::cache_folder()?.join(format!("helm-{VERSION}"));
    let program = cache.join("helm");
    fs::create_dir_all(&cache)?;
    // Two checkouts may build it concurrently.
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    if !program.is_file() {
        if find_program("go").is_none() {
            bail!(
                "helm {VERSION} must be built, but Go is missing: install it (go.dev/dl, or Debian: `sudo apt-get install golang`), or set {PATH_VAR} to a helm program"
            );
        }
        // An interrupted build must not leave a file under the final name.
        let partial = cache.join("partial");
        let mut go = paths.command("go");
        go.args(["install", "-p=2", "-trimpath", &linker_flags(), &package()]);
        go.env("GOBIN", &partial).env("CGO_ENABLED", "0");
        step::run(paths, "helm", &mut go)?;
        fs::rename(partial.join("helm"), &program)?;
        fs::remove_dir(&partial)?;
    }
    lock.unlock()?;
    Ok(program)
}

/// As [`ensure`], for commands that work without charts: prints why they may not be available.
pub fn find_or_build(paths: &Paths) -> Option<PathBuf> {
    let result = ensure(paths).inspect_err(|error| {
        let consequence = match find_program("helm") {
            Some(program) => format!("the server uses {} if it is new enough", program.display()),
            None => "charts are not available".to_owned(),
        };
        step::print_skipped("helm", &format!("{consequence}: {error:#}"));
    });
    result.ok()
}

/// Name and version, as the program prints them.
pub fn program_version(program: &Path) -> Option<String> {
    let line = paths::program_version(program, "version")?;
    Some(format!("helm {}", line.split('"').nth(1)?))
}

/// The program that the user selected. The server checks its version, and runs in another folder.
fn find_configured(program: &Path) -> Result<PathBuf> {
    if !program.is_file() {
        bail!(
            "{PATH_VAR} is {}, which is not a file: correct it, or unset it to build helm {VERSION}",
            program.display()
        );
    }
    Ok(std::path::absolute(program)?)
}

fn package() -> String {
    format!("helm.sh/helm/v4/cmd/helm@{VERSION}")
}

/// Without this flag the program reports the version of the source branch, `v4.2`.
fn linker_flags() -> String {
    format!("-ldflags=-s -w -X helm.sh/helm/v4/internal/version.version={VERSION}")
}

#[cfg(test)]
mod tests {
    use super::find_configured;

    #[test]
    fn a_configured_program_is_absolute_and_must_exist() {
        let found = find_configured("Cargo.toml".as_ref()).expect("tests run in the folder of the package");
        assert!(found.is_absolute(), "{}", found.display());
        let error = find_configured("no/helm".as_ref()).expect_err("there is no such file").to_string();
        assert!(error.starts_with("FLOTILLA_HELM is no/helm, which is not a file"), "{error}");
    }
}
