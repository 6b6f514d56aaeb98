//! Arrows between the rooms point one way. The table below is the house plan; `cargo metadata` and `cargo tree` are what is.
//!
//! A room may always use fewer rooms than it is allowed to. Tests may use the simulated and the real clusters besides.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Room and the rooms it may see.
const ALLOWED: [(&str, &[&str]); 15] = [
    ("domain", &[]),
    ("store", &["domain"]),
    ("engine", &["domain"]),
    ("wire", &["domain"]),
    ("hub", &["domain", "store"]),
    ("agent", &["domain", "engine", "wire"]),
    ("cli", &["domain", "wire"]),
    ("app", &["domain", "hub"]),
    ("frontend", &["app"]),
    ("server", &["agent", "app", "domain", "hub", "kubesim", "wire"]),
    ("kubesim", &[]),
    ("testkit", &[]),
    ("xtask", &[]),
    ("pack", &[]),
    ("rails", &["domain"]),
];

/// What every room's tests may use on top.
const FOR_TESTS: [&str; 2] = ["kubesim", "testkit"];

/// A room and what it may use besides, as long as that is optional and off by default: the server's benchmarks.
const FOR_BENCHMARKS: [(&str, &str); 1] = [("server", "testkit")];

fn cargo(args: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent folder");
    let output = Command::new(env!("CARGO")).args(args).current_dir(root).output().expect("cargo starts");
    assert!(output.status.success(), "cargo {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

fn packages() -> Vec<Value> {
    let all: Value = serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version=1"]))
        .expect("cargo metadata is JSON");
    all["packages"].as_array().expect("packages").clone()
}

/// Names of the workspace's packages that `package` depends on in this way.
fn edges(package: &Value, for_tests: bool) -> Vec<(String, bool)> {
    let dependencies = package["dependencies"].as_array().expect("dependencies");
    dependencies
        .iter()
        .filter(|dependency| dependency["path"].is_string() && (dependency["kind"] == "dev") == for_tests)
        .map(|dependency| {
            (dependency["name"].as_str().unwrap_or_default().to_owned(), dependency["optional"] == true)
        })
        .collect()
}

/// Names of all packages that end up in a build of `package`.
fn tree(package: &str, more: &[&str]) -> BTreeSet<String> {
    let args =
        [&["tree", "--package", package, "--edges=normal", "--prefix=none", "--format={p}"], more].concat();
    cargo(&args).lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

fn assert_absent(package: &str, more: &[&str], foreign: &[&str]) {
    let tree = tree(package, more);
    let found: Vec<_> = tree.iter().filter(|name| foreign.iter().any(|f| matches(name, f))).collect();
    assert!(
        found.is_empty(),
        "{package} must not see {found:?}; `cargo tree -p {package} -e normal -i {}` shows the way in: cut it there",
        found[0]
    );
}

/// `kube` also means `kube-client`, but not `kubesim`.
fn matches(name: &str, family: &str) -> bool {
    name == family || name.strip_prefix(family).is_some_and(|rest| rest.starts_with(['-', '_']))
}

#[test]
fn arrows_between_rooms_are_those_of_the_house_plan() {
    for package in packages() {
        let name = package["name"].as_str().expect("a package has a name");
        let Some((_, allowed)) = ALLOWED.iter().find(|(room, _)| *room == name) else {
            panic!(
                "{name} is not in the house plan: add it to ARCHITECTURE.md and to ALLOWED in xtask/tests/arrows.rs, with its arrows"
            );
        };
        for (other, optional) in edges(&package, false) {
            let for_benchmarks = optional && FOR_BENCHMARKS.contains(&(name, other.as_str()));
            assert!(
                for_benchmarks || allowed.contains(&other.as_str()),
                "{name} must not depend on {other}: it may see {allowed:?}. Move what is needed down into a room both may see, or pass it in"
            );
        }
        for (other, _) in edges(&package, true) {
            assert!(
                allowed.contains(&other.as_str()) || FOR_TESTS.contains(&other.as_str()),
                "tests of {name} must not depend on {other}: they may use {allowed:?} and {FOR_TESTS:?}; a test of two rooms belongs to the room that sees both"
            );
        }
    }
}

#[test]
fn the_console_sees_the_hub_only_on_the_server() {
    let app =
        packages().into_iter().find(|package| package["name"] == "app").expect("there is a package app");
    let hub = edges(&app, false).into_iter().find(|(name, _)| name == "hub");
    assert!(
        hub.is_none_or(|(_, optional)| optional),
        "app's dependency on hub must be optional and switched on by `ssr`"
    );
    for dependency in app["dependencies"].as_array().expect("dependencies") {
        let name = dependency["name"].as_str().unwrap_or_default();
        assert!(
            !["sqlx", "kube", "k8s-openapi"].contains(&name),
            "app must not depend on {name}: a page asks the hub and sees neither SQL nor Kubernetes"
        );
    }
}

#[test]
fn domain_sees_no_runtime_no_database_no_cluster_and_no_page() {
    assert_absent(
        "domain",
        &[],
        &["tokio", "kube", "k8s-openapi", "sqlx", "leptos", "axum", "hyper", "reqwest", "rand"],
    );
}

#[test]
fn hub_sees_no_page_no_http_and_no_cluster() {
    assert_absent("hub", &[], &["axum", "leptos", "kube", "k8s-openapi"]);
}

#[test]
fn what_is_shipped_holds_no_test_kit() {
    for package in ["server", "agent", "cli"] {
        assert_absent(package, &[], &["testkit"]);
    }
}

#[test]
fn the_browser_gets_no_server_code() {
    let wasm = ["--target", "wasm32-unknown-unknown"];
    assert_absent(
        "frontend",
        &wasm,
        &["sqlx", "tokio", "hub", "store", "kube", "k8s-openapi", "axum", "hyper"],
    );
}
