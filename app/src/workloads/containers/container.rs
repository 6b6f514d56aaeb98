//! One container.

use leptos::prelude::*;

use super::Text;
use super::env::Environment;
use super::fields::{Field, field, lines, notes};
use super::mounts::Mounts;
use super::objects::At;
use super::ports::Ports;
use super::probes::Probe;
use super::resources::Resources;

/// The fields of one container.
#[component]
pub fn ContainerFields(
    /// The text.
    text: Text,
    /// The object.
    at: At,
    /// JSON pointer of the pod's description.
    pod: &'static str,
    /// Number of the container.
    n: usize,
    /// Whether it is the only one.
    alone: bool,
) -> impl IntoView {
    let base = format!("{pod}/containers/{n}");
    let below = |part: &str| format!("{base}/{part}");
    let image = field(
        text,
        at,
        Field {
            label: "Image",
            path: below("image"),
            example: "registry.example/team/app:1.4.2",
            ..Field::default()
        },
    );
    let name = field(
        text,
        at,
        Field { label: "Container name", path: below("name"), example: "app", ..Field::default() },
    );
    let command = lines(
        text,
        at,
        Field {
            label: "Command",
            path: below("command"),
            help: "One word a line; the image's own if empty.",
            ..Field::default()
        },
    );
    let args = lines(
        text,
        at,
        Field { label: "Arguments", path: below("args"), help: "One a line.", ..Field::default() },
    );
    let gone = base.clone();
    let remove = (!alone).then(|| {
        view! {
            <div>
                <button class="btn btn-sm" type="button" on:click=move |_| text.remove(at, &gone)>
                    "Remove this container"
                </button>
            </div>
        }
    });
    view! {
        <div class="fields">
            {image} {name} <Ports text=text at=at base=base.clone() /> <Resources text=text at=at base=base.clone() />
            <Probe text=text at=at path=below("readinessProbe") label="Ready when" help="Until then a Service sends it nothing, and a release is not healthy." />
            <Environment text=text at=at base=base.clone() />
            <details class="fold">
                <summary>"Command, liveness"</summary>
                <div class="fields pt-3">
                    <div class="field-row">{command} {args}</div>
                    <Probe text=text at=at path=below("livenessProbe") label="Alive when" help="Where this fails, the container is started again." />
                </div>
            </details>
            <Mounts text=text at=at pod=pod base=base.clone() />
            {notes(text, at, base.clone(), false)}
            {remove}
        </div>
    }
    .into_any()
}
