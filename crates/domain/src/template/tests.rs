//! Templates, seen from outside.

use serde_json::json;

use super::*;
use crate::cluster::{ClusterFacts, ClusterKind, NodePool, Reach};
use crate::id::ClusterId;
use crate::time::Timestamp;

fn cluster() -> Cluster {
    let pool = |architecture: &str| NodePool { architecture: architecture.into(), ..NodePool::default() };
    Cluster {
        labels: [("region", "eu-west"), ("size", "3"), ("example.com/Team", "Blue")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into_iter()
            .collect(),
        facts: ClusterFacts {
            kubernetes_version: "v1.36.3".into(),
            provider: "aws".into(),
            node_pools: vec![pool("arm64"), pool("amd64")],
            ..ClusterFacts::default()
        },
        reach: Reach::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

fn filled(mut object: Value) -> (Value, Vec<Problem>) {
    let targets = ["eu-1".to_owned(), "us-1".to_owned()];
    let cluster = cluster();
    let values =
        Values { cluster: &cluster, workload: "shop", namespace: "web", revision: 7, targets: &targets };
    let problems = fill(&mut object, &values);
    (object, problems)
}

fn one(text: &str) -> Value {
    let (value, problems) = filled(json!([text]));
    assert_eq!(problems, [], "{text}");
    value[0].clone()
}

fn problem(text: &str) -> Problem {
    let (value, mut problems) = filled(json!({ "a/b": text }));
    assert_eq!(value["a/b"], text, "what has a problem stays as written");
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.remove(0)
}

#[test]
fn s4_7_runtime_values_of_the_cluster_are_filled_in() {
    assert_eq!(one("${{ cluster.name }}.${{cluster.region}}.example.com"), "eu-1.eu-west.example.com");
    assert_eq!(one("${{ cluster.labels.region }}"), "eu-west");
    assert_eq!(one("${{ cluster.labels[\"example.com/Team\"] | lower }}"), "blue");
    assert_eq!(one("on ${{ cluster.provider }} ${{ cluster.kubernetesVersion }}"), "on aws v1.36.3");
    assert_eq!(one("${{ workload.namespace }}/${{ workload.name }}@${{ workload.revision }}"), "web/shop@7");
}

#[test]
fn s1_25_the_names_of_all_targets_are_a_list_or_one_text() {
    assert_eq!(one("${{ fleet.targets }}"), json!(["eu-1", "us-1"]));
    assert_eq!(one("${{ fleet.targets | join(\";\") }}"), "eu-1;us-1");
    assert_eq!(one("peers=${{ fleet.targets }}"), "peers=eu-1,us-1");
    assert_eq!(one("${{ cluster.architectures }}"), json!(["arm64", "amd64"]));
}

#[test]
fn an_expression_alone_keeps_its_type_but_where_kubernetes_takes_only_text() {
    let (object, problems) = filled(json!({
        "metadata": {"labels": {"revision": "${{ workload.revision }}"}},
        "spec": {
            "replicas": "${{ cluster.labels.size | int }}",
            "containers": [{"env": [{"name": "SIZE", "value": "${{ cluster.labels.size | int }}"}]}],
        },
        "data": {"peers": "${{ fleet.targets }}"},
    }));
    assert_eq!(problems, []);
    assert_eq!(object["spec"]["replicas"], 3);
    assert_eq!(object["metadata"]["labels"]["revision"], "7");
    assert_eq!(object["spec"]["containers"][0]["env"][0]["value"], "3");
    assert_eq!(object["data"]["peers"], "eu-1,us-1");
}

#[test]
fn what_other_tools_write_stays() {
    for text in [
        "${{ github.ref }} ${{ secrets.TOKEN }}",
        "{{ .Values.x }} ${HOME} $(POD) ${{",
        "${{ }}",
        "${{ clusters_of_stars }}",
    ] {
        assert_eq!(one(text), text);
    }
    assert_eq!(one("$${{ cluster.name }} ${{ cluster.name }}"), "${{ cluster.name }} eu-1");
    assert_eq!(one("$${{ cluster.name }}"), "${{ cluster.name }}");
}

#[test]
fn s4_9_a_value_that_is_not_there_is_missing_and_no_mistake() {
    let expected = Variable::ClusterLabel("zone".into());
    let Problem::Missing { pointer, variable } = problem("in ${{ cluster.labels.zone }}") else { panic!() };
    assert_eq!((pointer.as_str(), &variable), ("/a~1b", &expected));
    assert_eq!(one("${{ cluster.labels.zone | default(\"none\") }}"), "none");
    assert_eq!(one("${{ cluster.zones | default('a,b') | join(' ') }}"), "a,b");
}

#[test]
fn g115_a_slip_is_told_with_what_was_meant() {
    let why = |text: &str| match problem(text) {
        Problem::Bad { why, .. } => format!("{} {}", why.message, why.hint),
        other => panic!("{other:?}"),
    };
    assert_eq!(why("${{ cluster.nmae }}"), "There is no variable cluster.nmae. Did you mean cluster.name?");
    assert!(why("${{ cluster.lables.region }}").ends_with("Did you mean cluster.labels?"));
    assert!(why("${{ cluster.name | defualt(\"x\") }}").ends_with("Did you mean default?"));
    assert!(why("${{ cluster.name | default(x) }}").contains("quotes"));
    assert!(why("${{ cluster.name cluster.id }}").contains("can't stand here"));
    assert!(why("${{ cluster.labels[\"a }}").contains("quotes"));
    assert!(why("a ${{ cluster.name").contains("not closed"));
    assert!(why("${{ cluster.labels.region | int }}").contains("no whole number"));
    assert!(why("${{ cluster }}").contains("no variable cluster"));
    let Problem::Foreign { written, meant, .. } = problem("${{ clustr.name }}") else { panic!() };
    assert_eq!((written.as_str(), meant), ("clustr.name", "cluster"));
}

#[test]
fn no_text_makes_it_panic_or_run_on() {
    for text in
        ["${{ cluster.labels['é'] }}", "${{ cluster.é }}", "${{ cluster. }}", "${{ cluster.labels[''] }}"]
    {
        filled(json!([text]));
    }
    let many = "${{ cluster.name }}".repeat(5_000);
    let (value, _) = filled(json!([many.as_str()]));
    assert!(value[0].as_str().is_some_and(|text| text.len() <= many.len()));
}

proptest::proptest! {
    #[test]
    fn any_text_is_filled_without_panic(text in "(\\$\\{\\{|\\}\\}|cluster|\\.|labels|\\[|\\]|\"|'|\\||default|\\(|\\)|é| |[a-z]){0,40}") {
        filled(json!({ "data": { "a": text } }));
    }
}
