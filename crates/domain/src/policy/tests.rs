//! Policies: defaults, choice of rules, findings, feedback.

use serde_json::{Value, json};

use super::*;

fn object(kind: &str, name: &str) -> ObjectRef {
    ObjectRef { kind: kind.into(), name: name.into(), namespace: "web".into(), ..ObjectRef::default() }
}

fn named(kind: &str, name: &str) -> ObjectSelector {
    ObjectSelector { kind: kind.into(), name: name.into(), ..ObjectSelector::default() }
}

#[test]
fn what_an_older_version_stored_reads_as_it_was_meant_and_writes_back_the_same() {
    let old = json!({"createNamespace": true, "prune": true, "drift": "revert", "conflict": "abort",
        "deletion": "foreground"});
    let read: Policies = serde_json::from_value(old.clone()).unwrap();
    assert_eq!(read, Policies::default());
    assert_eq!(serde_json::to_value(&read).unwrap(), old);
}

#[test]
fn policies_are_replaced_by_name_and_what_is_not_named_stays() {
    let given = |value: Value| value.as_object().unwrap().clone();
    let base = Policies { prune: false, ..Policies::default() };
    let some = given(json!({"deletion": "selectivelyOrphan", "orphan": [{"kind": "Secret"}],
        "ttlSecondsAfterFinished": 60, "conflict": "ifIdentical"}));
    let with = base.with(&some).unwrap();
    assert!(!with.prune);
    assert_eq!(
        (with.deletion, with.conflict),
        (DeletionPolicy::SelectivelyOrphan, ConflictPolicy::IfIdentical)
    );
    assert_eq!((with.orphan, with.ttl_seconds_after_finished), (vec![named("Secret", "")], Some(60)));
    let unknown = base.with(&given(json!({"prunes": true}))).unwrap_err();
    assert!(unknown.contains("\"prunes\"") && unknown.contains("createNamespace"), "{unknown}");
    let wrong = base.with(&given(json!({"deletion": "sometimes"}))).unwrap_err();
    assert!(wrong.contains("deletion") && wrong.contains("foreground"), "{wrong}");
}

#[test]
fn every_policy_is_known_by_the_name_it_is_stored_under() {
    let full = Policies {
        orphan: vec![ObjectSelector::default()],
        ttl_seconds_after_finished: Some(1),
        update: vec![UpdateRule::default()],
        ignore: vec![IgnoreRule::default()],
        feedback: vec![FeedbackRule::default()],
        executor: "a/b".into(),
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
fn the_last_rule_that_names_an_object_decides_how_it_is_written() {
    let rule = |object, strategy| UpdateRule { object, strategy };
    let policies = Policies {
        update: vec![
            rule(ObjectSelector::default(), UpdateStrategy::CreateOnly),
            rule(named("Secret", ""), UpdateStrategy::ReadOnly),
            rule(named("Secret", "own"), UpdateStrategy::ServerSideApply),
        ],
        ..Policies::default()
    };
    assert_eq!(policies.strategy(&object("ConfigMap", "a")), UpdateStrategy::CreateOnly);
    assert_eq!(policies.strategy(&object("Secret", "a")), UpdateStrategy::ReadOnly);
    assert_eq!(policies.strategy(&object("Secret", "own")), UpdateStrategy::ServerSideApply);
    assert_eq!(Policies::default().strategy(&object("Secret", "a")), UpdateStrategy::ServerSideApply);
}

#[test]
fn s3_13_only_the_named_objects_stay_under_selectively_orphan() {
    let policies = Policies { orphan: vec![named("PersistentVolumeClaim", "")], ..Policies::default() };
    let (claim, map) = (object("PersistentVolumeClaim", "data"), object("ConfigMap", "a"));
    assert!(policies.orphans(DeletionPolicy::SelectivelyOrphan, &claim));
    assert!(!policies.orphans(DeletionPolicy::SelectivelyOrphan, &map));
    assert!(policies.orphans(DeletionPolicy::Orphan, &map));
    assert!(!policies.orphans(DeletionPolicy::Foreground, &claim));
}

#[test]
fn g517_policies_that_mean_nothing_are_found_with_their_place_and_a_way_out() {
    let places = |policies: Policies| -> Vec<(String, bool)> {
        let all = check(&policies);
        assert!(all.iter().all(|finding| finding.code == "G517" && !finding.hint.is_empty()));
        all.into_iter().map(|finding| (finding.path.clone(), finding.blocks())).collect()
    };
    let some = Policies::default;
    assert_eq!(places(some()), []);
    let selective = Policies { deletion: DeletionPolicy::SelectivelyOrphan, ..some() };
    assert_eq!(places(selective), [("/policies/orphan".to_owned(), true)]);
    let list = Policies { orphan: vec![named("Secret", "")], ..some() };
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
    let many = Policies { update: vec![UpdateRule::default(); MAX_RULES + 1], ..some() };
    assert_eq!(places(many), [("/policies/update".to_owned(), true)]);
}

#[test]
fn well_known_values_of_a_kind_are_reported_and_those_asked_for_come_first() {
    let live = json!({"status": {"replicas": 3, "readyReplicas": 2}, "spec": {"paused": true}});
    let rule =
        FeedbackRule { object: named("Deployment", ""), name: "Paused".into(), path: "$.spec.paused".into() };
    let all = feedback(&[rule], &object("Deployment", "web"), &live);
    let told: Vec<(&str, &Value)> = all.iter().map(|one| (one.name.as_str(), &one.value)).collect();
    assert_eq!(told, [("Paused", &json!(true)), ("ReadyReplicas", &json!(2)), ("Replicas", &json!(3))]);
    assert_eq!(feedback(&[], &object("ConfigMap", "a"), &live), []);
}

#[test]
fn a_value_of_more_than_1024_bytes_is_left_out_and_said_to_be() {
    let rule = |path: &str| FeedbackRule { name: "Big".into(), path: path.into(), ..FeedbackRule::default() };
    let live = json!({"fits": "x".repeat(FEEDBACK_BYTES), "big": "x".repeat(FEEDBACK_BYTES + 1), "list": vec!["x"; 600]});
    let one = |path: &str| feedback(&[rule(path)], &object("ConfigMap", "a"), &live).remove(0);
    assert_eq!(one("/fits").problem, "");
    for path in ["/big", "/list", "$.list[*]"] {
        assert_eq!(one(path).value, Value::Null, "{path}");
        assert!(one(path).problem.contains("1024"), "{path}");
    }
    assert!(one("/nothing").problem.contains("nothing at /nothing"));
    assert!(one("bad").problem.contains("names no field"));
}
