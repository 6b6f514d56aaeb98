//! Autoscaling with a HorizontalPodAutoscaler.

use leptos::prelude::*;

use super::expose::{CheckboxProps, document_checkbox};
use super::fields::{FieldProps, path_findings, scalar_field};
use super::objects::{ObjectLocation, create_autoscaler, targets_workload};
use super::source_text::SourceText;

/// The checkbox for autoscaling, and its fields.
#[component]
pub fn AutoscalingFields(text: SourceText, at: ObjectLocation) -> impl IntoView {
    let scaler = Memo::new(move |_| {
        let workload = text.object(at)?;
        text.find(|value| targets_workload(value, &workload)).map(|object| object.location)
    });
    let press = move |on: bool| {
        let (there, workload) = (scaler.get_untracked(), untrack(|| text.object(at)));
        match (on, there, workload) {
            (true, None, Some(workload)) => {
                text.append_object_to_file(at, &create_autoscaler(&workload));
                // `spec.replicas` and the autoscaler would overwrite each other on every publish.
                text.remove_value(at, "/spec/replicas");
            }
            (false, Some(there), _) => {
                text.remove_object(there);
                text.set_value(at, "/spec/replicas", &serde_json::json!(2));
            }
            _ => {}
        }
    };
    let autoscale = CheckboxProps { label: "Scale with CPU utilization", slug: "scale", disabled_reason: "" };
    let on = Signal::derive(move || scaler.get().is_some());
    view! {
        <fieldset class="stack-md">
            <legend class="section pb-2">"Autoscaling"</legend>
            {document_checkbox(autoscale, on, Signal::stored(true), press)}
            {move || scaler.get().map(|there| autoscaler_fields(text, there))}
        </fieldset>
    }
    .into_any()
}

fn autoscaler_fields(text: SourceText, at: ObjectLocation) -> AnyView {
    let part = |label: &'static str, path: &str, example: &'static str| {
        scalar_field(
            text,
            at,
            FieldProps { label, path: path.into(), example, number: true, ..FieldProps::default() },
        )
    };
    let cpu = "/spec/metrics/0/resource/target/averageUtilization";
    view! {
        <div class="form-inside stack-sm">
            <div class="field-row">
                {part("Min replicas", "/spec/minReplicas", "2")} {part("Max replicas", "/spec/maxReplicas", "5")} {part("Target CPU, percent", cpu, "80")}
            </div>
            {path_findings(text, at, "/spec".into(), false)}
        </div>
    }
    .into_any()
}
