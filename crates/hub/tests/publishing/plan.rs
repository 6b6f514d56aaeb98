//! Plans: dry runs of a publish, and a publish bound to the reviewed plan (E-2, E-6).

use domain::object::ObjectRef;
use domain::placement::Placement;
use domain::plan::{ClusterPlan, DryRunState, FieldChange, Plan, PlannedAction, PlannedChange, TargetChange};
use domain::report::DesiredPhase;
use domain::workload::PublishValidation;
use domain::{Digest, Finding};
use hub::{Error, PublishOptions};

use crate::test_hub::{TestAgent, TestHub, WAIT_TIMEOUT, by_label, everywhere, source};

fn object_ref() -> ObjectRef {
    ObjectRef {
        version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: "shop".into(),
        name: "web".into(),
        ..ObjectRef::default()
    }
}

fn cluster_plan(outcome: PlannedAction) -> ClusterPlan {
    ClusterPlan::from_changes(vec![PlannedChange::verified(object_ref(), outcome)])
}

async fn create_plan(test: &TestHub) -> Plan {
    test.hub.create_plan(&test.actor, "web", &PublishOptions::default()).await.unwrap()
}

/// Answers the next dry-run request of this agent; returns its goal.
async fn answer_dry_run(agent: &mut TestAgent, outcome: PlannedAction) -> DesiredPhase {
    let requests = agent
        .wait_for_desired_state(|desired_state| !desired_state.dry_run_requests.is_empty())
        .await
        .dry_run_requests;
    let request = &requests[0];
    if let DesiredPhase::Present { bundle, .. } = &request.desired_phase {
        let bytes = agent.hub().get_planned_bundle(agent.id, request.plan, bundle).await.unwrap();
        assert_eq!(Digest::compute(&bytes), *bundle);
    }
    agent.hub().record_dry_run_result(agent.id, request.plan, cluster_plan(outcome)).await.unwrap();
    request.desired_phase.clone()
}

async fn wait_for_plan(test: &TestHub, plan: &Plan) -> Plan {
    let plan = test.hub.wait_for_plan(plan.id, WAIT_TIMEOUT).await.unwrap();
    assert!(plan.is_complete(), "{plan:#?}");
    plan
}

async fn publish(test: &TestHub, terms: PublishOptions) -> Result<u32, Error> {
    test.hub.publish_workload(&test.actor, "web", "", terms).await.map(|published| published.revision)
}

fn options_for(plan: &Plan) -> PublishOptions {
    PublishOptions { plan_hash: Some(plan.hash.clone()), ..PublishOptions::default() }
}

fn is_stale(result: Result<u32, Error>) -> bool {
    matches!(result, Err(Error::PlanStale(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_a_plan_requests_a_dry_run_from_every_agent_and_groups_equal_results() {
    let test = TestHub::open().await;
    let (mut east, mut west) =
        (test.register_cluster("east", &[]).await, test.register_cluster("west", &[]).await);
    test.create_draft("web", everywhere()).await;
    let created = create_plan(&test).await;
    assert_eq!(created.dry_run_counts(), (0, 0, 2));
    answer_dry_run(&mut east, PlannedAction::Create).await;
    answer_dry_run(&mut west, PlannedAction::Create).await;
    let complete = wait_for_plan(&test, &created).await;
    assert_eq!(complete.dry_run_counts(), (2, 0, 0));
    let groups = complete.groups();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].clusters, ["east", "west"]);
    assert_eq!(groups[0].counts.create, 1);
    assert_eq!(publish(&test, options_for(&complete)).await.unwrap(), 1);
    east.wait_for_release().await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g404_a_rejection_by_one_cluster_is_a_finding_that_blocks_the_publish_of_the_plan() {
    let test = TestHub::open().await;
    let (mut east, mut west) =
        (test.register_cluster("east", &[]).await, test.register_cluster("west", &[]).await);
    test.create_draft("web", everywhere()).await;
    let created = create_plan(&test).await;
    let finding = Finding::error("G404", "ConfigMap shop/web was rejected.", "Change it.");
    answer_dry_run(&mut east, PlannedAction::Create).await;
    answer_dry_run(&mut west, PlannedAction::Rejected { finding }).await;
    let complete = wait_for_plan(&test, &created).await;
    let found = complete.findings.iter().find(|finding| finding.code == "G404").unwrap();
    assert_eq!(found.clusters, ["west"]);
    assert_eq!(complete.groups()[0].clusters, ["west"], "rejections come first");
    assert!(matches!(publish(&test, options_for(&complete)).await, Err(Error::PlanRejected { .. })));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b16_what_a_cluster_rejected_in_the_plan_is_rejected_by_a_publish_that_names_no_plan() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    let created = create_plan(&test).await;
    let finding = Finding::error("G409", "ConfigMap shop/web belongs to workload \"api\".", "Rename it.");
    answer_dry_run(&mut east, PlannedAction::Rejected { finding }).await;
    wait_for_plan(&test, &created).await;
    test.advance_clock(120);
    let Err(Error::PlanRejected { message, findings }) = publish(&test, PublishOptions::default()).await
    else {
        panic!("the publish is rejected")
    };
    assert_eq!(findings[0].code, "G409");
    assert!(message.starts_with("The plan of 2 min ago was rejected: G409."), "{message}");
    let force = |codes: &[&str]| PublishOptions {
        force: codes.iter().map(|code| (*code).to_owned()).collect(),
        ..PublishOptions::default()
    };
    let other = publish(&test, force(&["G406"])).await;
    assert!(matches!(other, Err(Error::PlanRejected { .. })), "only the named codes are forced: {other:?}");
    for (code, expected) in [
        ("G49", "There is no code \"G49\" to force."),
        ("G505", "G505 (Unconfirmed removal) can't be forced"),
    ] {
        let Err(Error::Invalid(findings)) = publish(&test, force(&["G409", code])).await else {
            panic!("{code}")
        };
        assert!(findings[0].message.starts_with(expected), "{findings:?}");
        assert!(findings[0].hint.contains("G406, G407, G409"), "{findings:?}");
    }
    assert_eq!(publish(&test, force(&["G409"])).await.unwrap(), 1);
    let log = test.event_messages().await;
    assert!(
        log.iter().any(|message| message == "web revision 1 was published; G409 was forced."),
        "{log:#?}"
    );
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b16_a_plan_of_other_changes_rejects_no_publish_and_validates_none() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    let publish_unplanned =
        async || test.hub.publish_workload(&test.actor, "web", "", PublishOptions::default()).await.unwrap();
    let rejected = create_plan(&test).await;
    let finding = Finding::error("G409", "ConfigMap shop/web belongs to workload \"api\".", "Rename it.");
    answer_dry_run(&mut east, PlannedAction::Rejected { finding }).await;
    wait_for_plan(&test, &rejected).await;
    let other_source = source("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n");
    test.edit_draft("web", |spec| spec.source = other_source).await;
    let published = publish_unplanned().await;
    assert_eq!((published.validation, published.unchanged_since), (PublishValidation::NotPlanned, None));
    east.wait_for_release().await;
    let planned = create_plan(&test).await;
    answer_dry_run(&mut east, PlannedAction::Unchanged).await;
    assert!(wait_for_plan(&test, &planned).await.no_op);
    let published = publish_unplanned().await;
    let validation = PublishValidation::Planned { validated: 1, no_op: true, forced: Vec::new() };
    assert_eq!((published.validation, published.unchanged_since), (validation, Some(1)));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_whose_released_bundle_can_not_be_read_has_an_error_in_the_plan_instead_of_changes() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    let mut west = test.register_cluster("west", &[("env", "prod")]).await;
    test.publish_new("web", by_label("env=prod")).await;
    for agent in [&mut east, &mut west] {
        agent.apply_release().await;
    }
    test.edit_draft("web", |spec| spec.placement = by_label("env=prod,zone!=b")).await;
    test.register_cluster("north", &[("env", "prod")]).await;
    crate::targets::relabel(&test, "west", Some("dev")).await;
    for (statement, expected) in [
        ("UPDATE artifact SET body = CAST('[1' AS BLOB)", "that it received last can't be read"),
        ("DELETE FROM artifact", "its bytes are not stored"),
    ] {
        test.execute_sql(statement).await;
        let plan = create_plan(&test).await;
        assert!(plan.has_changes(), "unknown is not unchanged");
        for name in ["east", "west"] {
            let target = plan.targets.iter().find(|target| target.name == name).unwrap();
            let DryRunState::NotRendered { message } = &target.dry_run else { panic!("{target:?}") };
            assert!(message.starts_with("Can't be planned: ") && message.contains(expected), "{message}");
            assert_eq!(target.cluster_plan, None, "{name}");
        }
        let north = plan.targets.iter().find(|target| target.name == "north").unwrap();
        assert_eq!(plan.cluster_plans[north.cluster_plan.as_ref().unwrap()].counts().create, 1);
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_an_offline_cluster_is_reported_and_does_not_block_the_plan() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let west = test
        .hub
        .register_cluster(&test.actor, hub::NewCluster::new("west", domain::cluster::ClusterKind::Simulated));
    west.await.unwrap();
    test.create_draft("web", everywhere()).await;
    let created = create_plan(&test).await;
    answer_dry_run(&mut east, PlannedAction::Create).await;
    let complete = wait_for_plan(&test, &created).await;
    let west = complete.targets.iter().find(|target| target.name == "west").unwrap();
    assert!(
        matches!(&west.dry_run, DryRunState::NotRequested { message } if message.contains("offline")),
        "{west:?}"
    );
    let expected = &complete.cluster_plans[west.cluster_plan.as_ref().unwrap()];
    assert_eq!(expected.counts().create, 1, "its expected changes are shown");
    assert_eq!(expected.counts().unverified, 1);
    assert_eq!(publish(&test, options_for(&complete)).await.unwrap(), 1);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_a_plan_does_not_wait_longer_than_20_seconds_for_an_agent() {
    let test = TestHub::open().await;
    let _east = test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    let created = create_plan(&test).await;
    test.advance_clock(21);
    let later = test.hub.get_plan(created.id).await.unwrap();
    assert!(
        matches!(&later.targets[0].dry_run, DryRunState::NotRequested { message } if message.contains("20 s"))
    );
    assert!(later.is_complete());
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_a_plan_is_stale_once_the_draft_the_targets_or_what_runs_there_changed() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    let first = create_plan(&test).await;
    answer_dry_run(&mut east, PlannedAction::Create).await;
    wait_for_plan(&test, &first).await;
    test.edit_draft("web", |spec| {
        spec.source = source("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n")
    })
    .await;
    assert!(is_stale(publish(&test, options_for(&first)).await), "the draft changed");
    let second = create_plan(&test).await;
    let _west = test.register_cluster("west", &[]).await;
    assert!(is_stale(publish(&test, options_for(&second)).await), "a matching cluster joined");
    let third = create_plan(&test).await;
    assert_eq!(
        publish(&test, PublishOptions::default()).await.unwrap(),
        1,
        "without a plan nothing is compared"
    );
    east.wait_for_release().await;
    assert!(is_stale(publish(&test, options_for(&third)).await), "the released revision changed");
    let unknown = PublishOptions { plan_hash: Some(Digest::compute(b"?")), ..PublishOptions::default() };
    assert!(is_stale(publish(&test, unknown).await));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_a_plan_expires_after_an_hour() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    let created = create_plan(&test).await;
    answer_dry_run(&mut east, PlannedAction::Create).await;
    let complete = wait_for_plan(&test, &created).await;
    test.advance_clock(3_601);
    assert!(matches!(test.hub.get_plan(complete.id).await, Err(Error::NotFound { .. })));
    assert!(is_stale(publish(&test, options_for(&complete)).await));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_2_a_dry_run_request_is_answered_once_and_only_by_its_cluster() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    let west = test.register_cluster("west", &[]).await;
    test.create_draft("web", by_label("env=prod")).await;
    let created = create_plan(&test).await;
    let bundle = created.targets[0].bundle.clone().unwrap();
    assert!(test.hub.get_planned_bundle(west.id, created.id, &bundle).await.is_err());
    assert!(
        test.hub
            .record_dry_run_result(west.id, created.id, cluster_plan(PlannedAction::Delete))
            .await
            .is_err()
    );
    answer_dry_run(&mut east, PlannedAction::Create).await;
    assert!(
        test.hub
            .record_dry_run_result(east.id, created.id, cluster_plan(PlannedAction::Delete))
            .await
            .is_err()
    );
    let complete = wait_for_plan(&test, &created).await;
    assert_eq!(complete.groups()[0].counts.create, 1);
    test.close().await;
}

/// A change of a field to so many values.
fn change_of_values(count: usize, value: usize) -> PlannedAction {
    let desired = Some(vec![value; count].into());
    PlannedAction::Change {
        fields: vec![FieldChange { path: "/data".to_owned(), desired, live: None }],
        omitted: 0,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_an_answer_with_too_many_values_makes_the_changes_unknown_and_never_none() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    east.apply_release().await;
    let created = create_plan(&test).await;
    answer_dry_run(&mut east, change_of_values(60_000, 0)).await;
    let complete = wait_for_plan(&test, &created).await;
    let DryRunState::NotRendered { message } = &complete.targets[0].dry_run else { panic!("{complete:#?}") };
    assert!(message.starts_with("The answer of its agent is too large"), "{message}");
    assert!(message.contains("at most 2048 KiB and 50000 values are stored"), "{message}");
    assert_eq!((complete.targets[0].cluster_plan.as_ref(), complete.no_op), (None, false));
    assert!(complete.cluster_plans.is_empty(), "an estimate is not shown in its place");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_answers_that_are_too_large_together_are_read_up_to_a_limit_and_the_others_are_unknown() {
    let test = TestHub::open().await;
    let mut agents = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        agents.push(test.register_cluster(name, &[]).await);
    }
    test.create_draft("web", everywhere()).await;
    let created = create_plan(&test).await;
    for (number, agent) in agents.iter_mut().enumerate() {
        answer_dry_run(agent, change_of_values(49_000, number)).await;
    }
    let complete = wait_for_plan(&test, &created).await;
    let is_unknown = |state: &DryRunState| matches!(state, DryRunState::NotRendered { message } if message.contains("too large together"));
    let unknown: Vec<_> = complete.targets.iter().filter(|target| is_unknown(&target.dry_run)).collect();
    assert_eq!((unknown.len(), complete.dry_run_counts()), (1, (5, 1, 0)));
    assert_eq!((unknown[0].cluster_plan.as_ref(), complete.cluster_plans.len()), (None, 5));
    assert!(!complete.no_op);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g505_a_removal_from_more_than_a_fifth_of_the_clusters_needs_the_confirmed_number() {
    let test = TestHub::open().await;
    let mut agents = Vec::new();
    for name in ["a", "b", "c"] {
        agents.push(test.register_cluster(name, &[("keep", if name == "a" { "yes" } else { "no" })]).await);
    }
    test.publish_new("web", everywhere()).await;
    for agent in &mut agents {
        agent.apply_release().await;
    }
    test.edit_draft("web", |spec| spec.placement = by_label("keep=yes")).await;
    let created = create_plan(&test).await;
    assert_eq!(created.blast_radius.losing, ["b", "c"]);
    for agent in &mut agents[1..] {
        let goal = answer_dry_run(agent, PlannedAction::Delete).await;
        assert!(matches!(goal, DesiredPhase::Absent { .. }));
    }
    answer_dry_run(&mut agents[0], PlannedAction::Unchanged).await;
    let complete = wait_for_plan(&test, &created).await;
    let lose = complete.groups().into_iter().find(|group| group.change == TargetChange::Remove).unwrap();
    assert_eq!((lose.clusters.len(), lose.counts.delete), (2, 1));
    let rejected = publish(&test, options_for(&complete)).await.unwrap_err();
    assert_eq!(rejected.findings()[0].code, "G505");
    assert!(rejected.to_string().contains("Type 2"), "{rejected}");
    let wrong = PublishOptions { confirmed_removals: Some(3), ..options_for(&complete) };
    assert!(matches!(publish(&test, wrong).await, Err(Error::ConfirmationRequired(_))));
    let right = PublishOptions { confirmed_removals: Some(2), ..options_for(&complete) };
    assert_eq!(publish(&test, right).await.unwrap(), 2);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g501_a_rejected_draft_is_planned_without_dry_runs() {
    let test = TestHub::open().await;
    let _east = test.register_cluster("east", &[]).await;
    test.create_draft("web", Placement::default()).await;
    let created = create_plan(&test).await;
    assert!(created.is_blocked());
    assert!(created.targets.is_empty());
    test.close().await;
}
