//! What kind of object it is, while it runs nowhere.

use leptos::prelude::*;
use serde_json::json;

use super::Text;
use super::fields::{Choice, choice, id_of};
use super::objects::{At, converted, kind, name};

const CHOICES: [(&str, &str); 5] = [
    ("Deployment", "Deployment: any number, anywhere"),
    ("StatefulSet", "StatefulSet: each with a name and a volume"),
    ("DaemonSet", "DaemonSet: one on every node"),
    ("Job", "Job: once, to its end"),
    ("CronJob", "CronJob: by the clock"),
];

/// The choice.
#[component]
pub fn KindChoice(text: Text, at: At) -> impl IntoView {
    let shown =
        Signal::derive(move || text.object(at).map(|object| kind(&object).to_owned()).unwrap_or_default());
    let choose = Callback::new(move |to: String| turn(text, at, &to));
    choice(Choice { id: id_of(at, "/kind"), label: "Kind", compact: false, choices: &CHOICES }, shown, choose)
}

/// Between Deployment, StatefulSet and DaemonSet a few fields differ; for the others the document is written anew.
fn turn(text: Text, at: At, to: &str) {
    let Some(object) = untrack(|| text.object(at)) else { return };
    let long_lived = |kind: &str| matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet");
    if !(long_lived(kind(&object)) && long_lived(to)) {
        let new = converted(&object, to);
        text.change(at.file, |text| domain::edit::replace_document(text, at.document, &new));
        return;
    }
    text.set(at, "/kind", &json!(to));
    match to {
        "StatefulSet" => text.set(at, "/spec/serviceName", &json!(name(&object))),
        _ => text.remove(at, "/spec/serviceName"),
    }
    if to == "DaemonSet" {
        text.remove(at, "/spec/replicas");
    }
}
