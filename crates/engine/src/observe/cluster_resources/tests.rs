//! What the lists of the cluster say about one object.

use serde_json::json;

use super::*;

#[test]
fn a_cordoned_or_unready_node_is_not_schedulable() {
    let node = |ready: &str, cordoned: bool| {
        json!({"spec": {"unschedulable": cordoned}, "status": {
            "allocatable": {"cpu": "3920m", "memory": "8Gi"},
            "nodeInfo": {"architecture": "arm64", "operatingSystem": "linux"},
            "conditions": [{"type": "Ready", "status": ready}]}})
    };
    let summary = NodeSummary::from_node(&node("True", false));
    assert!(summary.is_schedulable);
    assert_eq!(
        (&*summary.architecture, summary.cpu.to_string(), summary.memory.format_bytes()),
        ("arm64", "3920m".into(), "8 GiB".into())
    );
    assert!(
        !NodeSummary::from_node(&node("True", true)).is_schedulable
            && !NodeSummary::from_node(&node("Unknown", false)).is_schedulable
    );
}

#[test]
fn rows_are_unknown_until_listed_and_a_failed_list_removes_none() {
    let table = SummaryTable::<bool>::default();
    assert_eq!(table.rows(), None);
    let class = json!({"metadata": {"name": "fast"}});
    assert!(table.handle_event(WatcherEvent::Listed(vec![class.clone()], 1), |_| Some(true)));
    assert!(
        !table.handle_event(WatcherEvent::Upserted(class.clone()), |_| Some(true)),
        "an equal row is no change"
    );
    assert!(
        !table
            .handle_event(WatcherEvent::Failing(crate::error::Error::PermissionDenied("no".into())), |_| {
                Some(true)
            })
    );
    assert_eq!(table.rows().map(|rows| rows.len()), Some(1));
    assert!(table.handle_event(WatcherEvent::Deleted(class), |_| Some(true)));
    assert_eq!(table.rows(), Some(Vec::new()));
}

#[test]
fn p13_an_autoscaler_that_is_pruned_scales_nothing_unless_it_is_retained() {
    let resources = ClusterResources::default();
    let list = |annotations: Value| {
        let scaler = json!({"metadata": {"namespace": "web", "name": "scale", "uid": "own", "annotations": annotations,
            "ownerReferences": [{"uid": "scaled-object"}]},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}});
        resources.scale_targets.handle_event(WatcherEvent::Listed(vec![scaler], 1), |scaler| {
            Some(ScaleTarget::from_scaler(scaler))
        });
    };
    let object = ObjectRef {
        kind: "Deployment".into(),
        namespace: "web".into(),
        name: "web".into(),
        ..ObjectRef::default()
    };
    let is_autoscaled =
        |dropped: &str| resources.is_autoscaled(&object, &HashSet::from([dropped.to_owned()]));
    list(json!({}));
    assert!(is_autoscaled("another"));
    assert!(!is_autoscaled("own") && !is_autoscaled("scaled-object"));
    list(json!({"helm.sh/resource-policy": "keep"}));
    assert!(is_autoscaled("own"));
}

#[test]
fn g205_only_service_accounts_with_pull_secrets_are_cached() {
    let table = SummaryTable::<()>::default();
    let account =
        |secrets: Value| json!({"metadata": {"namespace": "web", "name": "a"}, "imagePullSecrets": secrets});
    assert!(
        table.handle_event(WatcherEvent::Listed(vec![account(json!([]))], 1), pull_account),
        "the first list is a change even if empty"
    );
    assert!(!table.handle_event(WatcherEvent::Upserted(account(json!(null))), pull_account));
    assert!(table.handle_event(WatcherEvent::Upserted(account(json!([{"name": "reg"}]))), pull_account));
    assert_eq!(table.rows(), Some(vec![(("web".to_owned(), "a".to_owned()), ())]));
    assert!(
        table.handle_event(WatcherEvent::Upserted(account(json!([]))), pull_account),
        "its pull secret was removed"
    );
    assert_eq!(table.rows(), Some(Vec::new()));
}
