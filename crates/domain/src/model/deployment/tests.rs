//! The rules of deployments: bodies of requests, values and names.

use serde_json::json;

use super::*;
use crate::kubernetes::id::OverrideId;
use crate::model::chart::ChartSource;
use crate::model::source::Source;
use crate::text::strict_input;

fn spec(values: &str) -> WorkloadSpec {
    let source = ChartSource {
        chart: "local/web".into(),
        version: "1.0.0".into(),
        values: values.into(),
        ..ChartSource::default()
    };
    WorkloadSpec {
        source: Source::Chart(source),
        placement: group_placement("eu"),
        ..WorkloadSpec::default()
    }
}

fn map(value: Value) -> ChartValues {
    value.as_object().cloned().unwrap()
}

fn update(spec: &mut WorkloadSpec, reuse_values: bool, values: Value, overrides: Value) {
    let overrides: BTreeMap<String, ChartValues> = serde_json::from_value(overrides).unwrap();
    let update = ValuesUpdate { values: &map(values), overrides: &overrides, reuse_values };
    let mut next = 0;
    update.apply(spec, || {
        next += 1;
        OverrideId::from_parts(1, next)
    });
}

fn common(spec: &WorkloadSpec) -> &str {
    &spec.source.chart().unwrap().values
}

#[test]
fn s1_10_a_request_reads_both_spellings_and_flags_as_texts() {
    for body in [
        json!({"name": "local/web", "dryrun": "true", "reuseValues": "true"}),
        json!({"name": "local/web", "dryRun": true, "reuseValues": true, "values": null, "valueOverrides": null}),
    ] {
        let request: DeploymentRequest = strict_input::parse(&body).unwrap();
        assert!(request.dry_run && request.reuse_values, "{body}");
    }
    assert!(strict_input::parse::<DeploymentRequest>(&json!({"name": "a/b", "reuseValues": "yes"})).is_err());
    let error = strict_input::parse::<DeploymentRequest>(&json!({"valueOverride": {}})).unwrap_err();
    assert!(error.to_string().contains("valueOverrides"), "{error}");
}

#[test]
fn s1_18_reused_values_are_merged_and_clusters_that_are_not_mentioned_keep_theirs() {
    let mut spec = spec("# two are enough\nreplicas: 2\nimage:\n  tag: v1 # pinned\n");
    update(&mut spec, true, json!({}), json!({"eu-1": {"a": {"x": 1, "y": 2}}, "eu-2": {"b": 1}}));
    update(&mut spec, true, json!({"image": {"tag": "v2"}}), json!({"eu-1": {"a": {"x": 3}}}));
    assert_eq!(common(&spec), "# two are enough\nreplicas: 2\nimage:\n  tag: v2 # pinned\n");
    let overrides = list_value_overrides(&spec);
    assert_eq!(json!(overrides), json!({"eu-1": {"a": {"x": 3, "y": 2}}, "eu-2": {"b": 1}}));
}

#[test]
fn s1_18_replaced_values_drop_those_of_clusters_that_are_not_mentioned_but_no_patches() {
    let mut spec = spec("replicas: 2\n");
    update(&mut spec, true, json!({}), json!({"eu-1": {"a": 1}, "eu-2": {"b": 1}, "eu-3": {"c": 1}}));
    let patch = json!({"op": "remove", "path": "/spec/replicas", "object": {"kind": "Deployment"}});
    spec.overrides[2].patches.push(serde_json::from_value(patch).unwrap());
    update(&mut spec, false, json!({"replicas": 3}), json!({"eu-1": {"z": null}}));
    assert_eq!(common(&spec), "replicas: 3\n");
    assert_eq!(json!(list_value_overrides(&spec)), json!({"eu-1": {"z": null}}));
    let left: Vec<&str> = spec.overrides.iter().map(|over| over.name.as_str()).collect();
    assert_eq!(left, ["values-eu-1", "values-eu-3"]);
}

#[test]
fn s1_17_a_random_release_name_is_two_words_within_the_limit() {
    for seed in [0, u64::MAX, 0x1234_5678_9abc_def0] {
        let name = format_release_name(seed, 0);
        assert_eq!(name.split('-').count(), 2, "{name}");
        assert!(crate::kubernetes::name::is_label(&name) && name.len() <= 53);
    }
    assert_ne!(format_release_name(1 << 12, 5), format_release_name(2 << 12, 5));
}

#[test]
fn a_deployment_is_a_chart_on_exactly_one_group() {
    let mut spec = spec("");
    assert_eq!(deployment_group(&spec), Some("eu"));
    spec.placement.predicates[0].names.push("us-1".into());
    assert_eq!(deployment_group(&spec), None);
}
