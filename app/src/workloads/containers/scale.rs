//! More pods with more load: a HorizontalPodAutoscaler.

use leptos::prelude::*;

use super::Text;
use super::fields::{Field, field, notes};
use super::objects::{At, scaler_for, scales};
use super::reach::{Tick, tick};

/// The tick and its fields.
#[component]
pub fn Scale(text: Text, at: At) -> impl IntoView {
    let scaler = Memo::new(move |_| {
        let workload = text.object(at)?;
        text.find(|value| scales(value, &workload)).map(|object| object.at)
    });
    let press = move |on: bool| {
        let (there, workload) = (scaler.get_untracked(), untrack(|| text.object(at)));
        match (on, there, workload) {
            (true, None, Some(workload)) => {
                text.add_beside(at, &scaler_for(&workload));
                // Two that say how many would quarrel with every publish.
                text.remove(at, "/spec/replicas");
            }
            (false, Some(there), _) => {
                text.remove_object(there);
                text.set(at, "/spec/replicas", &serde_json::json!(2));
            }
            _ => {}
        }
    };
    let by_itself = Tick { label: "by itself, with the CPU in use", slug: "scale", why: "" };
    let on = Signal::derive(move || scaler.get().is_some());
    view! {
        <fieldset class="stack-md">
            <legend class="section pb-2">"Scale it"</legend>
            {tick(by_itself, on, Signal::stored(true), press)}
            {move || scaler.get().map(|there| fields(text, there))}
        </fieldset>
    }
    .into_any()
}

fn fields(text: Text, at: At) -> AnyView {
    let part = |label: &'static str, path: &str, example: &'static str| {
        field(text, at, Field { label, path: path.into(), example, number: true, ..Field::default() })
    };
    let cpu = "/spec/metrics/0/resource/target/averageUtilization";
    view! {
        <div class="form-inside stack-sm">
            <div class="field-row">
                {part("At least", "/spec/minReplicas", "2")} {part("At most", "/spec/maxReplicas", "5")} {part("CPU, percent", cpu, "80")}
            </div>
            {notes(text, at, "/spec".into(), false)}
        </div>
    }
    .into_any()
}
