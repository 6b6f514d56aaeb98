//! Truncated reports.

use super::*;
use crate::kubernetes::id::ReleaseId;
use crate::kubernetes::quantity::Quantity;
use crate::model::cluster::Quota;
use crate::model::health::HealthStatus;
use crate::model::release::SyncStatus;
use crate::model::report::DriftOutcome;

fn report(resources: usize, notes: usize) -> ReleaseReport {
    let resource =
        |ordinal| ResourceStatus { ordinal, applied: true, health: Health::healthy(), ..Default::default() };
    let note = DriftReport {
        object: ObjectRef::default(),
        fields: vec!["/data".to_owned(); 100],
        values: vec![
            DriftedField {
                path: "/data".to_owned(),
                applied: Some("\"\n".repeat(5_000).into()),
                live: Some(serde_json::json!({"a": ["ä".repeat(5_000)]})),
                ..DriftedField::default()
            };
            100
        ],
        manager: "m".repeat(10_000),
        outcome: DriftOutcome::Found,
        at: crate::kubernetes::time::Timestamp::from_millis(0),
    };
    ReleaseReport {
        release: ReleaseId::from_parts(1, 1),
        generation: 1,
        applied: None,
        stages: Vec::new(),
        sync: SyncStatus::Synced,
        health: Health::new(HealthStatus::Degraded, "Why", "ä".repeat(MAX_TEXT_BYTES)),
        resources: (0..resources).map(|at| resource(u32::try_from(at).unwrap())).collect(),
        drift: vec![note; notes],
        drift_omitted: 0,
        removed: false,
    }
}

#[test]
fn p19_truncating_twice_changes_nothing() {
    let mut once = report(MAX_RESOURCES + 100, 500);
    once.resources[5].causes = vec!["cause".to_owned(); 100];
    once.resources[5].failure_causes = vec![FailureCause::from_sentence("cause"); 100];
    once.truncate();
    assert_eq!((once.drift.len(), once.drift_omitted), (MAX_DRIFT_NOTES, 490));
    assert_eq!(once.drift[0].fields.last().map(String::as_str), Some("… 51 more"));
    let first = once.drift[0].values[0].clone();
    for value in [first.applied, first.live] {
        assert!(serialized_length(&value) <= MAX_FIELD_VALUE_BYTES, "{value:?}");
    }
    let mut twice = once.clone();
    twice.truncate();
    assert_eq!(twice, once);
}

#[test]
fn p19_a_release_within_the_limits_is_reported_unchanged() {
    let mut full = report(MAX_RESOURCES, MAX_DRIFT_NOTES);
    full.drift = Vec::new();
    full.health.message = "ä".repeat(MAX_TEXT_BYTES / 2);
    let mut truncated = full.clone();
    truncated.truncate();
    assert_eq!(truncated, full);
}

#[test]
fn objects_left_out_are_as_healthy_as_the_worst_of_them() {
    let mut large = report(MAX_RESOURCES + 10, 0);
    let last = large.resources.last_mut().unwrap();
    (last.health, last.applied) = (Health::new(HealthStatus::Degraded, "Down", "It is down."), false);
    large.truncate();
    let mark = large.resources.last().unwrap();
    assert_eq!(large.resources.len(), MAX_RESOURCES);
    assert_eq!((mark.object.name.as_str(), mark.applied), ("… 11 more", false));
    assert_eq!(mark.health.status, HealthStatus::Degraded);
}

#[test]
fn a_text_is_truncated_between_characters() {
    let mut text = "aäöü".to_owned();
    truncate_text(&mut text, 6);
    assert_eq!(text, "aä…");
}

#[test]
fn p19_facts_beyond_the_limit_leave_out_lists_and_then_namespaces_and_say_so_by_not_knowing_them() {
    let namespace = |n: usize, quotas: usize| {
        let hard = (0..MAX_VALUES).map(|at| (format!("r{at}"), Quantity::default())).collect();
        let quota = Quota { name: "q".to_owned(), hard, ..Quota::default() };
        NamespaceFacts {
            name: format!("n{n}"),
            quotas: vec![quota; quotas],
            granted: Some(vec!["Secret".to_owned(); 200]),
            ..NamespaceFacts::default()
        }
    };
    let facts = |quotas: usize| ClusterFacts {
        kubernetes_version: "v1.33.4".to_owned(),
        namespaces: (0..MAX_NAMESPACES).map(|n| namespace(n, quotas)).collect(),
        ..ClusterFacts::default()
    };
    let mut without_lists = facts(0);
    without_lists.truncate();
    assert_eq!(without_lists.namespaces.len(), MAX_NAMESPACES);
    assert!(without_lists.namespaces.iter().all(|namespace| namespace.granted.is_none()));
    let mut fewer = facts(5);
    fewer.truncate();
    assert!((100..MAX_NAMESPACES).contains(&fewer.namespaces.len()), "{}", fewer.namespaces.len());
    assert_eq!(fewer.namespaces[0].quotas.len(), 5, "what is reported of quotas is complete");
    assert!(JsonSize::of_serialized(&fewer).values <= MAX_FACTS_VALUES);
    let mut twice = fewer.clone();
    twice.truncate();
    assert_eq!(twice, fewer);
    let mut usual = ClusterFacts { namespaces: vec![namespace(1, 1)], ..facts(0) };
    usual.truncate();
    assert_eq!(usual.namespaces[0].granted.as_ref().map(Vec::len), Some(200));
}

#[test]
fn a_truncated_list_and_a_truncated_value_are_recognized() {
    let mut paths: Vec<String> = (0..10_000).map(|n| format!("/data/k{n}")).collect();
    truncate_names(&mut paths, MAX_FIELDS);
    assert_eq!((paths.len(), omitted_count(&paths[MAX_FIELDS - 1])), (MAX_FIELDS, Some(9_951)));
    assert_eq!(omitted_count("/data/k1"), None);
    let mut path = DriftedField::from_path(format!("/data/{}", "ä😀".repeat(MAX_NAME_BYTES)));
    shorten_names([&mut path.path]);
    assert!(is_truncated_name(&path.path) && !is_truncated_name("/data/k…"), "{}", path.path);
    let mut long = serde_json::Value::from("a".repeat(MAX_FIELD_VALUE_BYTES * 2));
    truncate_value(&mut long);
    assert!(is_truncated_value(&long), "{long}");
    assert!(!is_truncated_value(&"nginx:1.29".into()));
}
