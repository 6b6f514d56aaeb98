//! Dependencies between the crates of the workspace go in one direction. `cargo metadata` and `cargo tree` are checked against
//! the table below.
//!
//! A crate may use fewer crates than allowed. Tests may also use the simulated and the real control planes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Crates, and the crates that each may depend on.
const ALLOWED_DEPENDENCIES: [(&str, &[&str]); 19] = [
    ("sealing", &[]),
    ("domain", &[]),
    ("egress", &[]),
    ("identity", &[]),
    ("store", &["domain", "sealing"]),
    ("engine", &["domain"]),
    ("wire", &["domain"]),
    ("source", &["domain", "egress"]),
    ("hub", &["domain", "identity", "source", "store"]),
    ("agent", &["domain", "egress", "engine", "wire"]),
    ("cli", &["domain", "wire"]),
    ("app", &["domain", "hub"]),
    ("frontend", &["app"]),
    ("server", &["agent", "app", "domain", "egress", "hub", "kubesim", "source", "wire"]),
    ("kubesim", &[]),
    ("testkit", &[]),
    ("xtask", &[]),
    ("pack", &[]),
    ("rails", &["domain"]),
];

/// Additional dependencies that the tests of every crate may have.
const TEST_DEPENDENCIES: [&str; 2] = ["kubesim", "testkit"];

/// Additional dependencies that must be optional and off by default: for the benchmarks of the server.
const BENCHMARK_DEPENDENCIES: [(&str, &str); 1] = [("server", "testkit")];

fn run_cargo(args: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent folder");
    let output = Command::new(env!("CARGO")).args(args).current_dir(root).output().expect("cargo starts");
    assert!(output.status.success(), "cargo {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

fn workspace_packages() -> Vec<Value> {
    let all: Value = serde_json::from_str(&run_cargo(&["metadata", "--no-deps", "--format-version=1"]))
        .expect("cargo metadata is JSON");
    all["packages"].as_array().expect("packages").clone()
}

/// The workspace packages that `package` depends on, for tests or not, and whether each is optional.
fn workspace_dependencies(package: &Value, for_tests: bool) -> Vec<(String, bool)> {
    let dependencies = package["dependencies"].as_array().expect("dependencies");
    dependencies
        .iter()
        .filter(|dependency| dependency["path"].is_string() && (dependency["kind"] == "dev") == for_tests)
        .map(|dependency| {
            (dependency["name"].as_str().unwrap_or_default().to_owned(), dependency["optional"] == true)
        })
        .collect()
}

/// Names of all packages in a build of `package`.
fn dependency_tree(package: &str, more: &[&str]) -> BTreeSet<String> {
    let args =
        [&["tree", "--package", package, "--edges=normal", "--prefix=none", "--format={p}"], more].concat();
    run_cargo(&args).lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

fn assert_absent(package: &str, more: &[&str], foreign: &[&str]) {
    let tree = dependency_tree(package, more);
    let found: Vec<_> = tree.iter().filter(|name| foreign.iter().any(|f| is_in_family(name, f))).collect();
    assert!(
        found.is_empty(),
        "{package} must not depend on {found:?}; `cargo tree -p {package} -e normal -i {}` shows the path: remove one of its dependencies",
        found[0]
    );
}

/// Whether a package belongs to a family: `kube` includes `kube-client`, but not `kubesim`.
fn is_in_family(name: &str, family: &str) -> bool {
    name == family || name.strip_prefix(family).is_some_and(|rest| rest.starts_with(['-', '_']))
}

#[test]
fn crates_depend_only_on_allowed_crates() {
    for package in workspace_packages() {
        let name = package["name"].as_str().expect("a package has a name");
        let Some((_, allowed)) = ALLOWED_DEPENDENCIES.iter().find(|(krate, _)| *krate == name) else {
            panic!(
                "{name} is not in the table: add it to ARCHITECTURE.md and to xtask/tests/dependencies.rs, with its allowed dependencies"
            );
        };
        for (other, optional) in workspace_dependencies(&package, false) {
            let for_benchmarks = optional && BENCHMARK_DEPENDENCIES.contains(&(name, other.as_str()));
            assert!(
                for_benchmarks || allowed.contains(&other.as_str()),
                "{name} must not depend on {other}: it may use {allowed:?}. Move the shared code into a crate that both may use, or pass it in"
            );
        }
        for (other, _) in workspace_dependencies(&package, true) {
            assert!(
                allowed.contains(&other.as_str()) || TEST_DEPENDENCIES.contains(&other.as_str()),
                "tests of {name} must not depend on {other}: they may use {allowed:?} and {TEST_DEPENDENCIES:?}; a test of two crates belongs to a crate that depends on both"
            );
        }
    }
}

#[test]
fn the_console_depends_on_the_hub_only_on_the_server() {
    let app = workspace_packages()
        .into_iter()
        .find(|package| package["name"] == "app")
        .expect("there is a package app");
    let hub = workspace_dependencies(&app, false).into_iter().find(|(name, _)| name == "hub");
    assert!(
        hub.is_none_or(|(_, optional)| optional),
        "app's dependency on hub must be optional and enabled by `ssr`"
    );
    for dependency in app["dependencies"].as_array().expect("dependencies") {
        let name = dependency["name"].as_str().unwrap_or_default();
        assert!(
            !["sqlx", "kube", "k8s-openapi"].contains(&name),
            "app must not depend on {name}: pages use the hub, never SQL or Kubernetes"
        );
    }
}

#[test]
fn domain_depends_on_no_runtime_database_kubernetes_client_or_web_framework() {
    assert_absent(
        "domain",
        &[],
        &["tokio", "kube", "k8s-openapi", "sqlx", "leptos", "axum", "hyper", "reqwest", "rand"],
    );
}

#[test]
fn hub_depends_on_no_web_framework_and_no_kubernetes_client() {
    assert_absent("hub", &[], &["axum", "leptos", "kube", "k8s-openapi"]);
}

#[test]
fn shipped_programs_do_not_contain_testkit() {
    for package in ["server", "agent", "cli"] {
        assert_absent(package, &[], &["testkit"]);
    }
}

#[test]
fn the_browser_build_contains_no_server_code() {
    let wasm = ["--target", "wasm32-unknown-unknown"];
    assert_absent(
        "frontend",
        &wasm,
        &["sqlx", "tokio", "hub", "store", "kube", "k8s-openapi", "axum", "hyper"],
    );
}
