//! Real control planes for tests and benchmarks: etcd, kube-apiserver and others.
//!
//! Programs in `KUBEBUILDER_ASSETS` (as for envtest) are used as they are. The others are built once from source with Go
//! into the user's cache folder, which is independent of `target/` and shared by all checkouts. One folder has links to all
//! of them; tests get it through `FLOTILLA_KUBE_BIN`.
//!
//! `go install` rejects `kubernetes` and `etcd`, because their `go.mod` replaces submodules by local folders. Therefore a
//! generated module requires them and maps the submodules to their published versions.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, find_program, program_version};
use crate::step;

const KUBERNETES: &str = "v1.36.3";
const ETCD: &str = "v3.6.16";
const KWOK: &str = "v0.8.0";

const PROGRAMS: [&str; 6] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "etcd", "kwok"];

/// The folder with links to all programs, for `FLOTILLA_KUBE_BIN`.
pub fn bin_folder(paths: &Paths) -> PathBuf {
    paths.target.join("kube/bin")
}

/// Builds the programs that are neither in `KUBEBUILDER_ASSETS` nor in the cache, and links all programs into [`bin_folder`].
///
/// # Errors
/// When Go is missing, or a module cannot be fetched or built.
pub fn ensure(paths: &Paths) -> Result<PathBuf> {
    let cache = cache_folder()?;
    let built = cache.join("bin");
    fs::create_dir_all(&built)?;
    // Two checkouts may build the same programs concurrently.
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    for program in PROGRAMS {
        if preinstalled_program(program).is_none() && !built.join(program).is_file() {
            build_program(paths, &cache, program)?;
        }
    }
    lock.unlock()?;
    link_programs(&bin_folder(paths), &built)?;
    Ok(bin_folder(paths))
}

/// The versions of the control plane's programs, as they print them.
pub fn program_versions(paths: &Paths) -> Vec<String> {
    let version = |program: &str| program_version(&bin_folder(paths).join(program), "--version");
    let etcd = version("etcd").map(|line| line.replace("etcd Version:", "etcd"));
    [version("kube-apiserver"), etcd, version("kwok")].into_iter().flatten().collect()
}

/// Each set of versions has its own folder, so the cache is never stale.
fn cache_folder() -> Result<PathBuf> {
    Ok(super::cache_folder()?.join(format!("kube/{KUBERNETES}-etcd-{ETCD}-kwok-{KWOK}")))
}

/// The path of a program in `KUBEBUILDER_ASSETS`.
fn preinstalled_program(program: &str) -> Option<PathBuf> {
    let folder = env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty())?;
    fs::canonicalize(folder).ok().map(|folder| folder.join(program)).filter(|file| file.is_file())
}

fn link_programs(folder: &Path, built: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    remove_other_links(folder)?;
    for program in PROGRAMS {
        let (to, from) =
            (preinstalled_program(program).unwrap_or_else(|| built.join(program)), folder.join(program));
        if fs::read_link(&from).is_ok_and(|old| old == to) {
            continue;
        }
        if from.symlink_metadata().is_ok() {
            fs::remove_file(&from)?;
        }
        symlink(&to, &from).with_context(|| format!("cannot link {}", from.display()))?;
    }
    Ok(())
}

/// Removes links of an earlier version of this tool, whose programs would be found instead of those of the system.
fn remove_other_links(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !PROGRAMS.iter().any(|program| entry.file_name() == *program) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn build_program(paths: &Paths, cache: &Path, program: &str) -> Result<()> {
    if find_program("go").is_none() {
        bail!(
            "{program} must be built, but Go is missing: install it (go.dev/dl, or Debian: `sudo apt-get install golang`), or set KUBEBUILDER_ASSETS to a folder that contains {program}"
        );
    }
    match program {
        "etcd" => {
            let home = write_module(paths, cache, "etcd", "go.etcd.io/etcd/server/v3", ETCD)?;
            go_build(paths, &home, cache, "go.etcd.io/etcd/server/v3")
        }
        "kwok" => go_install(paths, cache, "sigs.k8s.io/kwok/cmd/kwok", KWOK),
        _ => {
            let home = write_module(paths, cache, "kubernetes", "k8s.io/kubernetes", KUBERNETES)?;
            go_build(paths, &home, cache, &format!("k8s.io/kubernetes/cmd/{program}"))
        }
    }
}

/// Writes a module that requires `build_module` and replaces its in-tree submodules by their published versions.
fn write_module(paths: &Paths, cache: &Path, name: &str, module: &str, version: &str) -> Result<PathBuf> {
    let home = cache.join("modules").join(name);
    // Files of an older version of this tool would take precedence.
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    fs::create_dir_all(&home)?;
    let mut download = paths.command("go");
    download.args(["mod", "download", "-json"]).arg(format!("{module}@{version}")).current_dir(&home);
    // Without these settings Go would use a workspace or module of a parent folder.
    download.env("GOWORK", "off").env("GOFLAGS", "-mod=mod");
    let output = step::run(paths, &format!("{name} sources"), &mut download)?;
    let theirs = output.lines().find_map(|line| line.trim().strip_prefix("\"GoMod\": \"")?.split('"').next());
    let theirs = theirs.context("the output of `go mod download` has no GoMod")?;
    let theirs = fs::read_to_string(theirs).with_context(|| format!("cannot read {theirs}"))?;
    fs::write(home.join("go.mod"), render_go_mod(name, module, version, &theirs))?;
    Ok(home)
}

/// The text of the `go.mod`. Published versions of submodules: `k8s.io/api` of Kubernetes v1.36.3 is v0.36.3, those of etcd
/// have etcd's version.
fn render_go_mod(name: &str, module: &str, version: &str, theirs: &str) -> String {
    let language = theirs.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("1.25");
    let mut text = format!("module flotilla/{name}\n\ngo {language}\n\nrequire {module} {version}\n\n");
    for line in theirs.lines() {
        let Some((part, place)) = line.trim().trim_start_matches("replace ").split_once(" => ") else {
            continue;
        };
        let part = part.split_whitespace().next().unwrap_or(part);
        // etcd forbids its former module names this way.
        if place.starts_with('.') && !place.ends_with("FORBIDDEN_DEPENDENCY") {
            let published = if part.starts_with("k8s.io/") {
                version.replacen("v1.", "v0.", 1)
            } else {
                version.to_owned()
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "replace {part} => {part} {published}");
        }
    }
    text
}

/// Builds one package with at most two compilers in parallel: the API server needs 2 GB to compile.
fn go_build(paths: &Paths, home: &Path, cache: &Path, package: &str) -> Result<()> {
    let name = if package.starts_with("go.etcd.io") { "etcd" } else { last_segment(package) };
    // An interrupted build must not leave a file under the final name.
    let partial = cache.join(format!("{name}.partial"));
    let mut go = paths.command("go");
    go.args(["build", "-p=2", "-mod=mod", "-trimpath"])
        .arg(linker_flags())
        .arg("-o")
        .arg(&partial)
        .arg(package);
    go.current_dir(home).env("GOWORK", "off").env("CGO_ENABLED", "0");
    step::run(paths, name, &mut go)?;
    Ok(fs::rename(partial, cache.join("bin").join(name))?)
}

/// Installs a program whose module `go install` accepts.
fn go_install(paths: &Paths, cache: &Path, package: &str, version: &str) -> Result<()> {
    let mut go = paths.command("go");
    go.args(["install", "-p=2", "-trimpath"]).arg(linker_flags()).arg(format!("{package}@{version}"));
    go.env("GOBIN", cache.join("bin")).env("CGO_ENABLED", "0");
    step::run(paths, last_segment(package), &mut go).map(drop)
}

/// Linker flags with the versions; otherwise Kubernetes reports `v0.0.0-master` and kwok `unknown`.
fn linker_flags() -> String {
    let minor = KUBERNETES.split('.').nth(1).unwrap_or_default();
    let base = "k8s.io/component-base/version";
    format!(
        "-ldflags=-s -w -X {base}.gitVersion={KUBERNETES} -X {base}.gitMajor=1 -X {base}.gitMinor={minor} -X {base}.gitTreeState=clean -X sigs.k8s.io/kwok/pkg/consts.Version={KWOK}"
    )
}

fn last_segment(package: &str) -> &str {
    package.rsplit('/').next().unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use super::{PROGRAMS, link_programs, render_go_mod};

    #[test]
    fn links_of_programs_that_are_no_longer_used_are_removed() {
        let home = std::env::temp_dir().join(format!("flotilla-xtask-links-{}", std::process::id()));
        let (links, built) = (home.join("links"), home.join("built"));
        std::fs::create_dir_all(&links).expect("a temporary folder");
        std::os::unix::fs::symlink(built.join("helm"), links.join("helm")).expect("a link");
        link_programs(&links, &built).expect("links are written");
        assert!(links.join("helm").symlink_metadata().is_err(), "the link is left");
        for program in PROGRAMS {
            assert!(links.join(program).symlink_metadata().is_ok(), "{program} has no link");
        }
        std::fs::remove_dir_all(&home).expect("the folder is removed");
    }

    #[test]
    fn in_tree_submodules_are_replaced_by_their_published_versions() {
        let theirs = "module k8s.io/kubernetes\n\ngo 1.26.0\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tx => y v1.0.0\n)\n";
        let ours = render_go_mod("kubernetes", "k8s.io/kubernetes", "v1.36.3", theirs);
        assert!(ours.contains("go 1.26.0\n"), "{ours}");
        assert!(ours.contains("replace k8s.io/api => k8s.io/api v0.36.3\n"), "{ours}");
        assert!(!ours.contains("replace x"), "{ours}");
    }

    #[test]
    fn submodules_of_etcd_have_the_version_of_etcd() {
        let theirs = "go 1.25\n\nreplace (\n\tgo.etcd.io/etcd => ./FORBIDDEN_DEPENDENCY\n\tgo.etcd.io/etcd/api/v3 => ../api\n)\n";
        let ours = render_go_mod("etcd", "go.etcd.io/etcd/server/v3", "v3.6.16", theirs);
        assert!(
            ours.contains("replace go.etcd.io/etcd/api/v3 => go.etcd.io/etcd/api/v3 v3.6.16\n"),
            "{ours}"
        );
        assert!(!ours.contains("FORBIDDEN"), "{ours}");
    }
}
