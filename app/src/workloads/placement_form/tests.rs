//! What the form holds, reads back and refuses.

use domain::placement::Toleration;

use super::*;

fn form(set: SetForm) -> PlacementForm {
    PlacementForm { sets: vec![set], ..PlacementForm::default() }
}

fn by(by: By) -> SetForm {
    SetForm { by, ..SetForm::default() }
}

#[test]
fn a_placement_reads_back_as_the_form_that_wrote_it() {
    let labels = SetForm { selector: "env=prod,region in (eu,us)".into(), ..by(By::Labels) };
    let mixed = SetForm {
        names: vec!["edge-1".into()],
        groups: vec!["edge".into()],
        facts: "provider=aws,kubernetesVersion>=1.33".into(),
        ..by(By::Mixed)
    };
    let spread =
        SpreadForm { key: "region".into(), skew: "2".into(), groups: "3".into(), when: "anyway".into() };
    let score = ScoreForm { name: ScoreName::Label, weight: "-3".into(), selector: "tier=edge".into() };
    let form = PlacementForm {
        sets: vec![labels, mixed, by(By::All)],
        exclude: "edge-1, edge-2".into(),
        tolerations: "spot=true:PreferNoSelect, maintenance, *:NoSelect".into(),
        number: "3".into(),
        minimum: "2".into(),
        spread: vec![spread],
        score: vec![score],
        moving: "moving".into(),
        members: "auto".into(),
        ..PlacementForm::default()
    };
    let placement = form.placement().unwrap();
    assert_eq!(placement.predicates.len(), 3);
    let text = in_yaml(&placement);
    assert_eq!(PlacementForm::of(&placement), PlacementForm { text, ..form });
}

#[test]
fn nothing_typed_places_nowhere() {
    for way in [By::Names, By::Groups, By::Labels, By::Facts, By::Mixed] {
        assert_eq!(form(by(way)).placement().unwrap().predicates, []);
    }
    assert_eq!(form(by(By::All)).placement().unwrap().predicates, [Predicate::default()]);
}

#[test]
fn what_belongs_to_another_way_of_choosing_is_left_out() {
    let set = SetForm {
        names: vec!["a".into()],
        more: "b c a".into(),
        selector: "env=prod".into(),
        ..by(By::Names)
    };
    let placement = form(set).placement().unwrap();
    assert_eq!(
        placement.predicates,
        [Predicate { names: vec!["a".into(), "b".into(), "c".into()], ..Predicate::default() }]
    );
}

#[test]
fn g502_every_field_that_cannot_be_read_is_named() {
    let form = PlacementForm {
        sets: vec![
            SetForm { selector: "env=pro d".into(), ..by(By::Labels) },
            SetForm { facts: "cloud=aws".into(), ..by(By::Facts) },
        ],
        number: "0".into(),
        minimum: "x".into(),
        tolerations: "a:Never".into(),
        spread: vec![SpreadForm { key: "region".into(), skew: "-1".into(), ..SpreadForm::default() }],
        score: vec![ScoreForm { weight: "much".into(), ..ScoreForm::default() }],
        ..PlacementForm::default()
    };
    let wrong = form.wrong();
    let paths: Vec<&str> = wrong.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "/placement/minimum",
            "/placement/number",
            "/placement/score/0/weight",
            "/placement/sets/0/selector",
            "/placement/sets/1/facts",
            "/placement/spread/0/skew",
            "/placement/tolerations",
        ]
    );
}

#[test]
fn what_the_fields_cannot_hold_is_shown_as_text_and_the_text_counts() {
    let toleration = Toleration { key: "two words".into(), ..Toleration::default() };
    let placement = Placement { tolerations: vec![toleration], ..Placement::default() };
    let form = PlacementForm::of(&placement);
    assert_eq!(form.as_text, "yes");
    assert_eq!(form.placement(), Ok(placement));
    let broken = PlacementForm { text: "predicates: 3".into(), ..form };
    assert!(broken.wrong()["/placement/text"].message.starts_with("This is no placement"));
}

#[test]
fn an_address_carries_the_form() {
    let mut query = ParamsMap::new();
    for (name, value) in [
        ("placement[sets][0][by]", "names"),
        ("placement[sets][0][names][]", "a"),
        ("placement[sets][0][names][]", "b"),
        ("placement[sets][1][by]", "labels"),
        ("placement[sets][1][selector]", "env=prod"),
        ("placement[spread][0][key]", "zone"),
        ("placement[number]", "2"),
    ] {
        query.insert(name, value.to_owned());
    }
    let form = PlacementForm::from_query(&query).unwrap();
    assert_eq!(form.sets[0].names, ["a", "b"]);
    assert_eq!((form.sets[1].by, &*form.sets[1].selector), (By::Labels, "env=prod"));
    assert_eq!((&*form.spread[0].key, &*form.number), ("zone", "2"));
    assert_eq!(PlacementForm::from_query(&ParamsMap::new()), None);
}
