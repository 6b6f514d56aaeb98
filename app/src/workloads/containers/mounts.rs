//! What a container finds mounted: the mount in the container and the volume of its pod, as one row.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::Text;
use super::fields::{Choice, Field, add, choice, field, id_of, rows, take};
use super::objects::At;

/// Slug: field of the volume.
const SOURCES: [(&str, &str); 4] = [
    ("configMap", "ConfigMap"),
    ("secret", "Secret"),
    ("emptyDir", "Empty folder"),
    ("persistentVolumeClaim", "Claim"),
];

/// The mounts of a container.
#[component]
pub fn Mounts(text: Text, at: At, pod: &'static str, base: String) -> impl IntoView {
    let list = format!("{base}/volumeMounts");
    let (counted, listed, adding) = (list.clone(), list.clone(), list.clone());
    let count = Memo::new(move |_| text.count(at, &counted));
    let row = move |n: usize| mount(text, at, pod, format!("{listed}/{n}"), n);
    let press = move || {
        let name = free_volume(&untrack(|| volumes(text, at, pod)));
        text.set(at, &format!("{pod}/volumes/-"), &json!({"name": name, "emptyDir": {}}));
        text.set(at, &format!("{adding}/-"), &json!({"name": name, "mountPath": format!("/{name}")}));
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
            <div class="stack-sm pt-3">{rows(text, at, list, row)} <div>{add("Mount", press)}</div></div>
        </details>
    }
    .into_any()
}

fn volumes(text: Text, at: At, pod: &str) -> Vec<Value> {
    text.value(at, &format!("{pod}/volumes")).and_then(|list| list.as_array().cloned()).unwrap_or_default()
}

fn free_volume(volumes: &[Value]) -> String {
    let taken = |name: &str| volumes.iter().any(|volume| volume["name"] == name);
    (1..).map(|n| format!("volume-{n}")).find(|name| !taken(name)).unwrap_or_default()
}

/// The number of the volume that a mount names.
fn volume_of(text: Text, at: At, pod: &str, mount: &str) -> Option<usize> {
    let name = text.scalar(at, &format!("{mount}/name"));
    volumes(text, at, pod).iter().position(|volume| volume["name"] == name.as_str())
}

/// The field of a source that names what is mounted.
fn named_by(source: &str) -> Option<&'static str> {
    match source {
        "configMap" => Some("name"),
        "secret" => Some("secretName"),
        "persistentVolumeClaim" => Some("claimName"),
        _ => None,
    }
}

fn mount(text: Text, at: At, pod: &'static str, path: String, n: usize) -> AnyView {
    let (looked, turned, gone) = (path.clone(), path.clone(), path.clone());
    let volume = Memo::new(move |_| volume_of(text, at, pod, &looked));
    let source = Memo::new(move |_| {
        let value = text.value(at, &format!("{pod}/volumes/{}", volume.get()?))?;
        SOURCES.iter().map(|source| source.0).find(|source| value.get(source).is_some())
    });
    let choose = Callback::new(move |to: String| {
        let Some(number) = untrack(|| volume_of(text, at, pod, &turned)) else { return };
        let name = untrack(|| text.scalar(at, &format!("{turned}/name")));
        let inner = named_by(&to).map_or_else(|| json!({}), |field| json!({field: ""}));
        text.set(at, &format!("{pod}/volumes/{number}"), &json!({"name": name, to: inner}));
    });
    let id = id_of(at, &format!("{path}/source"));
    view! {
        <div class="form-row form-row-env">
            {field(text, at, Field { label: "Mounted at", path: format!("{path}/mountPath"), example: "/data", compact: true, ..Field::default() })}
            {choice(Choice { id, label: "What is mounted", compact: true, choices: &SOURCES }, Signal::derive(move || source.get().unwrap_or_default().to_owned()), choose)}
            {move || {
                let from = volume.get().zip(source.get()).and_then(|(volume, source)| Some((volume, source, named_by(source)?)));
                match from {
                    Some((volume, source, part)) => {
                        let path = format!("{pod}/volumes/{volume}/{source}/{part}");
                        let name = field(text, at, Field { label: "Its name", path, example: "name", compact: true, ..Field::default() });
                        view! { <div class="form-row-wide">{name}</div> }.into_any()
                    }
                    None if source.get().is_some() => view! { <p class="meta form-row-wide">"Gone with the pod."</p> }.into_any(),
                    None => view! { <p class="meta form-row-wide">"Set in the YAML."</p> }.into_any(),
                }
            }}
            {take(format!("Remove mount {}", n + 1), move || unmount(text, at, pod, &gone))}
        </div>
    }
    .into_any()
}

/// Removes a mount, and its volume if nothing else mounts it.
fn unmount(text: Text, at: At, pod: &str, path: &str) {
    let volume = untrack(|| volume_of(text, at, pod, path));
    let name = untrack(|| text.scalar(at, &format!("{path}/name")));
    text.remove(at, path);
    let still = untrack(|| text.value(at, pod)).is_some_and(|pod| {
        let containers = ["containers", "initContainers"]
            .into_iter()
            .filter_map(|list| pod.get(list)?.as_array())
            .flatten();
        let mounts = containers.filter_map(|container| container.get("volumeMounts")?.as_array()).flatten();
        mounts.filter(|mount| mount["name"] == name.as_str()).count() > 0
    });
    if let (Some(number), false) = (volume, still) {
        text.remove(at, &format!("{pod}/volumes/{number}"));
    }
}
