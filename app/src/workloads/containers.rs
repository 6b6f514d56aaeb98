//! The form beside the text: it shows what the YAML says and edits it (docs/decisions/0013).
//!
//! Fields have no names of their own: what is sent is the text. So without script there is the text alone, and with
//! script the two can't disagree.

use domain::workload::Intent;
use leptos::prelude::*;

mod container;
mod env;
mod fields;
mod ingress;
mod kind;
mod mounts;
mod objects;
mod ports;
mod probes;
mod reach;
mod resources;
mod scale;
mod service;
mod text;
mod workload;

use objects::is_workload;
pub use text::Text;

use crate::components::{Banner, Look, icon};
use crate::workloads::skeleton;

/// The form over all workload objects of the text.
#[component]
pub fn ContainersForm(
    /// The text.
    text: Text,
    /// Name of the workload.
    name: String,
    /// What is wanted of the workload: the kind of an object that runs somewhere is not changed in a form.
    intent: Intent,
) -> impl IntoView {
    let workloads = Memo::new(move |_| {
        text.objects()
            .into_iter()
            .filter(|object| is_workload(&object.value))
            .map(|object| object.at)
            .collect::<Vec<_>>()
    });
    let name = StoredValue::new(name);
    let fresh = intent == Intent::Draft;
    view! {
        <div class="form-beside stack" role="group" aria-label="Form">
            {move || {
                text.trouble()
                    .map(|why| {
                        view! {
                            <Banner look=Look { icon: "warning", hue: "hue-drifted", loud: "state-quiet" }>
                                <p>{why}</p>
                            </Banner>
                        }
                    })
            }}
            <For
                each=move || workloads.get()
                key=|at| *at
                children=move |at| view! { <workload::WorkloadForm text=text at=at fresh=fresh /> }
            />
            <div class="stack-sm">
                {move || {
                    workloads
                        .with(Vec::is_empty)
                        .then(|| view! { <p class="text-2">"Paste manifests into the editor, or begin with a container and fill in its fields."</p> })
                }}
                <div>
                    <button
                        class="btn btn-sm"
                        type="button"
                        on:click=move |_| text.add(&skeleton::object(&text.free_name(&name.get_value())))
                    >
                        {icon("plus")}
                        "Deployment"
                    </button>
                </div>
            </div>
        </div>
    }
    .into_any()
}
