//! What pods need to start, and is not among these objects (G218). What else a cluster has is not known here.

use std::collections::HashSet;

use serde_json::Value;

use super::scene::{Container, Pod, Scene, items, quoted};
use crate::finding::{Finding, Severity};

/// An object that a pod can't start without.
struct Need<'a> {
    kind: &'static str,
    name: &'a str,
    /// The key that must be in it, for ConfigMaps and Secrets.
    key: Option<&'a str>,
    /// JSON pointer inside the owner.
    path: String,
    /// What needs it, as a sentence begins.
    who: String,
}

/// G218: ConfigMaps, Secrets, service accounts and claims that a pod refers to, and their keys.
pub(super) fn present(scene: &Scene<'_>) -> Vec<Finding> {
    let made = made_by_others(scene);
    let mut findings = Vec::new();
    for pod in &scene.pods {
        let mut told = HashSet::new();
        for need in needs(pod) {
            let found = match scene.beside(pod.owner, need.kind, need.name) {
                Some(object) => missing_key(pod, &need, &object.manifest.object),
                None if made.contains(&(pod.owner.name.namespace.as_str(), need.name)) => None,
                None => told.insert((need.kind, need.name)).then(|| absent(pod, &need)),
            };
            findings.extend(found);
        }
    }
    findings
}

/// Names of objects that other kinds here make: an operator turns a `SealedSecret` or a `Certificate` into a Secret.
fn made_by_others<'a>(scene: &Scene<'a>) -> HashSet<(&'a str, &'a str)> {
    let customs = scene.objects.iter().filter(|subject| subject.name.group.contains('.'));
    let mut made = HashSet::new();
    for custom in customs {
        let namespace = custom.name.namespace.as_str();
        made.insert((namespace, custom.name.name.as_str()));
        for pointer in ["/spec/secretName", "/spec/target/name", "/spec/secretTemplate/metadata/name"] {
            made.insert((namespace, custom.text(pointer)));
        }
    }
    made
}

/// A Secret that is kept elsewhere is good practice, and only noted.
fn absent(pod: &Pod<'_>, need: &Need<'_>) -> Finding {
    let (kind, name) = (need.kind, quoted(need.name));
    let severity = if kind == "Secret" { Severity::Note } else { Severity::Warning };
    let message = format!(
        "{} {kind} {name}, which is not in this workload; without it on the cluster the pods of {} can't start.",
        need.who, pod.owner.shown
    );
    let hint = "Correct the name, add the object, or make sure that it is on every chosen cluster.";
    pod.owner.finding(("G218", severity), &need.path, message, hint)
}

fn missing_key(pod: &Pod<'_>, need: &Need<'_>, object: &Value) -> Option<Finding> {
    let key = need.key?;
    let there: Vec<&str> = ["data", "stringData", "binaryData"]
        .into_iter()
        .flat_map(|field| object[field].as_object().into_iter().flatten())
        .map(|(key, _)| key.as_str())
        .collect();
    if there.contains(&key) {
        return None;
    }
    let message = format!(
        "{} key {} of {} {}, which has no such key; the pods of {} can't start.",
        need.who,
        quoted(key),
        need.kind,
        quoted(need.name),
        pod.owner.shown
    );
    let hint = match crate::nearest::nearest(key, there.iter().copied()) {
        Some(near) => format!("Did you mean {near:?}?"),
        None => "Add the key, or correct its name.".to_owned(),
    };
    Some(pod.owner.warning("G218", &need.path, message, &hint))
}

fn needs<'a>(pod: &Pod<'a>) -> Vec<Need<'a>> {
    let mut needs: Vec<Need<'a>> = pod.containers.iter().flat_map(of_container).collect();
    let volumes: &'a [Value] = items(pod.spec.get("volumes"));
    let claimed = |volume: &Value| {
        let mut templates = items(pod.owner.get("/spec/volumeClaimTemplates")).iter();
        templates.any(|template| template.pointer("/metadata/name") == Some(&volume["name"]))
    };
    // A StatefulSet puts its own claims in the place of volumes of the same name.
    for (at, volume) in volumes.iter().enumerate().filter(|(_, volume)| !claimed(volume)) {
        needs.extend(of_volume(volume, &pod.at(&format!("/volumes/{at}"))));
    }
    let account = pod.spec["serviceAccountName"].as_str().unwrap_or_default();
    if !matches!(account, "" | "default") {
        let (path, who) = (pod.at("/serviceAccountName"), format!("{} runs as", pod.owner.shown));
        needs.push(Need { kind: "ServiceAccount", name: account, key: None, path, who });
    }
    needs
}

fn of_container<'a>(container: &Container<'a>) -> Vec<Need<'a>> {
    let who = || format!("Container {} reads", quoted(container.name));
    let mut needs = Vec::new();
    for (at, variable) in items(container.value.get("env")).iter().enumerate() {
        for (field, kind) in [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")] {
            let from = &variable["valueFrom"][field];
            if from.is_null() {
                continue;
            }
            let path = format!("{}/env/{at}/valueFrom/{field}", container.path);
            needs.extend(
                need(from, "name", (kind, path, who())).map(|one| Need { key: from["key"].as_str(), ..one }),
            );
        }
    }
    for (at, from) in items(container.value.get("envFrom")).iter().enumerate() {
        for (field, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
            let path = format!("{}/envFrom/{at}/{field}", container.path);
            needs.extend(need(&from[field], "name", (kind, path, who())));
        }
    }
    needs
}

fn of_volume<'a>(volume: &'a Value, path: &str) -> Vec<Need<'a>> {
    let who = format!("Volume {} is made of", quoted(volume["name"].as_str().unwrap_or_default()));
    let mut needs = Vec::new();
    for (field, name, kind) in [
        ("configMap", "name", "ConfigMap"),
        ("secret", "secretName", "Secret"),
        ("persistentVolumeClaim", "claimName", "PersistentVolumeClaim"),
    ] {
        if !volume[field].is_null() {
            needs.extend(need(&volume[field], name, (kind, format!("{path}/{field}"), who.clone())));
        }
    }
    for (at, source) in items(volume.pointer("/projected/sources")).iter().enumerate() {
        for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
            let path = format!("{path}/projected/sources/{at}/{field}");
            needs.extend(need(&source[field], "name", (kind, path, who.clone())));
        }
    }
    needs
}

/// A reference, unless it may be missing or every namespace has what it names.
fn need<'a>(from: &'a Value, field: &str, about: (&'static str, String, String)) -> Option<Need<'a>> {
    let (kind, path, who) = about;
    let name = from[field].as_str().filter(|name| !name.is_empty() && *name != "kube-root-ca.crt")?;
    (from["optional"] != true).then_some(Need { kind, name, key: None, path, who })
}
