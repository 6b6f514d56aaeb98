//! The name that `as_str` returns is the name in JSON: URLs, the database and the console use the one, the API the other.

use domain::cluster::{ClusterKind, Connectivity, TaintEffect};
use domain::drift::{DriftState, DriftVerb};
use domain::finding::Severity;
use domain::health::HealthStatus;
use domain::join::{ClusterConditionType, RegistrationState};
use domain::placement::{FactKey, ScoreName};
use domain::project::PublishApproval;
use domain::release::stage::StageReason;
use domain::release::{Gate, Reason, ReleaseState, StageName, StageState, SyncStatus};
use domain::rollout::{OnFailure, RolloutAction, RolloutClusterStatus, Weekday};
use domain::search::{ActionName, SearchKind};
use domain::workload::Intent;
use serde::Serialize;
use strum::VariantArray;

fn assert_names_as_in_json<T: Serialize + VariantArray + Copy>(name: fn(T) -> &'static str) {
    for value in T::VARIANTS {
        assert_eq!(serde_json::to_value(value).unwrap(), name(*value));
    }
}

#[test]
fn every_name_is_the_name_in_json() {
    assert_names_as_in_json(ClusterKind::as_str);
    assert_names_as_in_json(Connectivity::as_str);
    assert_names_as_in_json(TaintEffect::as_str);
    assert_names_as_in_json(Severity::as_str);
    assert_names_as_in_json(HealthStatus::as_str);
    assert_names_as_in_json(RegistrationState::as_str);
    assert_names_as_in_json(ClusterConditionType::as_str);
    assert_names_as_in_json(FactKey::as_str);
    assert_names_as_in_json(ScoreName::as_str);
    assert_names_as_in_json(SyncStatus::as_str);
    assert_names_as_in_json(Gate::as_str);
    assert_names_as_in_json(ReleaseState::as_str);
    assert_names_as_in_json(RolloutAction::as_str);
    assert_names_as_in_json(OnFailure::as_str);
    assert_names_as_in_json(RolloutClusterStatus::as_str);
    assert_names_as_in_json(PublishApproval::as_str);
    assert_names_as_in_json(Weekday::as_str);
    assert_names_as_in_json(Intent::as_str);
    assert_names_as_in_json(SearchKind::as_str);
    assert_names_as_in_json(ActionName::as_str);
    assert_names_as_in_json(DriftState::as_str);
    assert_names_as_in_json(|verb: DriftVerb| verb.into());
}

#[test]
fn the_name_of_a_stage_state_is_its_tag_in_json() {
    let reason = StageReason::new(Reason::Unspecified, "");
    for state in [
        StageState::Pending,
        StageState::Skipped { message: String::new() },
        StageState::Running { message: String::new() },
        StageState::Waiting(reason.clone()),
        StageState::Failed(reason),
        StageState::Done,
    ] {
        assert_eq!(serde_json::to_value(&state).unwrap()["state"], state.as_str());
    }
}

#[test]
fn the_derived_lists_are_in_the_order_of_the_declaration() {
    assert!(ReleaseState::ALL.is_sorted());
    assert!(StageName::ALL.is_sorted());
    assert!(HealthStatus::ALL.is_sorted());
}
