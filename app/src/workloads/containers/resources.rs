//! CPU and memory: named sizes, or numbers.

use leptos::prelude::*;
use serde_json::json;

use super::Text;
use super::fields::{Choice, Field, choice, field, id_of, notes};
use super::objects::At;

/// Slug `cpu/memory` and words of each size.
const SIZES: [(&str, &str); 7] = [
    ("", "Own numbers"),
    ("125m/512Mi", "Nano: ⅛ CPU, 512 MiB"),
    ("250m/1Gi", "Micro: ¼ CPU, 1 GiB"),
    ("500m/2Gi", "Small: ½ CPU, 2 GiB"),
    ("1/4Gi", "Medium: 1 CPU, 4 GiB"),
    ("2/8Gi", "Large: 2 CPUs, 8 GiB"),
    ("4/16Gi", "X Large: 4 CPUs, 16 GiB"),
];

/// Size, requests, limits.
#[component]
pub fn Resources(text: Text, at: At, base: String) -> impl IntoView {
    let path = format!("{base}/resources");
    let (shown, chosen) = (path.clone(), path.clone());
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
            text.set(at, &format!("{chosen}/{part}"), &json!(value));
        }
    });
    let number = |label: &'static str, part: &str, example: &'static str| {
        field(text, at, Field { label, path: format!("{path}/{part}"), example, ..Field::default() })
    };
    view! {
        <fieldset class="stack-sm">
            <legend class="field-label pb-1">"CPU and memory"</legend>
            {choice(Choice { id: id_of(at, &path), label: "Size", compact: true, choices: &SIZES }, size, choose)}
            <div class="field-row field-row-light">
                {number("CPU request", "requests/cpu", "100m")} {number("CPU limit", "limits/cpu", "none")}
                {number("Memory request", "requests/memory", "128Mi")} {number("Memory limit", "limits/memory", "none")}
            </div>
            {notes(text, at, path.clone(), false)}
            {notes(text, at, format!("{path}/requests"), false)}
            {notes(text, at, format!("{path}/limits"), false)}
        </fieldset>
    }
    .into_any()
}
