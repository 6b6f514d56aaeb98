//! Objects of charts: definitions of the `crds/` folder, and objects that stay on the cluster.

use domain::plan::PlannedAction;
use domain::policy::{DeletionPolicy, Policies};
use domain::release::{StageName, StageState};
use serde_json::{Value, json};

use crate::harness::*;

const CRD: (&str, &str) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
const SECRET: (&str, &str) = ("v1", "Secret");

/// A definition as a chart has it in its `crds/` folder, with this short name.
fn chart_crd(short_name: &str) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com", "annotations": {"flotilla.dev/chart-crd": "true"}},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget",
                "shortNames": [short_name]},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

fn kept_secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "stringData": {"password": "x"},
        "metadata": {"name": "root", "namespace": "default", "annotations": {"helm.sh/resource-policy": "keep"}}})
}

fn short_name(cluster: &kubesim::SimCluster) -> Value {
    cluster.get(CRD, ("", "widgets.example.com")).unwrap()["spec"]["names"]["shortNames"][0].clone()
}

#[tokio::test(start_paused = true)]
async fn s4_4_g412_a_definition_of_a_chart_is_upgraded_only_if_asked_and_is_never_deleted() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let content = |name: &str| bundle(vec![config_map("a", name), chart_crd(name)]);
    let first = present_input(1, 1, &content("w"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    let version = |object: Option<Value>| -> u64 {
        object.unwrap()["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
    };
    let definition = version(cluster.get(CRD, ("", "widgets.example.com")));
    assert!(definition < version(cluster.get(CONFIG_MAP, ("default", "a"))), "definitions are first");

    // The plan names what differs; the upgrade changes the other objects only.
    let newer = content("wid");
    let phase = present_phase(Policies::default());
    let plan = agent.engine.dry_run("shop1", Some(release_id(1)), &phase, &newer).await;
    let found: Vec<&str> = plan.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(found, ["G412"], "{plan:?}");
    assert!(plan.findings[0].message.contains("/spec/names/shortNames"), "{plan:?}");
    let second = present_input(1, 2, &newer, Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.desired).await;
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "a")).unwrap()["data"]["key"], "wid");
    assert_eq!(short_name(&cluster), "w");

    let asked = Policies { upgrade_crds: true, ..Policies::default() };
    let plan =
        agent.engine.dry_run("shop1", Some(release_id(1)), &present_phase(asked.clone()), &newer).await;
    assert!(
        plan.objects.iter().any(|change| matches!(change.action, PlannedAction::Change { .. })),
        "{plan:?}"
    );
    let third = present_input(1, 3, &newer, asked);
    agent.engine.set_desired(vec![third.clone()]);
    agent.until_operational(&third.desired).await;
    assert_eq!(short_name(&cluster), "wid");

    // A revision without it, and the removal, leave it.
    let without = present_input(1, 4, &bundle(vec![config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![without.clone()]);
    agent.until_operational(&without.desired).await;
    let again = present_input(1, 5, &newer, Policies::default());
    agent.engine.set_desired(vec![again.clone()]);
    agent.until_operational(&again.desired).await;
    agent.engine.set_desired(vec![absent_input(1, 6, DeletionPolicy::Foreground)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    let left = cluster.get(CRD, ("", "widgets.example.com")).unwrap();
    assert_eq!(left["metadata"]["labels"].get("flotilla.dev/release"), None, "it is released");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_g413_an_object_that_is_annotated_keep_is_left_on_the_cluster_without_marks_of_ownership() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let with = present_input(1, 1, &bundle(vec![config_map("a", "1"), kept_secret()]), Policies::default());
    agent.engine.set_desired(vec![with.clone()]);
    agent.until_operational(&with.desired).await;

    let without = bundle(vec![config_map("a", "1")]);
    let plan = agent
        .engine
        .dry_run("shop1", Some(release_id(1)), &present_phase(Policies::default()), &without)
        .await;
    let secret = plan.objects.iter().find(|change| change.object.kind == "Secret").unwrap();
    assert_eq!(secret.action, PlannedAction::Orphan);
    assert_eq!(
        plan.findings[0].message,
        "Secret default/root is left on the cluster: helm.sh/resource-policy."
    );
    let pruned = present_input(1, 2, &without, Policies::default());
    agent.engine.set_desired(vec![pruned.clone()]);
    let report = agent.until_operational(&pruned.desired).await;
    let Some(StageState::Skipped { message }) = stage_state(&report, StageName::Pruned) else {
        panic!("{report:?}")
    };
    assert_eq!(message, "Secret default/root is left on the cluster: helm.sh/resource-policy.");
    let marks = |secret: &Value| {
        let metadata = &secret["metadata"];
        [
            metadata["labels"].get("flotilla.dev/release").cloned(),
            metadata["annotations"].get("flotilla.dev/hash").cloned(),
        ]
    };
    assert_eq!(marks(&cluster.get(SECRET, ("default", "root")).unwrap()), [None, None]);

    // The same on removal.
    let again = present_input(1, 3, &bundle(vec![config_map("a", "1"), kept_secret()]), Policies::default());
    agent.engine.set_desired(vec![again.clone()]);
    agent.until_operational(&again.desired).await;
    agent.engine.set_desired(vec![absent_input(1, 4, DeletionPolicy::Foreground)]);
    let report = agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert!(
        matches!(stage_state(&report, StageName::Pruned), Some(StageState::Skipped { .. })),
        "{report:?}"
    );
    assert_eq!(marks(&cluster.get(SECRET, ("default", "root")).unwrap()), [None, None]);
    assert!(cluster.get(CONFIG_MAP, ("default", "a")).is_none());
    agent.stop().await;
}
