//! Helm and kustomize, which render charts and kustomizations.
//!
//! Built once from source with Go into the user's cache folder, which is independent of `target/` and shared by all checkouts.
//! Tests require them; without them the demo runs, and its console says what is not available.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::paths::{self, Paths, find_program};
use crate::step;

/// A program that is built with Go.
#[derive(Debug, Clone, Copy)]
pub struct Renderer {
    /// Its name.
    name: &'static str,
    /// Its version. The oldest one that the server accepts is in `crates/source`.
    version: &'static str,
    /// The Go package.
    package: &'static str,
    /// The variable in its source with its version, which a build from source does not set.
    version_symbol: &'static str,
    /// The environment variable with the path of the program, which server and tests read.
    path_var: &'static str,
}

/// Renders charts.
const HELM: Renderer = Renderer {
    name: "helm",
    version: "v4.2.4",
    package: "helm.sh/helm/v4/cmd/helm",
    version_symbol: "helm.sh/helm/v4/internal/version.version",
    path_var: "FLOTILLA_HELM",
};

/// Renders kustomizations.
const KUSTOMIZE: Renderer = Renderer {
    name: "kustomize",
    version: "v5.8.1",
    package: "sigs.k8s.io/kustomize/kustomize/v5",
    version_symbol: "sigs.k8s.io/kustomize/api/provenance.version",
    path_var: "FLOTILLA_KUSTOMIZE",
};

const ALL: [Renderer; 2] = [HELM, KUSTOMIZE];

/// Finds or builds all of them: environment variables with their paths.
///
/// # Errors
/// When a variable names no file, Go is missing, or a module cannot be fetched or built.
pub fn ensure_all(paths: &Paths) -> Result<Vec<(&'static str, PathBuf)>> {
    ALL.into_iter().map(|renderer| Ok((renderer.path_var, renderer.ensure(paths)?))).collect()
}

/// Finds or builds all of them, for commands that work without: prints why one may not be available.
pub fn find_or_build_all(paths: &Paths) -> Vec<(&'static str, PathBuf)> {
    let find = |renderer: Renderer| Some((renderer.path_var, renderer.find_or_build(paths)?));
    ALL.into_iter().filter_map(find).collect()
}

/// Names and versions, as the programs print them.
///
/// # Errors
/// As [`set_all`].
pub fn program_versions(paths: &Paths) -> Result<Vec<String>> {
    let mut versions = Vec::new();
    for renderer in ALL {
        let line = paths::program_version(&renderer.ensure(paths)?, "version");
        let version = line.as_deref().map(|line| line.split('"').nth(1).unwrap_or(line).to_owned());
        versions.extend(version.map(|version| format!("{} {version}", renderer.name)));
    }
    Ok(versions)
}

impl Renderer {
    /// The program in its variable, or the one of the pinned version; builds it if it is not in the cache.
    fn ensure(&self, paths: &Paths) -> Result<PathBuf> {
        let Self { name, version, path_var, .. } = self;
        if let Some(program) = env::var_os(path_var).filter(|path| !path.is_empty()) {
            return self.find_configured(Path::new(&program));
        }
        let cache = super::cache_folder()?.join(format!("{name}-{version}"));
        let program = cache.join(name);
        fs::create_dir_all(&cache)?;
        // Two checkouts may build it concurrently.
        let lock = File::create(cache.join("lock"))?;
        lock.lock()?;
        if !program.is_file() {
            if find_program("go").is_none() {
                bail!(
                    "{name} {version} must be built, but Go is missing: install it (go.dev/dl, or Debian: `sudo apt-get install golang`), or set {path_var} to a {name} program"
                );
            }
            // An interrupted build must not leave a file under the final name.
            let partial = cache.join("partial");
            let mut go = paths.command("go");
            // Without the flag the program reports no version, or that of the source branch.
            let flags = format!("-ldflags=-s -w -X {}={version}", self.version_symbol);
            go.args(["install", "-p=2", "-trimpath", &flags, &format!("{}@{version}", self.package)]);
            go.env("GOBIN", &partial).env("CGO_ENABLED", "0");
            step::run(paths, name, &mut go)?;
            fs::rename(partial.join(name), &program)?;
            fs::remove_dir(&partial)?;
        }
        lock.unlock()?;
        Ok(program)
    }

    /// As [`Self::ensure`], for commands that work without it: prints why it may not be available.
    fn find_or_build(&self, paths: &Paths) -> Option<PathBuf> {
        let result = self.ensure(paths).inspect_err(|error| {
            let consequence = match find_program(self.name) {
                Some(program) => format!("the server uses {} if it is new enough", program.display()),
                None => "what it renders is not available".to_owned(),
            };
            step::print_skipped(self.name, &format!("{consequence}: {error:#}"));
        });
        result.ok()
    }

    /// The program that the user selected. The server checks its version, and runs in another folder.
    fn find_configured(&self, program: &Path) -> Result<PathBuf> {
        if !program.is_file() {
            bail!(
                "{} is {}, which is not a file: correct it, or unset it to build {} {}",
                self.path_var,
                program.display(),
                self.name,
                self.version
            );
        }
        Ok(std::path::absolute(program)?)
    }
}

#[cfg(test)]
mod tests {
    use super::HELM;

    #[test]
    fn a_configured_program_is_absolute_and_must_exist() {
        let found =
            HELM.find_configured("Cargo.toml".as_ref()).expect("tests run in the folder of the package");
        assert!(found.is_absolute(), "{}", found.display());
        let error = HELM.find_configured("no/helm".as_ref()).expect_err("there is no such file").to_string();
        assert!(error.starts_with("FLOTILLA_HELM is no/helm, which is not a file"), "{error}");
    }
}
