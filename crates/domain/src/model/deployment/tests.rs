//! The rules of deployments: bodies of requests, values and names.

use serde_json::json;

use super::*;
use crate::kubernetes::id::{OverrideId, ReleaseId, WorkloadId};
use crate::model::chart::ChartSource;
use crate::model::cluster::Connectivity;
use crate::model::health::Health;
use crate::model::policy::{DeletionPolicy, Policies};
use crate::model::release::stage::StageReason;
use crate::model::release::{Reason, RenderOutcome, StageName, StageState, SyncStatus};
use crate::model::report::{ReleaseReport, StageReport};
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
fn p19_many_reused_values_are_merged_without_an_edit_for_each() {
    let mut spec = spec("# two are enough\nreplicas: 2\n");
    let many: ChartValues = (0..10_000).map(|n| (format!("k{n}"), n.into())).collect();
    update(&mut spec, true, many.into(), json!({}));
    assert!(!common(&spec).contains("# two are enough"));
    let values = read_chart_values(common(&spec));
    assert_eq!((values.len(), &values["replicas"], &values["k9999"]), (10_001, &json!(2), &json!(9_999)));
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

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A release on an online cluster, to which the first revision was sent.
fn sent() -> Release {
    let (id, workload) = (ReleaseId::from_parts(1, 1), WorkloadId::from_parts(1, 1));
    let mut release = Release::new(id, workload, ClusterId::from_parts(1, 1), at(0));
    release.set_connectivity(Connectivity::Online, at(0));
    publish(&mut release, 1);
    release
}

fn publish(release: &mut Release, revision: u32) {
    let bundle = RenderOutcome::Bundle(Digest::compute(&[u8::try_from(revision).unwrap()]));
    release.set_desired_revision(revision, bundle, Policies::default(), at(i64::from(revision)));
}

/// The release after a report that the stages before this one are done, with this revision applied.
fn reported(mut release: Release, (stage, state): (StageName, StageState), applied: Option<u8>) -> Release {
    let is_earlier = |name: &StageName| name.is_reported_by_agent() && *name < stage;
    let done = StageName::ALL.iter().copied().filter(is_earlier);
    let done = done.map(|name| StageReport { name, state: StageState::Done });
    let report = ReleaseReport {
        release: release.id(),
        generation: release.generation(),
        applied: applied.map(|revision| Digest::compute(&[revision])),
        stages: done.chain([StageReport { name: stage, state }]).collect(),
        sync: SyncStatus::Applying,
        health: Health::new(HealthStatus::Progressing, "Starting", "Starting."),
        resources: Vec::new(),
        drift: Vec::new(),
        drift_omitted: 0,
        removed: false,
    };
    release.apply_report(&report, at(10)).unwrap();
    release
}

fn failed() -> StageState {
    StageState::Failed(StageReason::new(Reason::AdmissionRejected, "no"))
}

fn running() -> StageState {
    StageState::Running { message: String::new() }
}

fn deployed() -> Release {
    reported(sent(), (StageName::Applied, StageState::Done), Some(1))
}

fn upgraded() -> Release {
    let mut release = deployed();
    publish(&mut release, 2);
    release
}

fn removing() -> Release {
    let mut release = deployed();
    release.remove(DeletionPolicy::Foreground, "left", at(20));
    release
}

/// The release after a report that its objects are gone.
fn removed(mut release: Release) -> Release {
    let report = ReleaseReport {
        release: release.id(),
        generation: release.generation(),
        applied: None,
        stages: Vec::new(),
        sync: SyncStatus::Removed,
        health: Health::default(),
        resources: Vec::new(),
        drift: Vec::new(),
        drift_omitted: 0,
        removed: true,
    };
    release.apply_report(&report, at(40)).unwrap();
    release
}

#[test]
fn s1_20_each_state_of_a_release_has_its_status_word() {
    use DeploymentStatus as Status;
    let offline = |mut release: Release| {
        release.set_connectivity(Connectivity::Offline, at(30));
        release
    };
    let abandoned = |mut release: Release| {
        release.abandon(at(30));
        release
    };
    let pruned = (StageName::Pruned, failed());
    let (upgrade, rollback) = (DeliveryKind::Upgrade, DeliveryKind::Rollback { revision: 2 });
    let deletion = DeliveryKind::Deletion { revision: Some(1) };
    let table = [
        ("sent", sent(), upgrade, Status::NotInstalled),
        (
            "pulls the first",
            reported(sent(), (StageName::Pulled, running()), None),
            upgrade,
            Status::PendingInstall,
        ),
        (
            "rejects the first",
            reported(sent(), (StageName::Applied, failed()), None),
            upgrade,
            Status::Failed,
        ),
        ("applied", deployed(), upgrade, Status::Deployed),
        ("another is published", upgraded(), upgrade, Status::Stale),
        (
            "pulls another",
            reported(upgraded(), (StageName::Pulled, running()), Some(1)),
            upgrade,
            Status::PendingUpgrade,
        ),
        (
            "rejects another",
            reported(upgraded(), (StageName::Applied, failed()), Some(1)),
            upgrade,
            Status::Failed,
        ),
        ("offline and applied", offline(deployed()), upgrade, Status::Unknown),
        ("offline and removing", offline(removing()), deletion, Status::Unknown),
        ("left the group", removing(), upgrade, Status::Stale),
        ("the deployment is deleted", removing(), deletion, Status::Deleting),
        (
            "an earlier content is published again",
            reported(upgraded(), (StageName::Pulled, running()), Some(1)),
            rollback,
            Status::PendingRollback,
        ),
        ("the deletion has removed it", removed(removing()), deletion, Status::Deleted),
        ("the removal failed", reported(removing(), pruned, Some(1)), deletion, Status::Failed),
    ];
    for (name, release, kind, expected) in table {
        assert_eq!(DeploymentStatus::from_release(&release, kind), Some(expected), "{name}");
    }
    for forced in [abandoned(removing()), offline(abandoned(removing()))] {
        assert_eq!(DeploymentStatus::from_release(&forced, deletion), None, "it is not listed any more");
    }
    let earlier = DeliveryKind::Deletion { revision: Some(2) };
    assert_eq!(DeploymentStatus::from_release(&removed(removing()), earlier), None, "it left before");
}

#[test]
fn s1_10_s1_20_a_cluster_that_is_rolled_back_is_pending_and_then_failed_or_not_installed() {
    let status = |release: &Release| DeploymentStatus::from_release(release, DeliveryKind::Upgrade).unwrap();
    let mut upgraded = reported(upgraded(), (StageName::Applied, failed()), Some(1));
    assert!(upgraded.roll_back_failing(at(20)));
    assert_eq!(status(&upgraded), DeploymentStatus::PendingRollback);
    let back = reported(upgraded.clone(), (StageName::Applied, StageState::Done), Some(1));
    assert_eq!((status(&back), is_stale(&back)), (DeploymentStatus::Failed, true));
    assert_eq!(back.message(), "Revision 2 failed here, and it was rolled back to revision 1. no");
    let stuck = reported(upgraded, (StageName::Preflight, failed()), Some(1));
    assert_eq!(status(&stuck), DeploymentStatus::Failed, "the rollback fails too");

    let mut first = reported(sent(), (StageName::Applied, failed()), None);
    first.set_wave(Some(0));
    assert!(first.roll_back_failing(at(20)));
    assert_eq!(status(&first), DeploymentStatus::Deleting);
    let gone = removed(first);
    assert_eq!(status(&gone), DeploymentStatus::NotInstalled);
    assert!(gone.message().contains("its first installation was rolled back"), "{}", gone.message());
    let deletion = DeliveryKind::Deletion { revision: Some(2) };
    assert_eq!(DeploymentStatus::from_release(&gone, deletion), None);
}
