//! Real control planes for tests and benchmarks: etcd, kube-apiserver and others.
//!
//! Programs in `KUBEBUILDER_ASSETS` (where envtest looks) are taken as they are. The others are built once from their
//! sources with Go into the user's cache folder, which outlives `target/` and is shared by all checkouts. Tests find
//! all of them in one folder of links, through `FLOTILLA_KUBE_BIN`.
//!
//! `kubernetes` and `etcd` cannot be installed with `go install`: their `go.mod` replaces its own parts by folders
//! beside it. So a module of ours requires them and maps those parts to their published versions.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, version_of, which};
use crate::step;

const KUBERNETES: &str = "v1.36.3";
const ETCD: &str = "v3.6.16";
const KWOK: &str = "v0.8.0";
const HELM: &str = "v3.22.0";

const PROGRAMS: [&str; 7] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "etcd", "kwok", "helm"];

/// Where links to all programs are; tests look there through `FLOTILLA_KUBE_BIN`.
pub fn bin(paths: &Paths) -> PathBuf {
    paths.target.join("kube/bin")
}

/// Builds what is neither in `KUBEBUILDER_ASSETS` nor in the cache, and links all programs into [`bin`].
///
/// # Errors
/// When there is no Go, or a module cannot be fetched or built.
pub fn ensure(paths: &Paths) -> Result<PathBuf> {
    let cache = cache()?;
    let built = cache.join("bin");
    fs::create_dir_all(&built)?;
    // Two checkouts may want the same programs at the same time.
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    for program in PROGRAMS {
        if given(program).is_none() && !built.join(program).is_file() {
            build(paths, &cache, program)?;
        }
    }
    lock.unlock()?;
    link(&bin(paths), &built)?;
    Ok(bin(paths))
}

/// The versions of a control plane's parts, as they say themselves.
pub fn versions(paths: &Paths) -> Vec<String> {
    let say = |program: &str| version_of(&bin(paths).join(program), "--version");
    let etcd = say("etcd").map(|line| line.replace("etcd Version:", "etcd"));
    [say("kube-apiserver"), etcd, say("kwok")].into_iter().flatten().collect()
}

/// `$XDG_CACHE_HOME/flotilla/kube/<versions>`: another version is another folder, so nothing in it is ever stale.
fn cache() -> Result<PathBuf> {
    let home = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home = home.or_else(|| Some(env::home_dir()?.join(".cache"))).context("there is no home folder")?;
    Ok(home.join(format!("flotilla/kube/{KUBERNETES}-etcd-{ETCD}-kwok-{KWOK}-helm-{HELM}")))
}

/// A program that lies in `KUBEBUILDER_ASSETS`.
fn given(program: &str) -> Option<PathBuf> {
    let folder = env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty())?;
    fs::canonicalize(folder).ok().map(|folder| folder.join(program)).filter(|file| file.is_file())
}

fn link(folder: &Path, built: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for program in PROGRAMS {
        let (to, from) = (given(program).unwrap_or_else(|| built.join(program)), folder.join(program));
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

fn build(paths: &Paths, cache: &Path, program: &str) -> Result<()> {
    if which("go").is_none() {
        bail!(
            "{program} has to be built and Go is missing: install it (go.dev/dl, or Debian: `sudo apt-get install golang`), or set KUBEBUILDER_ASSETS to a folder that holds {program}"
        );
    }
    match program {
        "etcd" => {
            let home = module_of(paths, cache, "etcd", "go.etcd.io/etcd/server/v3", ETCD)?;
            go_build(paths, &home, cache, "go.etcd.io/etcd/server/v3")
        }
        "kwok" => go_install(paths, cache, "sigs.k8s.io/kwok/cmd/kwok", KWOK),
        "helm" => go_install(paths, cache, "helm.sh/helm/v3/cmd/helm", HELM),
        _ => {
            let home = module_of(paths, cache, "kubernetes", "k8s.io/kubernetes", KUBERNETES)?;
            go_build(paths, &home, cache, &format!("k8s.io/kubernetes/cmd/{program}"))
        }
    }
}

/// A module of ours that requires `module` and replaces its in-tree parts by their published versions.
fn module_of(paths: &Paths, cache: &Path, name: &str, module: &str, version: &str) -> Result<PathBuf> {
    let home = cache.join("modules").join(name);
    // One that an older version of this tool wrote would be read first.
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    fs::create_dir_all(&home)?;
    let mut download = paths.tool("go");
    download.args(["mod", "download", "-json"]).arg(format!("{module}@{version}")).current_dir(&home);
    // Outside a module Go looks for one in the folders above.
    download.env("GOWORK", "off").env("GOFLAGS", "-mod=mod");
    let said = step::run(paths, &format!("{name} sources"), &mut download)?;
    let theirs = said.lines().find_map(|line| line.trim().strip_prefix("\"GoMod\": \"")?.split('"').next());
    let theirs = theirs.context("go mod download names no GoMod")?;
    let theirs = fs::read_to_string(theirs).with_context(|| format!("cannot read {theirs}"))?;
    fs::write(home.join("go.mod"), go_mod(name, module, version, &theirs))?;
    Ok(home)
}

/// Published versions of in-tree parts: `k8s.io/api` of Kubernetes v1.36.3 is v0.36.3, etcd's parts carry etcd's own.
fn go_mod(name: &str, module: &str, version: &str, theirs: &str) -> String {
    let language = theirs.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("1.25");
    let mut text = format!("module flotilla/{name}\n\ngo {language}\n\nrequire {module} {version}\n\n");
    for line in theirs.lines() {
        let Some((part, place)) = line.trim().trim_start_matches("replace ").split_once(" => ") else {
            continue;
        };
        let part = part.split_whitespace().next().unwrap_or(part);
        // etcd so forbids its own former names.
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

/// One package at a time and two compilers: the API server alone takes 2 GB to compile.
fn go_build(paths: &Paths, home: &Path, cache: &Path, package: &str) -> Result<()> {
    let name = if package.starts_with("go.etcd.io") { "etcd" } else { last(package) };
    // A build that was interrupted must not look like a program.
    let partial = cache.join(format!("{name}.partial"));
    let mut go = paths.tool("go");
    go.args(["build", "-p=2", "-mod=mod", "-trimpath"]).arg(flags()).arg("-o").arg(&partial).arg(package);
    go.current_dir(home).env("GOWORK", "off").env("CGO_ENABLED", "0");
    step::run(paths, name, &mut go)?;
    Ok(fs::rename(partial, cache.join("bin").join(name))?)
}

/// Programs whose module can be installed as it is.
fn go_install(paths: &Paths, cache: &Path, package: &str, version: &str) -> Result<()> {
    let mut go = paths.tool("go");
    go.args(["install", "-p=2", "-trimpath"]).arg(flags()).arg(format!("{package}@{version}"));
    go.env("GOBIN", cache.join("bin")).env("CGO_ENABLED", "0");
    step::run(paths, last(package), &mut go).map(drop)
}

/// Without them Kubernetes says it is `v0.0.0-master` and kwok that it is `unknown`.
fn flags() -> String {
    let minor = KUBERNETES.split('.').nth(1).unwrap_or_default();
    let base = "k8s.io/component-base/version";
    format!(
        "-ldflags=-s -w -X {base}.gitVersion={KUBERNETES} -X {base}.gitMajor=1 -X {base}.gitMinor={minor} -X {base}.gitTreeState=clean -X sigs.k8s.io/kwok/pkg/consts.Version={KWOK}"
    )
}

fn last(package: &str) -> &str {
    package.rsplit('/').next().unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use super::go_mod;

    #[test]
    fn parts_of_the_tree_are_replaced_by_their_published_versions() {
        let theirs = "module k8s.io/kubernetes\n\ngo 1.26.0\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tx => y v1.0.0\n)\n";
        let ours = go_mod("kubernetes", "k8s.io/kubernetes", "v1.36.3", theirs);
        assert!(ours.contains("go 1.26.0\n"), "{ours}");
        assert!(ours.contains("replace k8s.io/api => k8s.io/api v0.36.3\n"), "{ours}");
        assert!(!ours.contains("replace x"), "{ours}");
    }

    #[test]
    fn parts_of_etcd_carry_its_own_version() {
        let theirs = "go 1.25\n\nreplace (\n\tgo.etcd.io/etcd => ./FORBIDDEN_DEPENDENCY\n\tgo.etcd.io/etcd/api/v3 => ../api\n)\n";
        let ours = go_mod("etcd", "go.etcd.io/etcd/server/v3", "v3.6.16", theirs);
        assert!(
            ours.contains("replace go.etcd.io/etcd/api/v3 => go.etcd.io/etcd/api/v3 v3.6.16\n"),
            "{ours}"
        );
        assert!(!ours.contains("FORBIDDEN"), "{ours}");
    }
}
