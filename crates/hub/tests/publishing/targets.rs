//! Which clusters get a workload, and which lose it.

use domain::cluster::{Taint, TaintEffect};
use domain::overrides::{ClusterSelector, Patch, PatchOp};
use domain::page::ListQuery;
use domain::placement::{ClusterGroup, GroupMembersChange, Placement, Predicate, Remedy, RemovalWait};
use domain::release::ReleaseState;
use domain::report::DesiredPhase;
use domain::request::{ClusterPatch, OverridePut};
use hub::{Error, GroupCandidateQuery, OverrideChange, PublishContent, PublishOptions};
use serde_json::json;

use crate::release_state;
use crate::test_hub::{TestAgent, TestHub, by_label, everywhere, wait_until};

pub(crate) async fn relabel(test: &TestHub, cluster: &str, env: Option<&str>) {
    let labels = [("env".to_owned(), env.map(str::to_owned))].into();
    let edit = ClusterPatch { labels, ..ClusterPatch::default() };
    test.hub.edit_cluster(&test.actor, cluster, edit, None).await.unwrap();
}

async fn release_count(test: &TestHub) -> usize {
    test.hub.list_releases("web", &ListQuery::default()).await.unwrap().items.len()
}

pub(crate) async fn wait_for_event(test: &TestHub, expected: &str) {
    wait_until(expected, async || {
        test.event_messages().await.iter().any(|message| message.contains(expected))
    })
    .await;
}

/// Waits until the latest decision has pending removals on exactly these clusters.
pub(crate) async fn wait_for_pending_removals(test: &TestHub, names: &[&str]) {
    wait_until(&format!("pending removals on {names:?}"), async || {
        let leaving = test.hub.get_placement_decision("web").await.unwrap().pending_removals;
        leaving.iter().map(|one| &*one.name).eq(names.iter().copied())
    })
    .await;
}

/// The pending removals are stored apart from the decision, so they don't tell that it was recorded again.
async fn wait_for_decision(test: &TestHub) {
    wait_until("the decision is recorded again", async || {
        test.hub.get_placement_decision("web").await.unwrap().decided_at.is_some()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_9_a_cluster_that_joins_later_gets_a_workload_with_the_next_publish_and_never_by_sync() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    test.publish_new("web", by_label("env=prod")).await;
    east.wait_for_release().await;
    let mut west = test.register_cluster("west", &[("env", "prod")]).await;
    assert_eq!(test.hub.sync_workload(&test.actor, "web", &[]).await.unwrap(), 1);
    wait_for_event(&test, "web is placed on 1 of 2 clusters").await;
    assert_eq!(release_count(&test).await, 1);
    let decision = test.hub.get_placement_decision("web").await.unwrap();
    let rejected = decision.rejected().next().unwrap();
    assert_eq!(rejected.failed_filter().unwrap().remedy, Some(Remedy::Publish));
    test.publish("web").await;
    west.wait_for_release().await;
    assert_eq!(release_count(&test).await, 2);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_13_s1_21_a_sync_of_some_clusters_has_an_outcome_for_those_alone() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    let mut west = test.register_cluster("west", &[("env", "prod")]).await;
    test.publish_new("web", by_label("env=prod")).await;
    east.apply_release().await;
    west.apply_release().await;
    // Operations are listed by time.
    test.advance_clock(1);
    let requested = test.hub.sync_workload(&test.actor, "web", &["east".to_owned()]).await.unwrap();
    let query = domain::page::ListQuery::default();
    let latest = test.hub.list_operations("web", &query).await.unwrap().items.remove(0);
    assert_eq!((requested, latest.kind.as_str(), latest.counts.total()), (1, "sync", 1));
    let view = test.hub.get_operation(latest.id).await.unwrap();
    let names: Vec<&str> = view.target_clusters.iter().map(|one| one.cluster_name.as_str()).collect();
    assert_eq!(names, ["east"]);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_6_a_workload_is_removed_from_a_cluster_that_no_longer_matches_only_after_its_notice() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    test.publish_new("web", by_label("env=prod")).await;
    east.apply_release().await;
    relabel(&test, "east", Some("dev")).await;
    wait_for_event(&test, "web no longer matches east and will be removed in 15 minutes").await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Healthy);
    wait_for_pending_removals(&test, &["east"]).await;

    // Undone within the notice, nothing is removed.
    test.advance_clock(600);
    relabel(&test, "east", Some("prod")).await;
    wait_for_pending_removals(&test, &[]).await;

    relabel(&test, "east", Some("dev")).await;
    wait_for_pending_removals(&test, &["east"]).await;
    test.advance_clock(901);
    // Triggers a pass of the placer, instead of waiting for the next full pass.
    test.run_placer_after_heartbeats(&[east.id]).await;
    let leave = east.wait_for_removal().await;
    assert!(test.hub.get_release("web", "east").await.unwrap().message.contains("found env=dev"));
    east.report_applied(&leave).await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Removed);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_6_a_cancelled_removal_keeps_the_workload_until_the_next_publish() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    let mut west = test.register_cluster("west", &[("env", "prod")]).await;
    test.publish_new("web", by_label("env=prod")).await;
    east.apply_release().await;
    west.apply_release().await;
    let keep = async |clusters: &[&str]| {
        let clusters: Vec<String> = clusters.iter().map(|&name| name.to_owned()).collect();
        test.hub.retain_workload(&test.actor, "web", &clusters).await
    };
    let rejected = keep(&["east"]).await.unwrap_err().to_string();
    assert_eq!(rejected, "web is not about to be removed from east.");
    assert_eq!(keep(&[]).await.unwrap_err().to_string(), "web is not about to be removed from any cluster.");

    relabel(&test, "east", Some("dev")).await;
    wait_for_pending_removals(&test, &["east"]).await;
    assert_eq!(keep(&["east"]).await.unwrap(), ["east"]);
    wait_for_event(&test, "The removal of web from east was cancelled until the next publish").await;
    assert_eq!(keep(&["east"]).await.unwrap(), [""; 0], "already cancelled");

    // After its notice, and with a second pending removal: the cancelled one does not count towards the limit.
    test.advance_clock(901);
    test.hub.record_heartbeat(east.id).await.unwrap();
    relabel(&test, "west", Some("dev")).await;
    wait_for_pending_removals(&test, &["east", "west"]).await;
    test.advance_clock(901);
    test.run_placer_after_heartbeats(&[west.id]).await;
    let leave = west.wait_for_removal().await;
    west.report_applied(&leave).await;
    assert_eq!(release_state(&test, "web", "west").await, ReleaseState::Removed);
    assert!(test.hub.get_release("web", "east").await.unwrap().release.is_present());

    // A publish overrides the cancelled removal.
    relabel(&test, "west", Some("prod")).await;
    let terms = PublishOptions { confirmed_removals: Some(1), ..PublishOptions::default() };
    test.hub.publish_workload(&test.actor, "web", "", terms).await.unwrap();
    let desired = west.wait_for_release().await;
    west.report_applied(&desired).await;
    east.wait_for_removal().await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_6_a_preview_names_the_workloads_that_would_leave_a_cluster_and_changes_nothing() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    test.register_cluster("west", &[("env", "prod")]).await;
    test.publish_new("web", by_label("env=prod")).await;
    test.publish_new("everywhere", everywhere()).await;
    east.wait_for_desired_state(|desired| desired.releases.len() == 2).await;
    let preview = async |patch: ClusterPatch| {
        let preview = test.hub.preview_cluster_edit("east", patch).await.unwrap();
        assert_eq!(preview.findings, []);
        preview.leaving
    };
    let label = |value: Option<&str>| ClusterPatch {
        labels: [("env".to_owned(), value.map(str::to_owned))].into(),
        ..ClusterPatch::default()
    };
    let taint = |effect| ClusterPatch {
        taints: Some(vec![Taint { key: "gpu".into(), value: String::new(), effect }]),
        ..ClusterPatch::default()
    };
    assert_eq!(preview(label(None)).await, ["web"]);
    assert_eq!(preview(label(Some("dev"))).await, ["web"]);
    assert_eq!(preview(label(Some("prod"))).await, [""; 0]);
    assert_eq!(preview(taint(TaintEffect::NoSelect)).await, ["everywhere", "web"]);
    assert_eq!(preview(taint(TaintEffect::NoSelectIfNew)).await, [""; 0]);
    let cordon = ClusterPatch { schedulable: Some(false), ..ClusterPatch::default() };
    assert_eq!(preview(cordon).await, [""; 0]);
    let missing = test.hub.preview_cluster_edit("north", label(None)).await.unwrap_err();
    assert_eq!(missing.to_string(), "There is no cluster \"north\".");
    let invalid = test.hub.preview_cluster_edit("east", label(Some("no spaces"))).await.unwrap();
    assert_eq!(invalid.findings[0].code, "G215");
    assert_eq!(test.hub.list_cluster_workloads("east").await.unwrap(), ["everywhere", "web"]);

    let pending = async || {
        let details = test.hub.get_cluster_details("east", &ListQuery::default()).await.unwrap();
        assert_eq!(details.summary.cluster.labels.contains_key("env"), details.pending_removals.is_empty());
        details.pending_removals.len()
    };
    assert_eq!(pending().await, 0, "a preview changes nothing");
    relabel(&test, "east", None).await;
    wait_for_pending_removals(&test, &["east"]).await;
    assert_eq!(pending().await, 1);
    assert_eq!(preview(taint(TaintEffect::NoSelect)).await, ["everywhere"], "web leaves already");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_details_of_a_cluster_have_the_first_of_its_groups_and_their_number() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[("env", "prod")]).await;
    let group = |name: &str, members: &[&str], selector: Option<&str>| ClusterGroup {
        name: name.to_owned(),
        members: members.iter().map(|member| (*member).to_owned()).collect(),
        selector: selector.map(|text| text.parse().unwrap()),
        locked_values: "tls: {enabled: true}".to_owned(),
        ..ClusterGroup::default()
    };
    let create = async |group: ClusterGroup| test.hub.create_group(&test.actor, group).await.unwrap();
    let list = async || {
        let details = test.hub.get_cluster_details("east", &ListQuery::default()).await.unwrap();
        (details.groups, details.groups_total)
    };
    assert_eq!(list().await, (Vec::new(), 0));
    create(group("prod", &[], Some("env=prod"))).await;
    create(group("dev", &[], Some("env=dev"))).await;
    create(group("named", &["west", "east"], None)).await;
    assert_eq!(list().await, (vec!["named".to_owned(), "prod".to_owned()], 2));
    for n in 0..60 {
        create(group(&format!("more-{n}"), &["east"], None)).await;
    }
    let (names, total) = list().await;
    assert_eq!((names.len(), total), (50, 62));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g502_previews_of_labels_and_of_members_announce_what_exclusive_groups_reject() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[("env", "prod")]).await;
    test.register_cluster("west", &[("env", "dev")]).await;
    let group = |name: &str, selector: &str, exclusive: bool| ClusterGroup {
        name: name.to_owned(),
        selector: Some(selector.parse().unwrap()),
        exclusive,
        ..ClusterGroup::default()
    };
    let prod = test.hub.create_group(&test.actor, group("prod", "env=prod", false)).await.unwrap();
    test.hub.create_group(&test.actor, group("edge", "tier=edge", true)).await.unwrap();
    let label = |key: &str, value: &str| ClusterPatch {
        labels: [(key.to_owned(), Some(value.to_owned()))].into(),
        ..ClusterPatch::default()
    };
    // A preview has the findings with which the edit is rejected.
    for (cluster, patch, is_rejected) in [
        ("east", label("tier", "edge"), true),
        ("east", label("tier", "core"), false),
        ("west", label("tier", "edge"), false),
        ("east", label("not a key", "x"), true),
    ] {
        let findings = test.hub.preview_cluster_edit(cluster, patch.clone()).await.unwrap().findings;
        assert_eq!(!findings.is_empty(), is_rejected, "{patch:?}: {findings:?}");
        match test.hub.edit_cluster(&test.actor, cluster, patch.clone(), None).await {
            Ok(_) => assert!(!is_rejected, "{patch:?}"),
            Err(Error::Invalid(rejected)) => assert_eq!(findings, rejected),
            Err(other) => panic!("{other}"),
        }
    }
    // West is in the group edge now.
    let by_name = GroupMembersChange { add: vec!["west".into()], ..GroupMembersChange::default() };
    let preview = test.hub.preview_group_members("prod", &by_name).await.unwrap();
    assert_eq!((preview.joining, preview.findings.len()), (vec!["west".to_owned()], 1));
    assert!(preview.findings[0].message.contains("edge has west"), "{:?}", preview.findings);
    let rejected = test.hub.change_group_members(&test.actor, "prod", &by_name, prod.revision).await;
    assert!(matches!(rejected, Err(Error::Invalid(findings)) if findings == preview.findings));
    let none = GroupMembersChange { add: vec!["north".into()], ..GroupMembersChange::default() };
    assert_eq!(test.hub.preview_group_members("prod", &none).await.unwrap().findings, []);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_1_a_preview_of_a_group_names_what_joins_and_leaves_and_the_members_come_first_in_the_list() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    test.register_cluster("north", &[("env", "dev")]).await;
    test.register_cluster("west", &[("env", "dev")]).await;
    let members = vec!["west".to_owned(), "east".to_owned()];
    let group = ClusterGroup { name: "edge".into(), members, ..ClusterGroup::default() };
    let group = test.hub.create_group(&test.actor, group).await.unwrap();
    let edge = Predicate { groups: vec!["edge".into()], ..Predicate::default() };
    test.publish_new("web", Placement { predicates: vec![edge], ..Placement::default() }).await;
    east.wait_for_release().await;

    let list = async |q: &str, cursor: Option<String>| {
        let query = GroupCandidateQuery { group: "edge".into(), q: q.into(), cursor, limit: Some(2) };
        test.hub.list_group_candidates(&query).await.unwrap()
    };
    let page = list("", None).await;
    let names: Vec<&str> = page.items.iter().map(|one| &*one.name).collect();
    assert_eq!((names, page.total), (vec!["east", "west"], 3), "members first");
    let rest = list("", page.next).await;
    assert_eq!((&*rest.items[0].name, rest.next), ("north", None));
    let found = list("env=prod", None).await;
    assert_eq!((&*found.items[0].name, found.total), ("east", 1));

    let change = GroupMembersChange {
        add: vec!["north".into()],
        remove: vec!["east".into()],
        ..GroupMembersChange::default()
    };
    let preview = test.hub.preview_group_members("edge", &change).await.unwrap();
    assert_eq!((preview.members, preview.members_after), (2, 2));
    assert_eq!((preview.joining, preview.leaving), (vec!["north".to_owned()], vec!["east".to_owned()]));
    let effect = &preview.workloads[0];
    assert_eq!(
        (&*effect.workload, &*effect.losing, &*effect.gaining),
        ("web", &["east".to_owned()][..], &["north".to_owned()][..])
    );
    assert_eq!(test.hub.get_group("edge").await.unwrap(), group, "a preview changes nothing");
    let by_label = GroupMembersChange { selector: Some("env=prod".into()), ..change.clone() };
    let preview = test.hub.preview_group_members("edge", &by_label).await.unwrap();
    assert!(preview.workloads[0].losing.is_empty(), "east stays by its label");

    test.hub.change_group_members(&test.actor, "edge", &change, group.revision).await.unwrap();
    wait_for_pending_removals(&test, &["east"]).await;
    let late = test.hub.change_group_members(&test.actor, "edge", &change, group.revision).await;
    assert!(matches!(late, Err(hub::Error::RevisionConflict { .. })), "it was changed meanwhile");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_6_a_retained_workload_stays_after_its_decision_was_deleted_and_computed_again() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    let mut west = test.register_cluster("west", &[("env", "prod")]).await;
    test.publish_new("web", by_label("env=prod")).await;
    for agent in [&mut east, &mut west] {
        agent.apply_release().await;
    }
    relabel(&test, "east", Some("dev")).await;
    wait_for_pending_removals(&test, &["east"]).await;
    test.hub.retain_workload(&test.actor, "web", &[]).await.unwrap();
    test.advance_clock(901);
    test.execute_sql("DELETE FROM decision").await;
    test.run_placer().await;
    wait_for_decision(&test).await;
    wait_for_pending_removals(&test, &["east"]).await;
    let decision = test.hub.get_placement_decision("web").await.unwrap();
    assert_eq!(decision.pending_removals[0].retained_by.as_ref(), Some(&test.actor.name));
    assert!(test.hub.get_release("web", "east").await.unwrap().release.is_present());
    // The next publish supersedes it, also after the decision was computed again.
    let terms = PublishOptions { confirmed_removals: Some(1), ..PublishOptions::default() };
    test.hub.publish_workload(&test.actor, "web", "", terms).await.unwrap();
    east.wait_for_removal().await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_6_a_removal_notice_continues_after_its_decision_was_deleted_and_computed_again() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    let mut west = test.register_cluster("west", &[("env", "prod")]).await;
    test.publish_new("web", by_label("env=prod")).await;
    for agent in [&mut east, &mut west] {
        agent.apply_release().await;
    }
    relabel(&test, "east", Some("dev")).await;
    wait_for_pending_removals(&test, &["east"]).await;
    let before = test.hub.get_workload_details("web").await.unwrap().pending_removals;
    test.advance_clock(600);
    test.execute_sql("DELETE FROM decision").await;
    test.run_placer().await;
    wait_for_decision(&test).await;
    assert_eq!(
        test.hub.get_workload_details("web").await.unwrap().pending_removals,
        before,
        "the notice is neither lost nor extended"
    );
    assert!(test.hub.get_release("web", "east").await.unwrap().release.is_present());
    test.advance_clock(300);
    test.run_placer_after_heartbeats(&[east.id]).await;
    east.wait_for_removal().await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e6_a_fleet_change_that_excludes_many_clusters_at_once_removes_nothing_without_a_publish() {
    let test = TestHub::open().await;
    let mut agents: Vec<TestAgent> = Vec::new();
    for name in ["a", "b", "c"] {
        agents.push(test.register_cluster(name, &[("env", "prod")]).await);
    }
    let group = |members: &[&str]| ClusterGroup {
        name: "shops".into(),
        members: members.iter().map(|name| (*name).to_owned()).collect(),
        ..ClusterGroup::default()
    };
    test.hub.save_group(&test.actor, group(&["a", "b", "c"]), None).await.unwrap();
    let of_group = Predicate { groups: vec!["shops".into()], ..Predicate::default() };
    test.publish_new("web", Placement { predicates: vec![of_group], ..Placement::default() }).await;
    for agent in &mut agents {
        agent.apply_release().await;
    }
    test.hub.save_group(&test.actor, group(&[]), None).await.unwrap();
    wait_for_event(&test, "web no longer matches 3 clusters at once. Nothing was removed").await;
    for name in ["a", "b", "c"] {
        assert_eq!(release_state(&test, "web", name).await, ReleaseState::Healthy);
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_override_published_on_save_changes_only_its_target_clusters() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let mut west = test.register_cluster("west", &[]).await;
    test.publish_new("web", everywhere()).await;
    for agent in [&mut east, &mut west] {
        agent.apply_release().await;
    }
    let before = test.hub.get_release("web", "west").await.unwrap().release.generation();
    let content = OverridePut {
        target: ClusterSelector { clusters: vec!["east".into()], ..ClusterSelector::default() },
        priority: 500,
        values: String::new(),
        patches: vec![Patch {
            object: Default::default(),
            op: PatchOp::Set { path: "/data/colour".into(), value: json!("green") },
        }],
    };
    let change = OverrideChange::Save { name: "east-colour".into(), content };
    let options = PublishOptions { content: PublishContent::Override(change), ..PublishOptions::default() };
    test.hub.publish_workload(&test.actor, "web", "", options).await.unwrap();
    let desired = east
        .wait_for_desired_state(|desired_state| desired_state.releases[0].generation > 1)
        .await
        .releases
        .remove(0);
    let DesiredPhase::Present { bundle, revision, .. } = &desired.phase else { panic!() };
    assert_eq!(*revision, 2);
    let bytes = test.hub.get_bundle(east.id, desired.release, bundle).await.unwrap();
    assert!(String::from_utf8(bytes).unwrap().contains("green"));
    east.report_applied(&desired).await;
    let west_after = test.hub.get_release("web", "west").await.unwrap();
    assert_eq!((west_after.release.generation(), west_after.state), (before, ReleaseState::Healthy));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p28_a_publish_that_moves_a_workload_adds_it_before_it_removes_it() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "blue")]).await;
    let mut west = test.register_cluster("west", &[("env", "green")]).await;
    test.create_draft("web", by_label("env=blue")).await;
    test.publish("web").await;
    let desired = east.wait_for_release().await;
    east.report_applied(&desired).await;

    let mut spec = test.hub.get_workload("web").await.unwrap().workload.draft;
    spec.placement = by_label("env=green");
    let edit = hub::WorkloadEdit { spec: Some(spec), ..hub::WorkloadEdit::default() };
    test.hub.edit_workload(&test.actor, "web", edit, None).await.unwrap();
    let options = PublishOptions { confirmed_removals: Some(1), ..PublishOptions::default() };
    test.hub.publish_workload(&test.actor, "web", "", options).await.unwrap();
    let desired = west.wait_for_release().await;
    wait_for_pending_removals(&test, &["east"]).await;
    let waiting = test.hub.get_workload_details("web").await.unwrap().pending_removals.remove(0);
    assert_eq!((waiting.is_requested, waiting.waiting_for), (true, Some(RemovalWait::Replacement)));
    // Further passes change nothing while the replacement is not operational.
    test.run_placer().await;
    wait_for_pending_removals(&test, &["east"]).await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Healthy);

    west.report_applied(&desired).await;
    let leave = east
        .wait_for_desired_state(|desired| matches!(desired.releases[0].phase, DesiredPhase::Absent { .. }))
        .await;
    east.report_applied(&leave.releases[0]).await;
    assert_eq!(release_state(&test, "web", "east").await, ReleaseState::Removed);
    wait_for_pending_removals(&test, &[]).await;
    test.close().await;
}
