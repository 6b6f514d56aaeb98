//! Tests of the parts of a target: what is offered, what a typed text names, and that the form loses nothing.

use domain::ClusterId;
use domain::cluster::{Cluster, ClusterKind, ConfirmedFacts};
use domain::overrides::ClusterSelector;
use domain::placement::ClusterGroup;
use proptest::prelude::*;

use super::*;

fn fleet() -> Fleet {
    let cluster = |n: u128, name: &str, region: &str, provider: &str| {
        let id = ClusterId::from_parts(1, n);
        let cluster = Cluster::new(id, name, ClusterKind::default(), domain::Timestamp::default());
        let facts = ConfirmedFacts {
            provider: provider.into(),
            kubernetes_version: "v1.33.4+k3s1".into(),
            ..ConfirmedFacts::default()
        };
        let labels = [("region".to_owned(), region.to_owned())];
        Cluster { labels: labels.into(), confirmed_facts: facts, ..cluster }
    };
    let clusters = vec![
        cluster(1, "eu-1", "eu", "aws"),
        cluster(2, "eu-10", "eu", "gce"),
        cluster(3, "us-1", "us", "aws"),
    ];
    let group = ClusterGroup { name: "gold".into(), members: vec!["eu-1".into()], ..ClusterGroup::default() };
    Fleet { clusters, groups: vec![group], ..Fleet::default() }
}

fn part(kind: PartKind, text: &str) -> TargetPart {
    TargetPart { kind, text: text.to_owned() }
}

/// What an entered text adds to this form.
fn entered(text: &str, form: &OverrideForm) -> Result<Vec<TargetPart>, String> {
    let fleet = fleet();
    let values = FleetValues::count(&fleet);
    resolve_entered(text, form, KnownTargets { fleet: &fleet, values: &values })
}

/// Texts of the suggestions with their kinds.
fn suggested(text: &str, form: &OverrideForm) -> Vec<String> {
    let fleet = fleet();
    let values = FleetValues::count(&fleet);
    let all = suggest_parts(text, form, KnownTargets { fleet: &fleet, values: &values });
    all.iter().map(|one| format!("{} {}", one.part.kind.noun(), one.part.text)).collect()
}

#[test]
fn the_fleet_offers_what_contains_the_text_and_is_not_in_the_target() {
    let form = OverrideForm { cluster: "eu-1".into(), ..OverrideForm::default() };
    assert_eq!(
        suggested("", &form),
        [
            "cluster eu-10",
            "cluster us-1",
            "group gold",
            "label region=eu",
            "label region=us",
            "fact distribution=k3s",
            "fact provider=aws",
            "fact region=eu",
            "fact provider=gce",
            "fact region=us",
        ]
    );
    assert_eq!(suggested("EU-1", &form), ["cluster eu-10"]);
    assert_eq!(suggested("group", &form), ["group gold"]);
    let form = OverrideForm { selector: "region in (eu,us)".into(), ..form };
    assert!(!suggested("region", &form).iter().any(|one| one.starts_with("label ")));
}

#[test]
fn a_version_that_no_selector_can_contain_is_not_offered() {
    assert_eq!(suggested("kubernetesVersion", &OverrideForm::default()), Vec::<String>::new());
}

#[test]
fn an_entered_text_names_what_exists_or_the_only_suggestion_or_else_an_unknown_cluster() {
    let form = OverrideForm::default();
    assert_eq!(entered("eu-1", &form), Ok(vec![part(PartKind::Cluster, "eu-1")]), "not eu-10 too");
    assert_eq!(
        entered(
            "us",
            &OverrideForm { selector: "region=us".into(), facts: "region=us".into(), ..form.clone() }
        ),
        Ok(vec![part(PartKind::Cluster, "us-1")])
    );
    assert_eq!(entered(" gold ", &form), Ok(vec![part(PartKind::Group, "gold")]));
    assert_eq!(
        entered("eu-1, gold moon-1", &form),
        Ok(vec![
            part(PartKind::Cluster, "eu-1"),
            part(PartKind::Group, "gold"),
            part(PartKind::Cluster, "moon-1"),
        ])
    );
    assert_eq!(entered("eu", &form), Ok(vec![part(PartKind::Cluster, "eu")]), "several suggestions");
    assert_eq!(entered("  ", &form), Ok(Vec::new()));
}

#[test]
fn an_entered_condition_is_one_on_labels_if_the_fleet_has_the_label_and_else_on_facts() {
    let form = OverrideForm::default();
    assert_eq!(entered("region=eu", &form), Ok(vec![part(PartKind::Label, "region=eu")]));
    assert_eq!(entered("provider=aws", &form), Ok(vec![part(PartKind::Fact, "provider=aws")]));
    assert_eq!(
        entered("kubernetesVersion>=1.30", &form),
        Ok(vec![part(PartKind::Fact, "kubernetesVersion>=1.30")])
    );
    assert_eq!(entered("tier=gold", &form), Ok(vec![part(PartKind::Label, "tier=gold")]));
    assert_eq!(
        entered("region in (eu, us),!legacy", &form),
        Ok(vec![part(PartKind::Label, "region in (eu,us)"), part(PartKind::Label, "!legacy")])
    );
    assert!(entered("cloud>=1", &form).unwrap_err().contains("\"cloud\" is not a fact"));
    assert!(entered("region=eu west", &form).unwrap_err().contains("not a label value"));
}

#[test]
fn what_does_not_exist_has_its_problem() {
    let fleet = fleet();
    let values = FleetValues::count(&fleet);
    let problem = |kind, text: &str| {
        describe_problem(&part(kind, text), KnownTargets { fleet: &fleet, values: &values })
    };
    for (kind, known, unknown) in [
        (PartKind::Cluster, "eu-1", "moon-1"),
        (PartKind::Group, "gold", "silver"),
        (PartKind::Label, "region=eu", "region=moon"),
        (PartKind::Fact, "kubernetesVersion>=1.30", "provider=azure"),
    ] {
        assert_eq!(problem(kind, known), None, "{known}");
        assert!(problem(kind, unknown).is_some(), "{unknown}");
    }
    assert_eq!(problem(PartKind::Label, "a b"), Some("is invalid"));
}

#[test]
fn a_further_value_of_a_label_or_a_fact_means_any_of_them() {
    let mut form = OverrideForm { selector: "region=eu,!legacy".into(), ..OverrideForm::default() };
    add_part(&mut form, &part(PartKind::Label, "region=us"));
    add_part(&mut form, &part(PartKind::Label, "region=eu"));
    add_part(&mut form, &part(PartKind::Fact, "provider=aws"));
    add_part(&mut form, &part(PartKind::Fact, "provider=gce"));
    add_part(&mut form, &part(PartKind::Fact, "kubernetesVersion>=1.30"));
    assert_eq!(form.selector, "region in (eu,us),!legacy");
    assert_eq!(form.facts, "provider in (aws,gce),kubernetesVersion>=1.30");
    remove_part(&mut form, &part(PartKind::Label, "region in (eu,us)"));
    remove_part(&mut form, &part(PartKind::Fact, "kubernetesVersion>=1.30"));
    assert_eq!((form.selector.as_str(), form.facts.as_str()), ("!legacy", "provider in (aws,gce)"));
}

#[test]
fn a_selector_that_is_invalid_is_one_part_and_can_be_removed() {
    let mut form = OverrideForm { selector: "a b".into(), ..OverrideForm::default() };
    assert_eq!(list_parts(&form), [part(PartKind::Label, "a b")]);
    remove_part(&mut form, &part(PartKind::Label, "a b"));
    assert_eq!(list_parts(&form), []);
}

/// Targets of all kinds of parts.
fn targets() -> impl Strategy<Value = ClusterSelector> {
    let names = || proptest::collection::btree_set("[a-z]{1,4}-[0-9]", 0..3);
    let labels = proptest::sample::subsequence(
        vec!["env=prod", "region in (eu,us)", "tier!=edge", "size notin (s,m)", "zone", "!legacy", "empty="],
        0..=7,
    );
    let facts = proptest::sample::subsequence(
        vec!["provider=aws", "zone in (a,b)", "region!=eu", "!distribution", "kubernetesVersion>=1.30"],
        0..=5,
    );
    (names(), names(), labels, facts).prop_map(|(clusters, groups, labels, facts)| ClusterSelector {
        clusters: clusters.into_iter().collect(),
        groups: groups.into_iter().collect(),
        selector: labels.join(",").parse().ok().filter(|selector: &LabelSelector| !selector.is_empty()),
        field_selector: facts.join(",").parse().unwrap(),
    })
}

/// The form of an override with this target.
fn form_of(target: &ClusterSelector) -> OverrideForm {
    OverrideForm {
        clusters: target.clusters.join(", "),
        groups: target.groups.join(", "),
        selector: target.selector.as_ref().map(ToString::to_string).unwrap_or_default(),
        facts: target.field_selector.to_string(),
        ..OverrideForm::default()
    }
}

proptest! {
    #[test]
    fn a_target_that_is_picked_again_part_by_part_is_the_same(target in targets()) {
        let form = form_of(&target);
        let parts = list_parts(&form);
        let mut picked = OverrideForm::default();
        for part in &parts {
            add_part(&mut picked, part);
        }
        prop_assert_eq!(picked.target(), target.clone());
        prop_assert_eq!(list_parts(&picked), parts.clone());

        let mut emptied = form;
        for part in &parts {
            // One that is present changes nothing.
            let former = emptied.clone();
            add_part(&mut emptied, part);
            prop_assert_eq!(&emptied, &former);
            remove_part(&mut emptied, part);
        }
        prop_assert_eq!(emptied.target(), ClusterSelector::default());
    }
}
