//! The kind of an object, editable while the workload was never published.

use leptos::prelude::*;
use serde_json::json;

use super::fields::{SelectProps, field_id, select_field};
use super::objects::{ObjectLocation, convert_kind, kind, name};
use super::source_text::SourceText;

const KINDS: [(&str, &str); 5] = [
    ("Deployment", "Deployment: interchangeable replicas"),
    ("StatefulSet", "StatefulSet: stable names and volumes"),
    ("DaemonSet", "DaemonSet: one pod per node"),
    ("Job", "Job: runs once to completion"),
    ("CronJob", "CronJob: runs on a schedule"),
];

/// The select for the kind.
#[component]
pub fn KindSelect(text: SourceText, at: ObjectLocation) -> impl IntoView {
    let shown =
        Signal::derive(move || text.object(at).map(|object| kind(&object).to_owned()).unwrap_or_default());
    let choose = Callback::new(move |to: String| convert_object(text, at, &to));
    select_field(
        SelectProps { id: field_id(at, "/kind"), label: "Kind", compact: false, options: &KINDS },
        shown,
        choose,
    )
}

/// Converts the object. Deployment, StatefulSet and DaemonSet differ in a few fields; for other kinds the document is replaced.
fn convert_object(text: SourceText, at: ObjectLocation, to: &str) {
    let Some(object) = untrack(|| text.object(at)) else { return };
    let long_lived = |kind: &str| matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet");
    if !(long_lived(kind(&object)) && long_lived(to)) {
        let new = convert_kind(&object, to);
        text.edit_file(at.file, |text| domain::yaml_edit::replace_document(text, at.document, &new));
        return;
    }
    text.set_value(at, "/kind", &json!(to));
    match to {
        "StatefulSet" => text.set_value(at, "/spec/serviceName", &json!(name(&object))),
        _ => text.remove_value(at, "/spec/serviceName"),
    }
    if to == "DaemonSet" {
        text.remove_value(at, "/spec/replicas");
    }
}
