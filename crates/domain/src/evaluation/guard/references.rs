//! Objects that pods need to start and that the workload does not contain (G218). Other objects of a cluster are not
//! considered.

use std::collections::HashSet;

use serde_json::Value;

use super::rule_context::{Container, PodTemplate, RuleContext, items, quote};
use crate::text::finding::{Finding, Severity};

/// An object without which a pod can't start.
struct RequiredObject<'a> {
    kind: &'static str,
    name: &'a str,
    /// The required key, for ConfigMaps and Secrets.
    key: Option<&'a str>,
    /// JSON pointer inside the object that has the pod template.
    path: String,
    /// Start of the message: what needs the object, with the verb.
    message_start: String,
}

/// G218: ConfigMaps, Secrets, service accounts and claims that a pod references, and their keys.
pub(super) fn unresolved(context: &RuleContext<'_>) -> Vec<Finding> {
    let generated = generated_names(context);
    let mut findings = Vec::new();
    for pod in &context.pods {
        let mut reported = HashSet::new();
        for need in required_objects(pod) {
            let found = match context.find_in_namespace(pod.owner, need.kind, need.name) {
                Some(object) => missing_key(pod, &need, &object.manifest.object),
                None if generated.contains(&(pod.owner.name.namespace.as_str(), need.name)) => None,
                None => reported.insert((need.kind, need.name)).then(|| missing_object(pod, &need)),
            };
            findings.extend(found);
        }
    }
    findings
}

/// Namespaces and names of objects that operators create from custom resources of the workload: a Secret from a
/// `SealedSecret` or a `Certificate`.
fn generated_names<'a>(context: &RuleContext<'a>) -> HashSet<(&'a str, &'a str)> {
    let customs = context.objects.iter().filter(|object| object.name.group.contains('.'));
    let mut generated = HashSet::new();
    for custom in customs {
        let namespace = custom.name.namespace.as_str();
        generated.insert((namespace, custom.name.name.as_str()));
        for pointer in ["/spec/secretName", "/spec/target/name", "/spec/secretTemplate/metadata/name"] {
            generated.insert((namespace, custom.text(pointer)));
        }
    }
    generated
}

/// A missing Secret is only a note, because it is good practice to store Secrets elsewhere.
fn missing_object(pod: &PodTemplate<'_>, need: &RequiredObject<'_>) -> Finding {
    let (kind, name) = (need.kind, quote(need.name));
    let severity = if kind == "Secret" { Severity::Note } else { Severity::Warning };
    let message = format!(
        "{} {kind} {name}, which is not in this workload; without it on the cluster the pods of {} can't start.",
        need.message_start, pod.owner.display_name
    );
    let hint = "Correct the name, add the object, or make sure that it exists on every selected cluster.";
    pod.owner.finding(("G218", severity), &need.path, message, hint)
}

fn missing_key(pod: &PodTemplate<'_>, need: &RequiredObject<'_>, object: &Value) -> Option<Finding> {
    let key = need.key?;
    let keys: Vec<&str> = ["data", "stringData", "binaryData"]
        .into_iter()
        .flat_map(|field| object[field].as_object().into_iter().flatten())
        .map(|(key, _)| key.as_str())
        .collect();
    if keys.contains(&key) {
        return None;
    }
    let message = format!(
        "{} key {} of {} {}, which has no such key; the pods of {} can't start.",
        need.message_start,
        quote(key),
        need.kind,
        quote(need.name),
        pod.owner.display_name
    );
    let hint = match crate::kubernetes::nearest::find_nearest(key, keys.iter().copied()) {
        Some(near) => format!("Did you mean {near:?}?"),
        None => "Add the key, or correct its name.".to_owned(),
    };
    Some(pod.owner.warning("G218", &need.path, message, &hint))
}

fn required_objects<'a>(pod: &PodTemplate<'a>) -> Vec<RequiredObject<'a>> {
    let mut needs: Vec<RequiredObject<'a>> = pod.containers.iter().flat_map(required_by_container).collect();
    let volumes: &'a [Value] = items(pod.spec.get("volumes"));
    let claimed = |volume: &Value| {
        let mut templates = items(pod.owner.get("/spec/volumeClaimTemplates")).iter();
        templates.any(|template| template.pointer("/metadata/name") == Some(&volume["name"]))
    };
    // The claims of a StatefulSet replace volumes of the same name.
    for (at, volume) in volumes.iter().enumerate().filter(|(_, volume)| !claimed(volume)) {
        needs.extend(required_by_volume(volume, &pod.spec_pointer(&format!("/volumes/{at}"))));
    }
    let account = pod.spec["serviceAccountName"].as_str().unwrap_or_default();
    if !matches!(account, "" | "default") {
        let (path, who) =
            (pod.spec_pointer("/serviceAccountName"), format!("{} runs as", pod.owner.display_name));
        needs.push(RequiredObject {
            kind: "ServiceAccount",
            name: account,
            key: None,
            path,
            message_start: who,
        });
    }
    needs
}

fn required_by_container<'a>(container: &Container<'a>) -> Vec<RequiredObject<'a>> {
    let who = || format!("Container {} reads", quote(container.name));
    let mut needs = Vec::new();
    for (at, variable) in items(container.value.get("env")).iter().enumerate() {
        for (field, kind) in [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")] {
            let from = &variable["valueFrom"][field];
            if from.is_null() {
                continue;
            }
            let path = format!("{}/env/{at}/valueFrom/{field}", container.path);
            needs.extend(
                parse_reference(from, "name", (kind, path, who()))
                    .map(|one| RequiredObject { key: from["key"].as_str(), ..one }),
            );
        }
    }
    for (at, from) in items(container.value.get("envFrom")).iter().enumerate() {
        for (field, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
            let path = format!("{}/envFrom/{at}/{field}", container.path);
            needs.extend(parse_reference(&from[field], "name", (kind, path, who())));
        }
    }
    needs
}

fn required_by_volume<'a>(volume: &'a Value, path: &str) -> Vec<RequiredObject<'a>> {
    let who = format!("Volume {} uses", quote(volume["name"].as_str().unwrap_or_default()));
    let mut needs = Vec::new();
    for (field, name, kind) in [
        ("configMap", "name", "ConfigMap"),
        ("secret", "secretName", "Secret"),
        ("persistentVolumeClaim", "claimName", "PersistentVolumeClaim"),
    ] {
        if !volume[field].is_null() {
            needs.extend(parse_reference(
                &volume[field],
                name,
                (kind, format!("{path}/{field}"), who.clone()),
            ));
        }
    }
    for (at, source) in items(volume.pointer("/projected/sources")).iter().enumerate() {
        for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
            let path = format!("{path}/projected/sources/{at}/{field}");
            needs.extend(parse_reference(&source[field], "name", (kind, path, who.clone())));
        }
    }
    needs
}

/// The object of a reference; `None` if the reference is optional or the object exists in every namespace.
fn parse_reference<'a>(
    from: &'a Value,
    field: &str,
    about: (&'static str, String, String),
) -> Option<RequiredObject<'a>> {
    let (kind, path, who) = about;
    let name = from[field].as_str().filter(|name| !name.is_empty() && *name != "kube-root-ca.crt")?;
    (from["optional"] != true).then_some(RequiredObject { kind, name, key: None, path, message_start: who })
}
