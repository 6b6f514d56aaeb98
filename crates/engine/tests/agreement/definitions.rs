//! What a definition keeps of itself, and what its own rules refuse for its objects.

use domain::Finding;
use domain::plan::{ClusterPlan, PlannedAction};
use domain::release::StageName;
use domain::workload::Policies;
use serde_json::{Value, json};

use crate::apply::definition;
use crate::test_env::*;

/// What is planned for the object of this kind.
fn planned_action<'p>(plan: &'p ClusterPlan, kind: &str) -> &'p PlannedAction {
    let planned = plan.objects.iter().find(|planned| planned.object.kind == kind);
    &planned.unwrap_or_else(|| panic!("{kind}: {plan:#?}")).action
}

/// The finding that rejects the object of this kind.
fn rejection<'p>(plan: &'p ClusterPlan, kind: &str) -> &'p Finding {
    match planned_action(plan, kind) {
        PlannedAction::Rejected { finding } => finding,
        other => panic!("{kind}: {other:?}"),
    }
}

pub async fn g406_a_definition_keeps_its_scope_and_its_kind(env: TestEnv) {
    let lamps = definition("unchanged.example.com", "Lamp");
    env.set_present(vec![lamps.clone()], Policies::default());
    env.until_operational().await;
    let mut changed = lamps;
    changed["spec"]["scope"] = "Cluster".into();
    changed["spec"]["names"]["kind"] = "Torch".into();
    let plan = env.dry_run(vec![changed.clone()], Policies::default()).await;
    let finding = rejection(&plan, "CustomResourceDefinition");
    assert_eq!(finding.code, "G406", "{finding:#?}");
    for field in ["spec.scope", "spec.names.kind"] {
        assert!(finding.message.contains(field), "{finding:#?}");
    }
    assert!(finding.hint.contains("can only be deleted with all of its objects"), "{finding:#?}");
    env.set_present(vec![changed], Policies::default());
    let (_, message) = env.until_stage_reason(StageName::Applied, "ImmutableField").await;
    assert!(message.contains("spec.scope"), "{message}");
}

pub async fn g406_a_change_that_a_rule_of_a_definition_refuses_is_no_invalid_object(env: TestEnv) {
    const CHOSEN_ONCE: &str = "the size is chosen once";
    let lamp_kind = ("rules.example.com/v1", "Lamp");
    let mut lamps = definition("rules.example.com", "Lamp");
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    *lamps.pointer_mut(spec).unwrap() = json!({"type": "object", "required": ["size"], "properties": {
        "colour": {"type": "string"},
        "size": {"type": "integer",
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": CHOSEN_ONCE}]}}});
    let objects = |spec: Value| {
        let (version, kind) = lamp_kind;
        let lamp = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec});
        vec![lamps.clone(), lamp]
    };
    env.set_present(objects(json!({"size": 3, "colour": "red"})), Policies::default());
    env.until_applied().await;

    let plan = env.dry_run(objects(json!({"size": 4, "colour": "red"})), Policies::default()).await;
    let refused = rejection(&plan, "Lamp");
    assert_eq!(refused.code, "G406", "{refused:#?}");
    for part in ["spec.size", CHOSEN_ONCE] {
        assert!(refused.message.contains(part), "{refused:#?}");
    }
    assert!(refused.hint.starts_with("A rule of its kind compares"), "{refused:#?}");
    // Control: what is invalid in a new object too.
    let plan = env.dry_run(objects(json!({"colour": "red"})), Policies::default()).await;
    assert_eq!(rejection(&plan, "Lamp").code, "G403", "{plan:#?}");
    // Control: the rule concerns no other field.
    let plan = env.dry_run(objects(json!({"size": 3, "colour": "blue"})), Policies::default()).await;
    assert!(matches!(planned_action(&plan, "Lamp"), PlannedAction::Change { .. }), "{plan:#?}");

    env.set_present(objects(json!({"size": 4, "colour": "red"})), Policies::default());
    let (_, message) = env.until_stage_reason(StageName::Applied, "ImmutableField").await;
    assert!(message.contains(CHOSEN_ONCE), "{message}");
    // What the hint advises.
    env.delete(lamp_kind, "a").await;
    env.until_applied().await;
    assert_eq!(env.get(lamp_kind, "a").await.unwrap()["spec"]["size"], 4);
}
