//! Tests of templates.

use serde_json::json;

use super::*;
use crate::evaluation::render::TemplateValues;
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{Cluster, ClusterFacts, ClusterKind, ConfirmedFacts, Connectivity, NodePool};

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
        confirmed_facts: ConfirmedFacts { provider: "aws".into(), ..ConfirmedFacts::default() },
        connectivity: Connectivity::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

fn fill_object(mut object: Value) -> (Value, Vec<TemplateError>) {
    let targets = ["eu-1".to_owned(), "us-1".to_owned()];
    let cluster = cluster();
    let values = TemplateValues {
        cluster: &cluster,
        workload: "shop",
        namespace: "web",
        revision: 7,
        targets: &targets,
    };
    let problems = fill(&mut object, &values, &mut TemplateBudget::default());
    (object, problems)
}

fn fill_text(text: &str) -> Value {
    let (value, problems) = fill_object(json!([text]));
    assert_eq!(problems, [], "{text}");
    value[0].clone()
}

fn fill_error(text: &str) -> TemplateError {
    let (value, mut problems) = fill_object(json!({ "a/b": text }));
    assert_eq!(value["a/b"], text, "an expression with an error stays as written");
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.remove(0)
}

#[test]
fn s4_7_runtime_values_of_the_cluster_are_filled_in() {
    assert_eq!(fill_text("${{ cluster.name }}.${{cluster.region}}.example.com"), "eu-1.eu-west.example.com");
    assert_eq!(fill_text("${{ cluster.labels.region }}"), "eu-west");
    assert_eq!(fill_text("${{ cluster.labels[\"example.com/Team\"] | lower }}"), "blue");
    assert_eq!(fill_text("on ${{ cluster.provider }} ${{ cluster.kubernetesVersion }}"), "on aws v1.36.3");
    assert_eq!(
        fill_text("${{ workload.namespace }}/${{ workload.name }}@${{ workload.revision }}"),
        "web/shop@7"
    );
}

#[test]
fn s1_25_the_names_of_all_targets_are_a_list_or_a_joined_text() {
    assert_eq!(fill_text("${{ fleet.targets }}"), json!(["eu-1", "us-1"]));
    assert_eq!(fill_text("${{ fleet.targets | join(\";\") }}"), "eu-1;us-1");
    assert_eq!(
        fill_text("${{ fleet.targets | map('db-{}.io:1') | join(',') }}"),
        "db-eu-1.io:1,db-us-1.io:1"
    );
    assert_eq!(fill_text("${{ fleet.targets | map('{}-{}') }}"), json!(["eu-1-eu-1", "us-1-us-1"]));
    assert_eq!(fill_text("${{ cluster.provider | map('cloud-{}') }}"), "cloud-aws");
    assert_eq!(fill_text("peers=${{ fleet.targets }}"), "peers=eu-1,us-1");
    assert_eq!(fill_text("${{ cluster.architectures }}"), json!(["arm64", "amd64"]));
}

#[test]
fn a_sole_expression_keeps_its_type_except_where_kubernetes_accepts_only_text() {
    let (object, problems) = fill_object(json!({
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
fn expressions_of_other_tools_stay() {
    for text in [
        "${{ github.ref }} ${{ secrets.TOKEN }}",
        "{{ .Values.x }} ${HOME} $(POD) ${{",
        "${{ }}",
        "${{ clusters_of_stars }}",
    ] {
        assert_eq!(fill_text(text), text);
    }
    assert_eq!(fill_text("$${{ cluster.name }} ${{ cluster.name }}"), "${{ cluster.name }} eu-1");
    assert_eq!(fill_text("$${{ cluster.name }}"), "${{ cluster.name }}");
}

#[test]
fn s4_9_an_unknown_value_is_missing_and_not_an_error() {
    let expected = Variable::ClusterLabel("zone".into());
    let TemplateError::MissingValue { pointer, variable } = fill_error("in ${{ cluster.labels.zone }}")
    else {
        panic!()
    };
    assert_eq!((pointer.as_str(), &variable), ("/a~1b", &expected));
    assert_eq!(fill_text("${{ cluster.labels.zone | default(\"none\") }}"), "none");
    assert_eq!(fill_text("${{ cluster.zones | default('a,b') | join(' ') }}"), "a,b");
}

#[test]
fn g115_a_typing_error_is_reported_with_a_suggestion() {
    let why = |text: &str| match fill_error(text) {
        TemplateError::Invalid { error: why, .. } => format!("{} {}", why.message, why.hint),
        other => panic!("{other:?}"),
    };
    assert_eq!(why("${{ cluster.nmae }}"), "There is no variable cluster.nmae. Did you mean cluster.name?");
    assert!(why("${{ cluster.lables.region }}").ends_with("Did you mean cluster.labels?"));
    assert!(why("${{ cluster.name | defualt(\"x\") }}").ends_with("Did you mean default?"));
    assert!(why("${{ cluster.name | default(x) }}").contains("quotes"));
    assert!(why("${{ cluster.name cluster.id }}").contains("is not allowed here"));
    assert!(why("${{ cluster.labels[\"a }}").contains("quotes"));
    assert!(why("a ${{ cluster.name").contains("not closed"));
    assert!(why("${{ cluster.labels.region | int }}").contains("not a whole number"));
    assert!(why("${{ cluster }}").contains("no variable cluster"));
    let TemplateError::UnknownRoot { text: written, suggestion: meant, .. } =
        fill_error("${{ clustr.name }}")
    else {
        panic!()
    };
    assert_eq!((written.as_str(), meant), ("clustr.name", "cluster"));
}

#[test]
fn no_text_causes_a_panic_or_an_unbounded_result() {
    for text in
        ["${{ cluster.labels['é'] }}", "${{ cluster.é }}", "${{ cluster. }}", "${{ cluster.labels[''] }}"]
    {
        fill_object(json!([text]));
    }
    let many = "${{ cluster.name }}".repeat(5_000);
    let (value, _) = fill_object(json!([many.as_str()]));
    assert!(value[0].as_str().is_some_and(|text| text.len() <= many.len()));
}

proptest::proptest! {
    #[test]
    fn any_text_is_filled_in_without_a_panic(text in "(\\$\\{\\{|\\}\\}|cluster|\\.|labels|\\[|\\]|\"|'|\\||default|\\(|\\)|é| |[a-z]){0,40}") {
        fill_object(json!({ "data": { "a": text } }));
    }
}

/// An expression whose value doubles with every filter.
fn doubling(times: usize) -> String {
    format!("${{{{ cluster.name{} }}}}", " | map(\"{}{}\")".repeat(times))
}

#[test]
fn g115_an_expression_that_doubles_its_value_is_refused_before_it_is_written() {
    for times in [40, 400] {
        let (object, problems) = fill_object(json!({"data": {"a": doubling(times)}}));
        let [TemplateError::Invalid { pointer, error }] = problems.as_slice() else { panic!("{problems:?}") };
        assert_eq!(pointer, "/data/a");
        assert_eq!(error.message, "The expression would produce more than 2 MiB.");
        assert_eq!(object["data"]["a"], doubling(times), "it stays as written");
    }
    let (object, problems) = fill_object(json!({"data": {"a": doubling(10)}}));
    assert_eq!((object["data"]["a"].as_str().map(str::len), problems), (Some("eu-1".len() << 10), vec![]));
}

#[test]
fn g115_many_expressions_have_a_budget_of_their_object_and_of_their_bundle() {
    // 512 KiB each, in eight fields, for eight objects: each expression alone is allowed.
    let fields: Vec<String> = vec![doubling(17); 8];
    let cluster = cluster();
    let values =
        TemplateValues { cluster: &cluster, workload: "shop", namespace: "web", revision: 7, targets: &[] };
    let mut budget = TemplateBudget::default();
    let mut messages = std::collections::BTreeSet::new();
    let mut bytes = 0;
    for _ in 0..8 {
        let mut object = json!({"data": fields});
        for problem in fill(&mut object, &values, &mut budget) {
            let TemplateError::Invalid { error, .. } = problem else { panic!("{problem:?}") };
            messages.insert(error.message);
        }
        bytes += object.to_string().len();
    }
    assert!(bytes < 16 << 20, "{bytes}");
    let expected = [
        "The expressions of the workload would produce more than 16 MiB.",
        "The expressions of this object would produce more than 4 MiB.",
    ];
    assert_eq!(messages.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn p19_errors_of_expressions_are_bounded_in_number_and_in_the_length_of_their_pointer() {
    let key = "K".repeat(100_000);
    let children: serde_json::Map<String, Value> =
        (0..3_000).map(|n| (format!("k{n}"), "${{ cluster.x }}".into())).collect();
    let cluster = cluster();
    let values =
        TemplateValues { cluster: &cluster, workload: "shop", namespace: "web", revision: 7, targets: &[] };
    let mut budget = TemplateBudget::default();
    let mut listed = 0;
    for _ in 0..10 {
        let mut object = json!({"z": "${{ cluster.labels.nope }}"});
        object[key.as_str()] = children.clone().into();
        for problem in fill(&mut object, &values, &mut budget) {
            match problem {
                TemplateError::Invalid { pointer, .. } => {
                    assert!(pointer.len() < 520 && pointer.ends_with('…'), "{}", pointer.len());
                    listed += 1;
                }
                TemplateError::MissingValue { pointer, .. } => assert_eq!(pointer, "/z", "it is listed too"),
                TemplateError::Omitted { count } => assert!(count >= 2_950, "{count}"),
                TemplateError::UnknownRoot { text, .. } => panic!("{text}"),
            }
        }
    }
    assert_eq!(listed, 200);
}

#[test]
fn p19_a_text_with_an_expression_however_it_is_written_may_produce_as_much_as_a_bundle_may() {
    let largest = 16 << 20;
    let with_expression = [
        "a: ${{ cluster.name }}",
        "a: \"\\x24{{ cluster.name }}\"",
        "a: \"$\\u007B{ cluster.name }}\"",
        "a: \"\\U00000024{{ cluster.name }}\"",
        "a: \"$\\\n  {{ cluster.name }}\"",
    ];
    for text in with_expression {
        assert_eq!(estimate_expansion(text.as_bytes()), largest, "{text}");
        let within_json = serde_json::to_string(text).unwrap();
        assert_eq!(estimate_expansion(within_json.as_bytes()), largest, "{within_json}");
    }
    for text in
        ["", "a: $HOME", "a: '{{ .Values.a }}'", "run: |\n  a \\\n  b\n", "a: \"{\\n}\\u00e4\"", "$", "\\"]
    {
        assert_eq!(estimate_expansion(text.as_bytes()), 0, "{text}");
        let within_json = serde_json::to_string(text).unwrap();
        assert_eq!(estimate_expansion(within_json.as_bytes()), 0, "{within_json}");
    }
}

#[test]
fn p19_the_expressions_in_the_values_of_a_chart_have_a_smaller_budget() {
    let fields: Vec<String> = vec![doubling(17); 4];
    let cluster = cluster();
    let values =
        TemplateValues { cluster: &cluster, workload: "shop", namespace: "web", revision: 7, targets: &[] };
    let mut budget = TemplateBudget::of_values();
    let (mut bytes, mut refused) = (0, 0);
    for _ in 0..8 {
        let mut layer = json!({"data": fields});
        refused += fill(&mut layer, &values, &mut budget).len();
        bytes += layer.to_string().len();
    }
    assert!(bytes < MAX_VALUES_BYTES, "{bytes}");
    assert!(refused > 0);
}
