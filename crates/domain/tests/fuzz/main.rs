//! Fuzz targets for every text that comes from outside: manifests, overrides, selectors, templates, placements, reports of
//! agents and paths of fields. Nothing may panic, and what is accepted has to stay itself.
//!
//! Every target runs on the texts of `corpus/TARGET` and on random ones. A failure prints a minimal text, which then belongs
//! into the corpus. `PROPTEST_CASES=1000000 cargo test -p domain --test fuzz TARGET` runs a target for longer.
//!
//! A byte from 128 on stands for a token of the target's language, so that random bytes are often valid; others are ASCII.

use std::path::Path;

use domain::cluster::{Cluster, ClusterKind};
use domain::json_path::JsonPath;
use domain::labels::LabelSelector;
use domain::manifest::{self, ParsedManifests};
use domain::placement::{self, FactSelector, Placement};
use domain::render::BundleRenderer;
use domain::report::ReportBatch;
use domain::report::limits::MAX_RELEASES;
use domain::workload::{SourceFile, WorkloadSpec};
use domain::{ClusterId, Finding, Timestamp, guard, strict_input};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

/// Random texts per target, unless `PROPTEST_CASES` is set.
const CASES: u32 = 2_000;
/// Longest random text, in bytes before the tokens are expanded.
const MAX_BYTES: usize = 96;
/// Most characters that a mutation of a text of the corpus removes, and most bytes that it inserts.
const MAX_MUTATION: usize = 16;

/// Runs a target on the texts of its corpus, on mutations of them and on random texts.
fn fuzz(target: &str, tokens: &str, check: fn(&str)) {
    let tokens = &parse_tokens(tokens);
    let corpus = read_corpus(target);
    corpus.iter().for_each(|text| check(text));
    let random =
        prop::collection::vec(any::<u8>(), 0..MAX_BYTES).prop_map(|bytes| expand_tokens(&bytes, tokens));
    let inserted = prop::collection::vec(any::<u8>(), 0..MAX_MUTATION);
    let mutation = (prop::sample::select(corpus), any::<prop::sample::Index>(), 0..MAX_MUTATION, inserted)
        .prop_map(|(text, at, removed, inserted)| {
            let mut characters: Vec<char> = text.chars().collect();
            let start = at.index(characters.len());
            let end = (start + removed).min(characters.len());
            characters.splice(start..end, expand_tokens(&inserted, tokens).chars());
            characters.into_iter().collect::<String>()
        });
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = CASES;
    }
    let result = TestRunner::new(config).run(&prop_oneof![random, mutation], |text| {
        check(&text);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

fn read_corpus(target: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{target} has no corpus");
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// Symbols that stand for blanks in the tokens of a target, which are separated by blanks.
const BLANKS: [(char, &str); 5] = [('␠', " "), ('␤', "\n"), ('␉', "\t"), ('␍', "\r"), ('␀', "\0")];

fn parse_tokens(tokens: &str) -> Vec<String> {
    let unescape = |token: &str| {
        BLANKS.iter().fold(token.to_owned(), |text, (symbol, blank)| text.replace(*symbol, blank))
    };
    tokens.split_whitespace().map(unescape).collect()
}

fn expand_tokens(bytes: &[u8], tokens: &[String]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte.checked_sub(128) {
            Some(token) => text.push_str(&tokens[usize::from(token) % tokens.len()]),
            None => text.push(char::from(*byte)),
        }
    }
    text
}

const MANIFEST_TOKENS: &str = "
    apiVersion:␠v1␤kind:␠ConfigMap␤metadata:␠{name:␠a}␤
    apiVersion:␠apps/v1␤kind:␠Deployment␤metadata:␤␠␠name:␠web␤spec:␤ ␤---␤ ␤...␤ ␤␠␠ ␤␠␠␠␠ ␤ :␠ -␠ ?␠ { } [ ] ,␠
    &a␠ *a <<:␠*a !!str␠ !!binary␠ !x␠ |␤ >-␤ \" ' \\u \\x #␠ ␉ ␍␤ %YAML␠1.2␤ data: spec: containers: image:␠nginx
    replicas:␠3 0644 1e400 .inf null ~ true ${{␠cluster.name␠}} ${{ }} {{␠.Values.x␠}} \u{feff} \u{202e} ␀ é 𝄞 name a
";

fn source(text: &str) -> Vec<SourceFile> {
    vec![SourceFile { name: "a.yaml".to_owned(), text: text.to_owned() }]
}

fn assert_finding_is_complete(finding: &Finding, text: &str) {
    assert!(
        !finding.code.is_empty() && !finding.message.is_empty() && !finding.hint.is_empty(),
        "{finding:?}"
    );
    let lines = u32::try_from(text.split('\n').count() + text.matches('\r').count()).unwrap();
    let line = finding.location.as_ref().map_or(1, |at| at.line);
    assert!((1..=lines).contains(&line), "{finding:?} in {text:?}");
}

fn check_manifests(text: &str) {
    let parsed = manifest::parse(&source(text));
    let spec = WorkloadSpec { namespace: "shop".to_owned(), ..WorkloadSpec::default() };
    let findings = guard::check_static("web", &spec, &parsed);
    for finding in parsed.findings.iter().chain(&findings) {
        assert_finding_is_complete(finding, text);
    }
    for one in &parsed.manifests {
        // JSON is YAML: what was read is read again as the same.
        let again = manifest::parse(&source(&one.object.to_string()));
        assert_eq!(again.manifests.first().map(|one| &one.object), Some(&one.object), "{text:?}");
    }
    render(&spec, &parsed);
}

/// Renders the bundle of a cluster; the result does not depend on the run.
fn render(spec: &WorkloadSpec, parsed: &ParsedManifests) {
    let renderer = BundleRenderer {
        workload: "web",
        revision: 1,
        spec,
        parsed,
        groups: &[],
        targets: &["eu-1".to_owned()],
    };
    let first = renderer.render_bundle(&fleet()[0]).map(|bundle| bundle.to_bytes());
    let second = renderer.render_bundle(&fleet()[0]).map(|bundle| bundle.to_bytes());
    assert_eq!(first.ok(), second.ok());
}

fn fleet() -> Vec<Cluster> {
    let cluster = |number: u128, name: &str| {
        let id = ClusterId::from_parts(1, number);
        let mut one = Cluster::new(id, name, ClusterKind::Agent, Timestamp::from_millis(0));
        one.labels.insert("env".to_owned(), "prod".to_owned());
        one
    };
    vec![cluster(1, "eu-1"), cluster(2, "us-1")]
}

#[test]
fn manifests() {
    fuzz("manifests", MANIFEST_TOKENS, check_manifests);
}

const OVERRIDE_TOKENS: &str = r#"
    {"overrides":[ {"name":"a", "target":{"clusters":["eu-1"]}, "target":{"selector":"env=prod"}, "priority":5,
    "patches":[ {"object":{"kind":"Deployment"}, "op":"set", "op":"remove", "op":"merge", "path":"/spec/replicas"
    "path":"/spec/template/spec/containers[name=web]/image" "path":" "value": "value":{"spec":{"replicas":null}}
    "value":7 } ] , " [ { null 1e999 -1 \u0000 /- /0 ~1 [name= ]} ]}]} "id":"01J00000000000000000000000",
"#;

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  \
     template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: nginx}]}\n";

fn check_overrides(text: &str) {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let Ok(mut spec) = strict_input::parse::<WorkloadSpec>(&value) else { return };
    spec.namespace = "shop".to_owned();
    let parsed = manifest::parse(&source(DEPLOYMENT));
    for finding in guard::check_static("web", &spec, &parsed) {
        assert!(!finding.message.is_empty() && !finding.hint.is_empty(), "{finding:?}");
    }
    render(&spec, &parsed);
    let stored = serde_json::to_value(&spec).unwrap();
    assert_eq!(serde_json::from_value::<WorkloadSpec>(stored).unwrap(), spec);
}

#[test]
fn overrides() {
    fuzz("overrides", OVERRIDE_TOKENS, check_overrides);
}

const SELECTOR_TOKENS: &str = r"
    env region app.kubernetes.io/name kubernetesVersion provider zone = == != >= < ␠in␠( ␠notin␠( ) , ! ␠ a v1.33
    1.33.4+k3s1 é ( - _
";

fn check_selectors(text: &str) {
    if let Ok(selector) = text.parse::<LabelSelector>() {
        assert_eq!(selector.to_string().parse::<LabelSelector>().as_ref(), Ok(&selector), "{text:?}");
    }
    if let Ok(selector) = text.parse::<FactSelector>() {
        assert_eq!(selector.to_string().parse::<FactSelector>().as_ref(), Ok(&selector), "{text:?}");
    }
}

#[test]
fn selectors() {
    fuzz("selectors", SELECTOR_TOKENS, check_selectors);
}

const TEMPLATE_TOKENS: &str = r#"
    ${{ }} ␠cluster.name␠ cluster.labels.env cluster.labels["a/b"] workload.name ␠|␠default("x") | " ' ( ) . $ {{ ␠
    é \
"#;

fn check_templates(text: &str) {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"value": text}});
    let parsed = manifest::parse(&source(&object.to_string()));
    let spec = WorkloadSpec { namespace: "shop".to_owned(), ..WorkloadSpec::default() };
    for finding in guard::check_static("web", &spec, &parsed) {
        assert!(!finding.message.is_empty() && !finding.hint.is_empty(), "{finding:?}");
    }
    render(&spec, &parsed);
}

#[test]
fn templates() {
    fuzz("templates", TEMPLATE_TOKENS, check_templates);
}

const PLACEMENT_TOKENS: &str = r#"
    {"predicates":[{ "labelSelector":"env=prod" "clusterNames":["eu-1"] "clusterGroups":["g"]
    "factSelector":"kubernetesVersion>=1.30" }], "numberOfClusters":1, "numberOfClusters":-1,
    "numberOfClusters":99999999999999999999, "spread":[{"by":"region","max":1}], "tolerations":[{"key":"a"}],
    "sticky":true, "score":[{"name":"cpu","weight":1}], "exclude":["us-1"], "newMembers":"auto" } ] , { [ null ""
"#;

fn check_placements(text: &str) {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let Ok(placement) = strict_input::parse::<Placement>(&value) else { return };
    let (mut clusters, current) = (fleet(), [ClusterId::from_parts(1, 2)]);
    let names = |decision: &placement::Decision| -> Vec<String> {
        decision.selected().map(|one| one.name.clone()).collect()
    };
    let decided = names(&placement::decide(&placement, &clusters, &[], &current));
    clusters.reverse();
    assert_eq!(
        names(&placement::decide(&placement, &clusters, &[], &current)),
        decided,
        "the order of clusters"
    );
    assert!(decided.len() <= clusters.len());
}

#[test]
fn placements() {
    fuzz("placements", PLACEMENT_TOKENS, check_placements);
}

const REPORT_TOKENS: &str = r#"
    {"incarnation":1,"seq":1, "releases":[ {"release":"01J00000000000000000000000","generation":1, "sync":"Synced",
    "health":{"status":"Healthy"}, "stages":[{"name":"Applied","state":{"type":"Done"}}],
    "drift":[{"object":{"version":"v1","kind":"Pod","name":"a"},"fields":["/a"]}], "removed":true "resources":[],
    "facts":{"kubernetesVersion":"v1.33.0","zones":["a","b"],"nodes":3}, "leftovers":[] } ] , { [ null
    9223372036854775807 -1 1e999 ""
"#;

fn check_reports(text: &str) {
    let Ok(mut batch) = serde_json::from_str::<ReportBatch>(text) else { return };
    batch.truncate();
    let once = batch.clone();
    batch.truncate();
    assert_eq!(batch, once, "what was truncated fits");
    assert!(batch.releases.len() <= MAX_RELEASES.max(text.len()));
    assert_eq!(serde_json::from_str::<ReportBatch>(&serde_json::to_string(&batch).unwrap()).unwrap(), batch);
}

#[test]
fn reports() {
    fuzz("reports", REPORT_TOKENS, check_reports);
}

const PATH_TOKENS: &str = r#"
    $ . .. spec containers [*] [0] [-1] [name=web] [?(@.name=="web")] [ ] / ~0 ~1 ' " \. * metadata.annotations é
    99999999999999999999
"#;

fn check_paths(text: &str) {
    let Ok(path) = text.parse::<JsonPath>() else { return };
    let object = json!({"spec": {"containers": [{"name": "web", "image": "nginx"}], "é": 1}, "metadata": {"annotations": {"a/b": ""}}});
    let (values, paths) = (path.select_values(&object), path.select_paths(&object));
    assert_eq!(values.len(), paths.len(), "{text:?}");
}

#[test]
fn paths() {
    fuzz("paths", PATH_TOKENS, check_paths);
}
