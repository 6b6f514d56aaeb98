//! The fields of one container.

use leptos::prelude::*;

use super::env::EnvironmentFields;
use super::fields::{FieldProps, lines_field, path_findings, scalar_field};
use super::mounts::MountFields;
use super::objects::ObjectLocation;
use super::ports::PortFields;
use super::probes::ProbeFields;
use super::resources::ResourceFields;
use super::source_text::SourceText;

/// The fields of one container.
#[component]
pub fn ContainerFields(
    /// The text.
    text: SourceText,
    /// The object.
    at: ObjectLocation,
    /// JSON pointer of the pod spec.
    pod: &'static str,
    /// Index of the container.
    n: usize,
    /// Whether it is the only container.
    is_only: bool,
) -> impl IntoView {
    let base = format!("{pod}/containers/{n}");
    let below = |part: &str| format!("{base}/{part}");
    let image = scalar_field(
        text,
        at,
        FieldProps {
            label: "Image",
            path: below("image"),
            example: "registry.example/team/app:1.4.2",
            ..FieldProps::default()
        },
    );
    let name = scalar_field(
        text,
        at,
        FieldProps { label: "Container name", path: below("name"), example: "app", ..FieldProps::default() },
    );
    let command = lines_field(
        text,
        at,
        FieldProps {
            label: "Command",
            path: below("command"),
            help: "One word per line; empty for the default of the image.",
            ..FieldProps::default()
        },
    );
    let args = lines_field(
        text,
        at,
        FieldProps {
            label: "Arguments",
            path: below("args"),
            help: "One per line.",
            ..FieldProps::default()
        },
    );
    let name_path = below("name");
    let removed = base.clone();
    let remove_container = move |_| {
        let name = untrack(|| text.scalar(at, &format!("{removed}/name")));
        text.remove_with_undo(format!("container {name}"), || text.remove_value(at, &removed));
    };
    let remove = (!is_only).then(|| {
        view! {
            <div>
                <button class="btn btn-sm noscript:hidden" type="button" on:click=remove_container>
                    "Remove this container"
                </button>
            </div>
        }
    });
    view! {
        <div class="fields" data-container=move || text.scalar(at, &name_path)>
            {image} {name} <PortFields text=text at=at base=base.clone() /> <ResourceFields text=text at=at base=base.clone() />
            <ProbeFields text=text at=at path=below("readinessProbe") label="Readiness probe" help="Until it succeeds, Services send no traffic and the release is not healthy." />
            <EnvironmentFields text=text at=at base=base.clone() />
            <details class="fold">
                <summary>"Command, liveness probe"</summary>
                <div class="fields pt-3">
                    <div class="field-row">{command} {args}</div>
                    <ProbeFields text=text at=at path=below("livenessProbe") label="Liveness probe" help="If it fails, the container is restarted." />
                </div>
            </details>
            <MountFields text=text at=at pod=pod base=base.clone() />
            {path_findings(text, at, base.clone(), false)}
            {remove}
        </div>
    }
    .into_any()
}
