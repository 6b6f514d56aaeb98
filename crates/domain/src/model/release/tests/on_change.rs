//! Releases whose policies let every revision write ignored fields again.

use super::*;
use crate::model::policy::{IgnoreRule, IgnoreWhen};

/// Policies with one rule.
fn policies(when: IgnoreWhen) -> Policies {
    let rule = IgnoreRule { when, paths: vec!["/spec/replicas".to_owned()], ..IgnoreRule::default() };
    Policies { ignore: vec![rule], ..Policies::default() }
}

/// Healthy with the first bundle under these policies.
fn healthy_release_with(policies: &Policies) -> Release {
    let mut release = new_release();
    release.set_desired_revision(1, RenderOutcome::Bundle(bundle(1)), policies.clone(), at(1));
    let report = operational_report(&release);
    release.apply_report(&report, at(2)).unwrap();
    release
}

#[test]
fn p26_a_revision_with_the_same_bundle_is_delivered_if_it_writes_ignored_fields_again() {
    let mut release = healthy_release_with(&policies(IgnoreWhen::OnChange));
    let again = |release: &mut Release, revision, when| {
        let outcome = RenderOutcome::Bundle(bundle(1));
        release.set_desired_revision(revision, outcome, policies(when), at(3))
    };
    assert!(!again(&mut release, 1, IgnoreWhen::OnChange), "another pass over the same revision");
    assert_eq!(release.generation, 1);
    assert!(again(&mut release, 2, IgnoreWhen::OnChange));
    assert_eq!((release.generation, release.released_revision), (2, Some(2)));

    let mut release = healthy_release_with(&policies(IgnoreWhen::OnPresence));
    assert!(!again(&mut release, 2, IgnoreWhen::OnPresence), "what is left to others stays so");
    assert_eq!((release.generation, release.released_revision), (1, Some(2)));
}

#[test]
fn a_revision_that_writes_ignored_fields_again_waits_for_its_wave() {
    let policies = policies(IgnoreWhen::OnChange);
    let mut release = healthy_release_with(&policies);
    let next = DesiredRevision {
        revision: 2,
        outcome: RenderOutcome::Bundle(bundle(1)),
        policies: policies.clone(),
    };
    assert!(!release.gate_revision(next, "Waits for wave 2 of 2 (rest).", at(5)));
    assert!(release.is_gated());
    // The agent may not see the revision before it is admitted.
    let desired = release.desired_release("web").unwrap();
    assert!(matches!(desired.phase, DesiredPhase::Present { revision: 1, .. }), "{desired:?}");
    assert!(release.admit(policies, at(6)));
    let desired = release.desired_release("web").unwrap();
    assert_eq!(desired.generation, 2);
    assert!(matches!(desired.phase, DesiredPhase::Present { revision: 2, .. }), "{desired:?}");
}
