//! Policies: defaults, choice of rules, findings, feedback.

use serde_json::{Value, json};

use super::*;

fn object(kind: &str, name: &str) -> ObjectRef {
    ObjectRef { kind: kind.into(), name: name.into(), namespace: "web".into(), ..ObjectRef::default() }
}

fn selector(kind: &str, name: &str) -> ObjectSelector {
    ObjectSelector { kind: kind.into(), name: name.into(), ..ObjectSelector::default() }
}

#[test]
fn policies_of_an_older_version_are_read_and_written_unchanged() {
    let old = json!({"createNamespace": true, "prune": true, "drift": "revert", "conflict": "abort",
        "deletion": "foreground"});
    let read: Policies = serde_json::from_value(old.clone()).unwrap();
    assert_eq!(read, Policies::default());
    assert_eq!(serde_json::to_value(&read).unwrap(), old);
}

#[test]
fn policies_are_replaced_by_name_and_the_others_stay() {
    let map = |value: Value| value.as_object().unwrap().clone();
    let base = Policies { prune: false, ..Policies::default() };
    let some = map(json!({"deletion": "selectivelyOrphan", "orphan": [{"kind": "Secret"}],
        "ttlSecondsAfterFinished": 60, "conflict": "ifIdentical"}));
    let with = base.with_values(&some).unwrap();
    assert!(!with.prune);
    assert_eq!(
        (with.deletion, with.conflict),
        (DeletionPolicy::SelectivelyOrphan, ConflictPolicy::IfIdentical)
    );
    assert_eq!((with.orphan, with.ttl_seconds_after_finished), (vec![selector("Secret", "")], Some(60)));
    let unknown = base.with_values(&map(json!({"prunes": true}))).unwrap_err();
    assert_eq!(unknown, r#"There is no policy "prunes"; did you mean "prune"?"#);
    let distant = base.with_values(&map(json!({"lifecycle": true}))).unwrap_err();
    assert!(distant.contains("createNamespace"), "{distant}");
    let inside =
        base.with_values(&map(json!({"ignore": [{"object": {"kin": "Job"}, "paths": []}]}))).unwrap_err();
    assert!(inside.contains(r#"/ignore/0/object: unknown field "kin", did you mean "kind"?"#), "{inside}");
    let wrong = base.with_values(&map(json!({"deletion": "sometimes"}))).unwrap_err();
    assert!(wrong.contains("deletion") && wrong.contains("foreground"), "{wrong}");
}

#[test]
fn what_is_not_assessed_is_accepted_without_a_value_and_waits_where_the_stored_value_says_so() {
    let with = |not_assessed| Policies { not_assessed, ..Policies::default() };
    let (accept, wait) = (Some(NotAssessedPolicy::Accept), Some(NotAssessedPolicy::Wait));
    assert!(with(None).accepts_not_assessed() && with(accept).accepts_not_assessed());
    assert!(!with(wait).accepts_not_assessed());
    for (given, absent, stored) in [
        (None, None, None),
        (None, wait, wait),
        (accept, wait, None),
        (wait, None, wait),
        (wait, accept, wait),
        (accept, None, None),
    ] {
        let policies = with(given).with_not_assessed_or(absent);
        assert_eq!(policies.not_assessed, stored, "{given:?} or {absent:?}");
    }
    let stored = serde_json::to_value(with(wait)).unwrap();
    assert_eq!(stored["notAssessed"], "wait");
    assert_eq!(serde_json::from_value::<Policies>(stored).unwrap(), with(wait));
}

#[test]
fn every_policy_is_known_by_its_stored_name() {
    let full = Policies {
        orphan: vec![ObjectSelector::default()],
        ttl_seconds_after_finished: Some(1),
        prune_order: PruneOrder::AfterApply,
        changed_jobs: ChangedJobsPolicy::Refuse,
        not_assessed: Some(NotAssessedPolicy::Wait),
        deadline: "30m".parse().ok(),
        update: vec![UpdateRule::default()],
        ignore: vec![IgnoreRule::default()],
        feedback: vec![FeedbackRule::default()],
        executor: "a/b".into(),
        upgrade_crds: true,
        skip_hooks: true,
        skip_crds: true,
        skip_schema_validation: true,
        helm_release: HelmReleasePolicy::Adopt,
        renew_generated_values: true,
        allow_system_namespaces: true,
        ..Policies::default()
    };
    let stored = serde_json::to_value(&full).unwrap();
    let mut names: Vec<&String> = stored.as_object().unwrap().keys().collect();
    let mut known = POLICY_NAMES.to_vec();
    names.sort();
    known.sort_unstable();
    assert_eq!(names, known);
}

#[test]
fn what_running_pods_may_need_is_pruned_after_the_revision_is_operational() {
    let policies = Policies::default();
    let at_once = Policies { prune_order: PruneOrder::AfterApply, ..Policies::default() };
    for kind in ["ConfigMap", "Secret", "ServiceAccount", "Service", "PersistentVolumeClaim"] {
        assert!(policies.is_pruned_after_operational(&object(kind, "a"), true), "{kind}");
        assert!(!policies.is_pruned_after_operational(&object(kind, "a"), false), "{kind}: nobody needs it");
        assert!(!at_once.is_pruned_after_operational(&object(kind, "a"), true), "{kind}");
    }
    for kind in ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"] {
        let rbac = ObjectRef { group: "rbac.authorization.k8s.io".into(), ..object(kind, "a") };
        assert!(policies.is_pruned_after_operational(&rbac, true), "{kind}");
    }
    assert!(!policies.is_pruned_after_operational(&object("Deployment", "a"), true));
    let knative = ObjectRef { group: "serving.knative.dev".into(), ..object("Service", "a") };
    assert!(!policies.is_pruned_after_operational(&knative, true));
}

#[test]
fn the_last_rule_that_matches_an_object_decides_its_update_strategy() {
    let rule = |object, strategy| UpdateRule { object, strategy };
    let policies = Policies {
        update: vec![
            rule(ObjectSelector::default(), UpdateStrategy::CreateOnly),
            rule(selector("Secret", ""), UpdateStrategy::ReadOnly),
            rule(selector("Secret", "own"), UpdateStrategy::ServerSideApply),
        ],
        ..Policies::default()
    };
    assert_eq!(policies.update_strategy(&object("ConfigMap", "a")), UpdateStrategy::CreateOnly);
    assert_eq!(policies.update_strategy(&object("Secret", "a")), UpdateStrategy::ReadOnly);
    assert_eq!(policies.update_strategy(&object("Secret", "own")), UpdateStrategy::ServerSideApply);
    assert_eq!(Policies::default().update_strategy(&object("Secret", "a")), UpdateStrategy::ServerSideApply);
}

#[test]
fn s3_13_only_the_named_objects_stay_under_selectively_orphan() {
    let policies = Policies { orphan: vec![selector("PersistentVolumeClaim", "")], ..Policies::default() };
    let (claim, map) = (object("PersistentVolumeClaim", "data"), object("ConfigMap", "a"));
    assert!(policies.should_orphan(DeletionPolicy::SelectivelyOrphan, &claim));
    assert!(!policies.should_orphan(DeletionPolicy::SelectivelyOrphan, &map));
    assert!(policies.should_orphan(DeletionPolicy::Orphan, &map));
    assert!(!policies.should_orphan(DeletionPolicy::Foreground, &claim));
}

#[test]
fn g517_meaningless_policies_are_reported_with_path_and_hint() {
    let places = |policies: Policies| -> Vec<(String, bool)> {
        let all = check(&policies);
        assert!(all.iter().all(|finding| finding.code == "G517" && !finding.hint.is_empty()));
        all.into_iter().map(|finding| (finding.path.clone(), finding.is_blocking())).collect()
    };
    let some = Policies::default;
    assert_eq!(places(some()), []);
    let selective = Policies { deletion: DeletionPolicy::SelectivelyOrphan, ..some() };
    assert_eq!(places(selective), [("/policies/orphan".to_owned(), true)]);
    let list = Policies { orphan: vec![selector("Secret", "")], ..some() };
    assert_eq!(places(list), [("/policies/orphan".to_owned(), false)]);
    let ignore = |paths: Vec<String>| Policies {
        ignore: vec![IgnoreRule { paths, ..IgnoreRule::default() }],
        ..some()
    };
    assert_eq!(places(ignore(vec!["$.spec.replicas".into()])), []);
    assert_eq!(places(ignore(vec![])), [("/policies/ignore/0/paths".to_owned(), true)]);
    let second = ignore(vec!["/spec/replicas".into(), "$..x".into()]);
    assert_eq!(places(second), [("/policies/ignore/0/paths/1".to_owned(), true)]);
    let feedback =
        Policies { feedback: vec![FeedbackRule { path: "x".into(), ..Default::default() }], ..some() };
    assert_eq!(places(feedback).len(), 2);
    for (executor, good) in [("web/deployer", true), ("deployer", false), ("web/", false), ("W/x", false)] {
        let policies = Policies { executor: executor.into(), ..some() };
        assert_eq!(places(policies).is_empty(), good, "{executor}");
    }
    for (deadline, good) in [
        ("30m", true),
        ("1m", true),
        ("30d", true),
        ("59s", false),
        ("31d", false),
        ("soon", false),
        ("", false),
    ] {
        let wrong = places(Policies { deadline: deadline.parse().ok(), ..some() });
        let expected = if good { vec![] } else { vec![("/policies/deadline".to_owned(), true)] };
        assert_eq!(wrong, expected, "{deadline}");
    }
    let many = Policies { update: vec![UpdateRule::default(); MAX_RULES + 1], ..some() };
    assert_eq!(places(many), [("/policies/update".to_owned(), true)]);
}

#[test]
fn well_known_values_of_a_kind_are_reported_after_configured_ones() {
    let live = json!({"status": {"replicas": 3, "readyReplicas": 2}, "spec": {"paused": true}});
    let rule = FeedbackRule {
        object: selector("Deployment", ""),
        name: "Paused".into(),
        path: "$.spec.paused".into(),
    };
    let all = collect_feedback(&[rule], &object("Deployment", "web"), &live);
    let reported: Vec<(&str, &Value)> = all.iter().map(|one| (one.name.as_str(), &one.value)).collect();
    assert_eq!(reported, [("Paused", &json!(true)), ("ReadyReplicas", &json!(2)), ("Replicas", &json!(3))]);
    assert_eq!(collect_feedback(&[], &object("ConfigMap", "a"), &live), []);
}

#[test]
fn a_value_of_more_than_1024_bytes_is_replaced_by_a_problem() {
    let rule = |path: &str| FeedbackRule { name: "Big".into(), path: path.into(), ..FeedbackRule::default() };
    let live = json!({"fits": "x".repeat(MAX_FEEDBACK_BYTES), "big": "x".repeat(MAX_FEEDBACK_BYTES + 1), "list": vec!["x"; 600]});
    let one = |path: &str| collect_feedback(&[rule(path)], &object("ConfigMap", "a"), &live).remove(0);
    assert_eq!(one("/fits").problem, "");
    for path in ["/big", "/list", "$.list[*]"] {
        assert_eq!(one(path).value, Value::Null, "{path}");
        assert!(one(path).problem.contains("1024"), "{path}");
    }
    assert!(one("/nothing").problem.contains("no value at /nothing"));
    assert!(one("bad").problem.contains("names no field"));
}
