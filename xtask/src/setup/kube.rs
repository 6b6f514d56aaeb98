//! Real control planes for tests and benchmarks, built from their sources with Go into `target/kube/bin`.
//!
//! `kubernetes` and `etcd` cannot be installed with `go install`: their `go.mod` replaces its own parts by folders
//! beside it. So a module of ours requires them and maps those parts to their published versions.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, which};
use crate::step;

const KUBERNETES: &str = "v1.36.3";
const ETCD: &str = "v3.6.16";
const KWOK: &str = "v0.8.0";
const HELM: &str = "v3.22.0";

/// Where the programs are; tests look there through `FLOTILLA_KUBE_BIN`.
pub fn bin(paths: &Paths) -> PathBuf {
    paths.target.join("kube/bin")
}

/// Builds what is missing.
///
/// # Errors
/// When there is no Go, or a module cannot be fetched or built.
pub fn ensure(paths: &Paths) -> Result<()> {
    let built = bin(paths);
    fs::create_dir_all(&built)?;
    if which("go").is_none() {
        bail!(
            "Go is missing: install it (go.dev/dl, or Debian: `sudo apt-get install golang`) and run this again"
        );
    }
    kubernetes(paths, &built)?;
    etcd(paths, &built)?;
    installed(paths, "kwok", "sigs.k8s.io/kwok/cmd/kwok", KWOK)?;
    installed(paths, "helm", "helm.sh/helm/v3/cmd/helm", HELM)
}

fn kubernetes(paths: &Paths, built: &Path) -> Result<()> {
    let wanted = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];
    if have(built, &wanted, "kubernetes", KUBERNETES) {
        return Ok(());
    }
    let home = module_of(paths, "kubernetes", "k8s.io/kubernetes", KUBERNETES)?;
    for name in wanted {
        // One at a time: the API server alone takes 2 GB to compile.
        go_build(paths, &home, &built.join(name), &format!("k8s.io/kubernetes/cmd/{name}"))?;
    }
    mark(built, "kubernetes", KUBERNETES)
}

fn etcd(paths: &Paths, built: &Path) -> Result<()> {
    if have(built, &["etcd"], "etcd", ETCD) {
        return Ok(());
    }
    let home = module_of(paths, "etcd", "go.etcd.io/etcd/server/v3", ETCD)?;
    go_build(paths, &home, &built.join("etcd"), "go.etcd.io/etcd/server/v3")?;
    mark(built, "etcd", ETCD)
}

/// Programs whose module can be installed as it is.
fn installed(paths: &Paths, name: &str, package: &str, version: &str) -> Result<()> {
    let built = bin(paths);
    if have(&built, &[name], name, version) {
        return Ok(());
    }
    let mut go = paths.tool("go");
    go.args(["install", "-trimpath", "-ldflags=-s -w"])
        .arg(format!("{package}@{version}"))
        .env("GOBIN", &built);
    step::run(paths, name, &mut go)?;
    mark(&built, name, version)
}

fn have(built: &Path, names: &[&str], what: &str, version: &str) -> bool {
    names.iter().all(|name| built.join(name).is_file())
        && fs::read_to_string(built.join(format!("{what}.version"))).is_ok_and(|old| old == version)
}

fn mark(built: &Path, what: &str, version: &str) -> Result<()> {
    Ok(fs::write(built.join(format!("{what}.version")), version)?)
}

/// A module of ours that requires `module` and replaces its in-tree parts by their published versions.
fn module_of(paths: &Paths, name: &str, module: &str, version: &str) -> Result<PathBuf> {
    let home = paths.target.join("kube").join(name);
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
        if place.starts_with('.') {
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

fn go_build(paths: &Paths, home: &Path, out: &Path, package: &str) -> Result<()> {
    let name = out.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut go = paths.tool("go");
    go.args(["build", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o"]).arg(out).arg(package);
    go.current_dir(home).env("GOWORK", "off").env("CGO_ENABLED", "0");
    step::run(paths, &name, &mut go).map(drop)
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
        let theirs = "go 1.25\n\nreplace go.etcd.io/etcd/api/v3 => ../api\n";
        let ours = go_mod("etcd", "go.etcd.io/etcd/server/v3", "v3.6.16", theirs);
        assert!(
            ours.contains("replace go.etcd.io/etcd/api/v3 => go.etcd.io/etcd/api/v3 v3.6.16\n"),
            "{ours}"
        );
    }
}
