//! Tests of the placement form: parsing, round trip and findings.

use domain::placement::Toleration;

use super::*;

fn form_with(set: PredicateForm) -> PlacementForm {
    PlacementForm { predicates: vec![set], ..PlacementForm::default() }
}

fn predicate_by(by: SelectBy) -> PredicateForm {
    PredicateForm { by, ..PredicateForm::default() }
}

fn term(key: &str, operator: TermOperator, values: &str) -> TermForm {
    TermForm { key: key.into(), operator, values: values.into() }
}

#[test]
fn a_form_round_trips_through_its_placement() {
    let labels = PredicateForm {
        labels: vec![term("env", TermOperator::Is, "prod"), term("region", TermOperator::Is, "eu, us")],
        ..predicate_by(SelectBy::Labels)
    };
    let mixed = PredicateForm {
        names: vec!["edge-1".into()],
        groups: vec!["edge".into()],
        facts: vec![
            term("provider", TermOperator::Is, "aws"),
            term("kubernetesVersion", TermOperator::AtLeast, "1.33"),
        ],
        ..predicate_by(SelectBy::Mixed)
    };
    let spread =
        SpreadForm { key: "region".into(), skew: "2".into(), groups: "3".into(), when: "anyway".into() };
    let score = ScoreForm { name: "label".into(), weight: "-3".into(), selector: "tier=edge".into() };
    let form = PlacementForm {
        predicates: vec![labels, mixed, predicate_by(SelectBy::All)],
        exclude: "edge-1, edge-2".into(),
        tolerations: "spot=true:PreferNoSelect, maintenance, *:NoSelect".into(),
        number: "3".into(),
        minimum: "2".into(),
        available: "1".into(),
        spread: vec![spread],
        score: vec![score],
        reselect: "reselect".into(),
        new_members: "auto".into(),
        ..PlacementForm::default()
    };
    let placement = form.parse().unwrap();
    assert_eq!(placement.predicates.len(), 3);
    let text = to_yaml(&placement);
    assert_eq!(PlacementForm::from_placement(&placement), PlacementForm { text, ..form });
}

#[test]
fn a_blank_form_selects_no_cluster() {
    for way in [SelectBy::Names, SelectBy::Groups, SelectBy::Labels, SelectBy::Facts, SelectBy::Mixed] {
        assert_eq!(form_with(predicate_by(way)).parse().unwrap().predicates, []);
    }
    assert_eq!(form_with(predicate_by(SelectBy::All)).parse().unwrap().predicates, [Predicate::default()]);
}

#[test]
fn fields_of_other_selections_are_ignored() {
    let set = PredicateForm {
        names: vec!["a".into()],
        typed_names: "b c a".into(),
        labels: vec![term("env", TermOperator::Is, "prod")],
        ..predicate_by(SelectBy::Names)
    };
    let placement = form_with(set).parse().unwrap();
    assert_eq!(
        placement.predicates,
        [Predicate { names: vec!["a".into(), "b".into(), "c".into()], ..Predicate::default() }]
    );
}

#[test]
fn g502_every_invalid_field_has_a_finding() {
    let form = PlacementForm {
        predicates: vec![
            PredicateForm {
                labels: vec![term("env=pro d", TermOperator::Is, "")],
                ..predicate_by(SelectBy::Labels)
            },
            PredicateForm {
                facts: vec![term("cloud", TermOperator::Is, "aws")],
                ..predicate_by(SelectBy::Facts)
            },
        ],
        number: "0".into(),
        minimum: "x".into(),
        tolerations: "a:Never".into(),
        spread: vec![SpreadForm { key: "region".into(), skew: "-1".into(), ..SpreadForm::default() }],
        score: vec![ScoreForm { name: "steady".into(), weight: "much".into(), ..ScoreForm::default() }],
        ..PlacementForm::default()
    };
    let wrong = form.findings_by_field();
    let paths: Vec<&str> = wrong.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "/placement/minimum",
            "/placement/number",
            "/placement/predicates/0/labels/0",
            "/placement/predicates/1/facts/0",
            "/placement/score/0/weight",
            "/placement/spread/0/skew",
            "/placement/tolerations",
        ]
    );
}

#[test]
fn a_placement_that_the_fields_cannot_represent_is_edited_as_text() {
    let toleration = Toleration { key: "two words".into(), ..Toleration::default() };
    let placement = Placement { tolerations: vec![toleration], ..Placement::default() };
    let form = PlacementForm::from_placement(&placement);
    assert_eq!(form.as_text, "yes");
    assert_eq!(form.parse(), Ok(placement));
    let broken = PlacementForm { text: "predicates: 3".into(), ..form };
    assert!(broken.findings_by_field()["/placement/text"].message.starts_with("The placement is invalid"));
}

#[test]
fn the_form_is_parsed_from_a_query() {
    let mut query = ParamsMap::new();
    for (name, value) in [
        ("placement[predicates][0][by]", "names"),
        ("placement[predicates][0][names][]", "a"),
        ("placement[predicates][0][names][]", "b"),
        ("placement[predicates][1][by]", "labels"),
        ("placement[predicates][1][labels][0][key]", "env"),
        ("placement[predicates][1][labels][0][operator]", "isNot"),
        ("placement[predicates][1][labels][0][values]", "prod"),
        ("placement[spread][0][key]", "zone"),
        ("placement[number]", "2"),
        ("placement[reselect]", "reselect"),
        ("placement[new_members]", "auto"),
    ] {
        query.insert(name, value.to_owned());
    }
    let form = PlacementForm::from_query(&query).unwrap();
    assert_eq!(form.predicates[0].names, ["a", "b"]);
    assert_eq!(form.predicates[1].by, SelectBy::Labels);
    assert_eq!(form.predicates[1].labels, [term("env", TermOperator::IsNot, "prod")]);
    assert_eq!((&*form.spread[0].key, &*form.number), ("zone", "2"));
    assert_eq!((&*form.reselect, &*form.new_members), ("reselect", "auto"));
    assert_eq!(PlacementForm::from_query(&ParamsMap::new()), None);
}

#[test]
fn a_score_without_a_weight_has_weight_1_and_one_without_a_name_is_ignored() {
    let row = |name: &str, weight: &str| ScoreForm {
        name: name.into(),
        weight: weight.into(),
        selector: "a=b".into(),
    };
    let form = PlacementForm {
        score: vec![row("allocatableCpu", ""), row("", "5")],
        ..form_with(predicate_by(SelectBy::All))
    };
    let score = Score { name: ScoreName::AllocatableCpu, weight: 1, ..Score::default() };
    assert_eq!(form.parse().unwrap().score, [score]);
}
