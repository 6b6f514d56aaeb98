//! The volume mounts of a container: each row edits the mount and the volume of its pod.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::fields::{
    FieldProps, SelectProps, add_button, field_id, item_rows, remove_button, scalar_field, select_field,
};
use super::objects::ObjectLocation;
use super::source_text::SourceText;

/// Field of the volume source, and label.
const SOURCES: [(&str, &str); 4] = [
    ("configMap", "ConfigMap"),
    ("secret", "Secret"),
    ("emptyDir", "Empty directory"),
    ("persistentVolumeClaim", "PVC"),
];

/// The mounts of a container.
#[component]
pub fn MountFields(text: SourceText, at: ObjectLocation, pod: &'static str, base: String) -> impl IntoView {
    let list = format!("{base}/volumeMounts");
    let (counted, listed, adding) = (list.clone(), list.clone(), list.clone());
    let count = Memo::new(move |_| text.count(at, &counted));
    let row = move |n: usize| mount_row(text, at, pod, format!("{listed}/{n}"), n);
    let press = move || {
        let name = find_free_volume_name(&untrack(|| list_volumes(text, at, pod)));
        text.set_value(at, &format!("{pod}/volumes/-"), &json!({"name": name, "emptyDir": {}}));
        text.set_value(at, &format!("{adding}/-"), &json!({"name": name, "mountPath": format!("/{name}")}));
    };
    let open = count.get_untracked() > 0;
    view! {
        <details class="fold" open=open>
            <summary>
                "Volumes "
                <span class="text-3 font-normal">
                    {move || match count.get() {
                        0 => "none mounted".to_owned(),
                        n => format!("{n} mounted"),
                    }}
                </span>
            </summary>
            <div class="stack-sm pt-3">{item_rows(text, at, list, row)} <div>{add_button("Mount", press)}</div></div>
        </details>
    }
    .into_any()
}

fn list_volumes(text: SourceText, at: ObjectLocation, pod: &str) -> Vec<Value> {
    text.value(at, &format!("{pod}/volumes")).and_then(|list| list.as_array().cloned()).unwrap_or_default()
}

fn find_free_volume_name(volumes: &[Value]) -> String {
    let is_taken = |name: &str| volumes.iter().any(|volume| volume["name"] == name);
    (1..).map(|n| format!("volume-{n}")).find(|name| !is_taken(name)).unwrap_or_default()
}

/// The index of the volume that a mount references.
fn find_volume(text: SourceText, at: ObjectLocation, pod: &str, mount: &str) -> Option<usize> {
    let name = text.scalar(at, &format!("{mount}/name"));
    list_volumes(text, at, pod).iter().position(|volume| volume["name"] == name.as_str())
}

/// The field of a volume source that holds the name of the mounted object.
fn name_field(source: &str) -> Option<&'static str> {
    match source {
        "configMap" => Some("name"),
        "secret" => Some("secretName"),
        "persistentVolumeClaim" => Some("claimName"),
        _ => None,
    }
}

fn mount_row(text: SourceText, at: ObjectLocation, pod: &'static str, path: String, n: usize) -> AnyView {
    let (looked, turned, gone) = (path.clone(), path.clone(), path.clone());
    let volume = Memo::new(move |_| find_volume(text, at, pod, &looked));
    let source = Memo::new(move |_| {
        let value = text.value(at, &format!("{pod}/volumes/{}", volume.get()?))?;
        SOURCES.iter().map(|source| source.0).find(|source| value.get(source).is_some())
    });
    let choose = Callback::new(move |to: String| {
        let Some(number) = untrack(|| find_volume(text, at, pod, &turned)) else { return };
        let name = untrack(|| text.scalar(at, &format!("{turned}/name")));
        let inner = name_field(&to).map_or_else(|| json!({}), |field| json!({field: ""}));
        text.set_value(at, &format!("{pod}/volumes/{number}"), &json!({"name": name, to: inner}));
    });
    let id = field_id(at, &format!("{path}/source"));
    view! {
        <div class="form-row form-row-env">
            {scalar_field(text, at, FieldProps { label: "Mount path", path: format!("{path}/mountPath"), example: "/data", compact: true, ..FieldProps::default() })}
            {select_field(SelectProps { id, label: "Volume source", compact: true, options: &SOURCES }, Signal::derive(move || source.get().unwrap_or_default().to_owned()), choose)}
            {move || {
                let from = volume.get().zip(source.get()).and_then(|(volume, source)| Some((volume, source, name_field(source)?)));
                match from {
                    Some((volume, source, part)) => {
                        let path = format!("{pod}/volumes/{volume}/{source}/{part}");
                        let name = scalar_field(text, at, FieldProps { label: "Source name", path, example: "name", compact: true, ..FieldProps::default() });
                        view! { <div class="form-row-wide">{name}</div> }.into_any()
                    }
                    None if source.get().is_some() => view! { <p class="meta form-row-wide">"Deleted with the pod."</p> }.into_any(),
                    None => view! { <p class="meta form-row-wide">"Set in the YAML."</p> }.into_any(),
                }
            }}
            {remove_button(format!("Remove mount {}", n + 1), move || remove_mount(text, at, pod, &gone))}
        </div>
    }
    .into_any()
}

/// Removes a mount, and its volume if no other mount references it.
fn remove_mount(text: SourceText, at: ObjectLocation, pod: &str, path: &str) {
    let volume = untrack(|| find_volume(text, at, pod, path));
    let name = untrack(|| text.scalar(at, &format!("{path}/name")));
    text.remove_value(at, path);
    let still = untrack(|| text.value(at, pod)).is_some_and(|pod| {
        let containers = ["containers", "initContainers"]
            .into_iter()
            .filter_map(|list| pod.get(list)?.as_array())
            .flatten();
        let mounts = containers.filter_map(|container| container.get("volumeMounts")?.as_array()).flatten();
        mounts.filter(|mount| mount["name"] == name.as_str()).count() > 0
    });
    if let (Some(number), false) = (volume, still) {
        text.remove_value(at, &format!("{pod}/volumes/{number}"));
    }
}
