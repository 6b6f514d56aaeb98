//! The fields of a Service.

use leptos::prelude::*;
use serde_json::Value;

use super::fields::{
    FieldProps, SelectProps, field_id, item_rows, path_findings, scalar_field, select_field,
};
use super::objects::ObjectLocation;
use super::source_text::SourceText;

const TYPES: [(&str, &str); 3] = [
    ("ClusterIP", "Inside the cluster (ClusterIP)"),
    ("NodePort", "On a port of every node (NodePort)"),
    ("LoadBalancer", "Through a load balancer (LoadBalancer)"),
];

/// Type and ports of the Service.
#[component]
pub fn ServiceFields(text: SourceText, at: ObjectLocation) -> impl IntoView {
    let kind = Signal::derive(move || match text.scalar(at, "/spec/type") {
        kind if kind.is_empty() => "ClusterIP".to_owned(),
        kind => kind,
    });
    let choose = Callback::new(move |to: String| match to.as_str() {
        "ClusterIP" => text.remove_value(at, "/spec/type"),
        _ => text.set_value(at, "/spec/type", &Value::from(to)),
    });
    let row = move |n: usize| {
        let part = |label: &'static str, part: &str, example: &'static str| {
            let path = format!("/spec/ports/{n}/{part}");
            scalar_field(text, at, FieldProps { label, path, example, number: true, ..FieldProps::default() })
        };
        view! { <div class="field-row">{part("Service port", "port", "80")} {part("Target port", "targetPort", "http")}</div> }.into_any()
    };
    view! {
        <div class="form-inside stack-sm">
            {select_field(SelectProps { id: field_id(at, "/spec/type"), label: "Service type", compact: false, options: &TYPES }, kind, choose)}
            {item_rows(text, at, "/spec/ports".into(), row)}
            {path_findings(text, at, "/spec/ports".into(), false)}
            {path_findings(text, at, "/spec/selector".into(), true)}
        </div>
    }
    .into_any()
}
