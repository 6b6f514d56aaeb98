//! CPU and memory: named sizes, or custom quantities.

use leptos::prelude::*;
use serde_json::json;

use super::fields::{FieldProps, SelectProps, field_id, path_findings, scalar_field, select_field};
use super::objects::ObjectLocation;
use super::source_text::SourceText;

/// Value `cpu/memory` and label of each size.
const SIZES: [(&str, &str); 7] = [
    ("", "Custom"),
    ("125m/512Mi", "Nano: ⅛ CPU, 512 MiB"),
    ("250m/1Gi", "Micro: ¼ CPU, 1 GiB"),
    ("500m/2Gi", "Small: ½ CPU, 2 GiB"),
    ("1/4Gi", "Medium: 1 CPU, 4 GiB"),
    ("2/8Gi", "Large: 2 CPUs, 8 GiB"),
    ("4/16Gi", "X Large: 4 CPUs, 16 GiB"),
];

/// Size, requests and limits.
#[component]
pub fn ResourceFields(text: SourceText, at: ObjectLocation, base: String) -> impl IntoView {
    let path = format!("{base}/resources");
    let (shown, target) = (path.clone(), path.clone());
    let size = Signal::derive(move || {
        let part = |part: &str| text.scalar(at, &format!("{shown}/{part}"));
        let slug = format!("{}/{}", part("requests/cpu"), part("requests/memory"));
        let known =
            SIZES.iter().any(|(size, _)| *size == slug) && part("limits/memory") == part("requests/memory");
        if known { slug } else { String::new() }
    });
    let choose = Callback::new(move |slug: String| {
        let Some((cpu, memory)) = slug.split_once('/') else { return };
        for (part, value) in [("requests/cpu", cpu), ("requests/memory", memory), ("limits/memory", memory)] {
            text.set_value(at, &format!("{target}/{part}"), &json!(value));
        }
    });
    let number = |label: &'static str, part: &str, example: &'static str| {
        scalar_field(
            text,
            at,
            FieldProps { label, path: format!("{path}/{part}"), example, ..FieldProps::default() },
        )
    };
    view! {
        <fieldset class="stack-sm">
            <legend class="field-label pb-1">"CPU and memory"</legend>
            {select_field(SelectProps { id: field_id(at, &path), label: "Size", compact: true, options: &SIZES }, size, choose)}
            <div class="field-row field-row-light">
                {number("CPU request", "requests/cpu", "100m")} {number("CPU limit", "limits/cpu", "none")}
                {number("Memory request", "requests/memory", "128Mi")} {number("Memory limit", "limits/memory", "none")}
            </div>
            {path_findings(text, at, path.clone(), false)}
            {path_findings(text, at, format!("{path}/requests"), false)}
            {path_findings(text, at, format!("{path}/limits"), false)}
        </fieldset>
    }
    .into_any()
}
