//! What is stored of reports and events has no value of a Secret, whatever version of an agent has reported it and whatever version of a
//! server has stored it before.

use crate::evaluation::plan::{ClusterPlan, PlannedAction};
use crate::evaluation::secret_content::{hide_drifted_fields, hide_feedback};
use crate::model::event::{Event, EventDetail, EventSubject, NewEvent};
use crate::model::release::StageState;
use crate::model::report::{ReportBatch, ResourceStatus};
use crate::text::api_message::{redact_document, redact_message};

/// Hides the values of Secrets in the reports of a batch, and those that messages of API servers quote.
pub fn redact_batch(batch: &mut ReportBatch) {
    for report in &mut batch.releases {
        report.stages.iter_mut().for_each(|stage| redact_stage(&mut stage.state));
        redact_message(&mut report.health.message);
        redact_resources(&mut report.resources);
        for note in &mut report.drift {
            hide_drifted_fields(&note.object, &mut note.values, false);
        }
    }
}

fn redact_stage(state: &mut StageState) {
    match state {
        StageState::Skipped { message } | StageState::Running { message } => {
            redact_message(message);
        }
        StageState::Waiting(why) | StageState::Failed(why) => {
            redact_message(&mut why.message);
        }
        StageState::Pending | StageState::Done => {}
    }
}

/// The same in the objects of one release.
pub fn redact_resources(resources: &mut [ResourceStatus]) {
    for resource in resources {
        hide_drifted_fields(&resource.object, &mut resource.drifted_fields, false);
        hide_feedback(&resource.object, &mut resource.feedback, false);
        let texts = resource.causes.iter_mut();
        let causes = resource.failure_causes.iter_mut();
        let texts = texts.chain(causes.flat_map(|cause| [&mut cause.summary, &mut cause.detail]));
        let problems = resource.problem.iter_mut();
        let texts = texts.chain(problems.flat_map(|problem| [&mut problem.message, &mut problem.hint]));
        let feedback = resource.feedback.iter_mut().map(|feedback| &mut feedback.problem);
        for text in texts.chain(feedback).chain([&mut resource.health.message]) {
            redact_message(text);
        }
    }
}

/// The same in the messages of a dry run.
pub fn redact_plan(plan: &mut ClusterPlan) {
    for change in &mut plan.objects {
        redact_message(&mut change.unverified);
    }
    let rejections = plan.objects.iter_mut().filter_map(|change| match &mut change.action {
        PlannedAction::Rejected { finding } => Some(finding),
        _ => None,
    });
    for finding in rejections.chain(&mut plan.findings) {
        redact_message(&mut finding.message);
        redact_message(&mut finding.hint);
    }
}

/// The message and the detail of a stored event without such values; `None` if it has none. Everybody reads events.
pub fn redact_event(event: &Event) -> Option<(String, Option<EventDetail>)> {
    let detail = event.detail.as_ref().map(redact_detail);
    let message = match &detail {
        // The sentence has values of the detail.
        Some(drift @ EventDetail::Drift(_)) => {
            let subject = EventSubject {
                workload: event.workload.map(|id| (id, event.workload_name.clone())),
                cluster: event.cluster.map(|id| (id, event.cluster_name.clone())),
                release: event.release,
                object: None,
            };
            NewEvent::from_detail(drift.clone(), &event.actor, subject, event.at).truncated().message
        }
        _ => {
            let mut message = event.message.clone();
            redact_message(&mut message);
            message
        }
    };
    let has_changed = message != event.message || detail != event.detail;
    has_changed.then_some((message, detail))
}

fn redact_detail(detail: &EventDetail) -> EventDetail {
    let mut detail = detail.clone();
    if let EventDetail::Drift(drift) = &mut detail {
        hide_drifted_fields(&drift.object, &mut drift.values, true);
        return detail;
    }
    let Ok(mut document) = serde_json::to_value(&detail) else { return detail };
    if !redact_document(&mut document) {
        return detail;
    }
    serde_json::from_value(document).unwrap_or(detail)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::evaluation::plan::PlannedChange;
    use crate::kubernetes::object::ObjectRef;
    use crate::kubernetes::time::Timestamp;
    use crate::model::event::DriftDetail;
    use crate::model::report::{DriftOutcome, DriftedField};
    use crate::text::finding::Finding;

    fn drifted(path: &str) -> DriftedField {
        DriftedField {
            path: path.to_owned(),
            applied: Some(json!("canary-old")),
            live: Some(json!("canary-new")),
            ..DriftedField::default()
        }
    }

    fn event_of(kind: &str, path: &str) -> Event {
        let detail = EventDetail::Drift(DriftDetail {
            object: ObjectRef { version: "v1".to_owned(), kind: kind.to_owned(), ..ObjectRef::default() },
            fields: vec![path.to_owned()],
            values: vec![drifted(path)],
            manager: "kubectl".to_owned(),
            outcome: DriftOutcome::Found,
            more: 0,
        });
        let at = Timestamp::from_millis(1);
        let new = NewEvent::from_detail(detail, "kubectl", EventSubject::default(), at);
        Event {
            seq: 1,
            at,
            kind: new.kind,
            severity: new.severity,
            workload: None,
            workload_name: String::new(),
            cluster: None,
            cluster_name: "east".to_owned(),
            release: None,
            actor: new.actor,
            message: new.message,
            detail: new.detail,
        }
    }

    #[test]
    fn an_event_of_drift_loses_values_of_secrets_and_keeps_others() {
        for (kind, path) in [("Secret", "/data/a"), ("ConfigMap", "/data/password")] {
            let event = event_of(kind, path);
            assert!(event.message.contains("canary-new"), "{}", event.message);
            let (message, detail) = redact_event(&event).unwrap();
            assert!(!message.contains("canary") && message.contains(path), "{message}");
            assert!(!serde_json::to_string(&detail).unwrap().contains("canary"), "{detail:?}");
            assert_eq!(redact_event(&Event { message, detail, ..event }), None, "once");
        }
        assert_eq!(redact_event(&event_of("ConfigMap", "/data/colour")), None);
    }

    #[test]
    fn messages_of_a_dry_run_lose_the_values_that_they_quote() {
        let message = r#"Invalid value: {"a":"canary"}: field is immutable"#;
        let finding = Finding::error("G406", message, "");
        let rejected = PlannedAction::Rejected { finding: finding.clone() };
        let rejected = PlannedChange::verified(ObjectRef::default(), rejected);
        let unverified = PlannedChange::unverified(ObjectRef::default(), PlannedAction::Create, message);
        let mut plan = ClusterPlan::from_changes(vec![rejected, unverified]);
        plan.findings = vec![finding];
        redact_plan(&mut plan);
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(text.matches("Invalid value: …: field is immutable").count(), 3, "{text}");
        assert!(!text.contains("canary"), "{text}");
    }

    #[test]
    fn an_object_with_a_value_in_a_message_keeps_the_rest_of_it() {
        let mut resource =
            ResourceStatus { drifted_fields: vec![drifted("/data/a")], ..ResourceStatus::default() };
        resource.object.kind = "Secret".to_owned();
        resource.health.message = "got &value.valueUnstructured{Value:4711}, and more".to_owned();
        redact_resources(std::slice::from_mut(&mut resource));
        assert_eq!(resource.health.message, "got &value.valueUnstructured…, and more");
        assert!(!serde_json::to_string(&resource).unwrap().contains("canary"), "{resource:?}");
    }
}
