//! The fields of a Service.

use leptos::prelude::*;
use serde_json::Value;

use super::Text;
use super::fields::{Choice, Field, choice, field, id_of, notes, rows};
use super::objects::At;

const TYPES: [(&str, &str); 3] = [
    ("ClusterIP", "Inside the cluster (ClusterIP)"),
    ("NodePort", "A port of every node (NodePort)"),
    ("LoadBalancer", "A load balancer's address (LoadBalancer)"),
];

/// Type and ports.
#[component]
pub fn ServiceFields(text: Text, at: At) -> impl IntoView {
    let kind = Signal::derive(move || match text.scalar(at, "/spec/type") {
        kind if kind.is_empty() => "ClusterIP".to_owned(),
        kind => kind,
    });
    let choose = Callback::new(move |to: String| match to.as_str() {
        "ClusterIP" => text.remove(at, "/spec/type"),
        _ => text.set(at, "/spec/type", &Value::from(to)),
    });
    let row = move |n: usize| {
        let part = |label: &'static str, part: &str, example: &'static str| {
            let path = format!("/spec/ports/{n}/{part}");
            field(text, at, Field { label, path, example, number: true, ..Field::default() })
        };
        view! { <div class="field-row">{part("Service port", "port", "80")} {part("Leads to", "targetPort", "http")}</div> }.into_any()
    };
    view! {
        <div class="form-inside stack-sm">
            {choice(Choice { id: id_of(at, "/spec/type"), label: "Service type", compact: false, choices: &TYPES }, kind, choose)}
            {rows(text, at, "/spec/ports".into(), row)}
            {notes(text, at, "/spec/ports".into(), false)}
            {notes(text, at, "/spec/selector".into(), true)}
        </div>
    }
    .into_any()
}
