//! Requests and limits (G209, G211, G212), and units that are probably slips (G210).

use serde_json::Value;

use super::quantity::{certain, suggest};
use super::scene::{Container, Pod, Scene, Subject, items, quoted};
use crate::finding::{Finding, Severity};
use crate::fix::Fix;
use crate::quantity::Quantity;

/// G209 and G210: quantities can be read and mean what they say.
pub(super) fn quantities(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        for list in ["requests", "limits"] {
            for (resource, value) in fields(container, list) {
                let path = format!("{}/resources/{list}/{}", container.path, resource.replace('/', "~1"));
                findings.extend(quantity_finding(pod.owner, &path, (resource, value)));
            }
        }
    }
    findings.extend(scene.pods.iter().flat_map(claims));
    findings.extend(scene.pods.iter().flat_map(scratch));
    let size = "/spec/resources/requests/storage";
    findings.extend(
        scene
            .of("", "PersistentVolumeClaim")
            .filter_map(|claim| quantity_finding(claim, size, ("storage", claim.get(size)?))),
    );
    findings
}

/// The sizes of volumes that live as long as their pod.
fn scratch(pod: &Pod<'_>) -> Vec<Finding> {
    let volumes = items(pod.spec.get("volumes")).iter().enumerate();
    let sized = volumes.filter_map(|(at, volume)| Some((at, volume.pointer("/emptyDir/sizeLimit")?)));
    sized
        .filter_map(|(at, size)| {
            let path = pod.at(&format!("/volumes/{at}/emptyDir/sizeLimit"));
            quantity_finding(pod.owner, &path, ("storage", size))
        })
        .collect()
}

fn quantity_finding(owner: &Subject<'_>, path: &str, (resource, value): (&str, &Value)) -> Option<Finding> {
    let text = as_text(value)?;
    let shown = quoted(&text);
    match Quantity::parse(&text) {
        None => {
            let hint = suggest(&text).map_or_else(
                || "Write a number and a unit, such as 500m for cpu or 512Mi for memory.".to_owned(),
                |better| format!("Write {better}."),
            );
            let message = format!("{resource}: {shown} is not a quantity; Kubernetes refuses it.");
            let certain = certain(resource, &text);
            let fix =
                certain.and_then(|meant| owner.manifest.replaced(path, &text, &meant)).map(Fix::replace);
            Some(owner.error("G209", path, message, &hint).mended(fix))
        }
        Some(amount) if amount < Quantity::ZERO => Some(owner.error(
            "G209",
            path,
            format!("{resource}: {shown} is less than nothing."),
            "Remove the sign.",
        )),
        Some(amount) => slip(resource, &text, amount)
            .map(|(message, hint, severity)| owner.finding(("G210", severity), path, message, &hint)),
    }
}

/// G210: an amount that can be read, and is hardly what was meant. Message, hint and weight.
fn slip(resource: &str, text: &str, amount: Quantity) -> Option<(String, String, Severity)> {
    let bytes =
        matches!(resource, "memory" | "storage" | "ephemeral-storage") || resource.starts_with("hugepages-");
    let shown = quoted(text);
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let warning = |message, hint| Some((message, hint, Severity::Warning));
    if resource != "cpu" && text.ends_with('m') {
        let message = format!("{resource}: {shown} means thousandths of a byte.");
        return warning(message, format!("You probably want {number}Mi."));
    }
    if resource == "cpu" && amount > Quantity::whole(64) {
        let message = format!("cpu: {shown} asks for {amount} whole processors.");
        return warning(message, format!("You probably want {number}m."));
    }
    if bytes && Quantity::ZERO < amount && amount < Quantity::whole(1 << 20) {
        let message = format!("{resource}: {shown} is {}, too little for any program.", amount.in_bytes());
        return warning(message, format!("You probably want {number}Mi."));
    }
    // 128, 256, 512 … of something counted in thousands: nothing breaks, it is a little less than it looks.
    let power_of_two = |n: u32| n >= 64 && n.is_power_of_two();
    (bytes && text.ends_with('M') && number.parse().is_ok_and(power_of_two)).then(|| {
        let message = format!("{resource}: {shown} counts in thousands, so it is {}.", amount.in_bytes());
        (message, format!("Write {number}Mi if that was meant."), Severity::Note)
    })
}

/// The sizes of a StatefulSet's volume claims.
fn claims(pod: &Pod<'_>) -> Vec<Finding> {
    let templates = pod.owner.items("/spec/volumeClaimTemplates").iter().enumerate();
    let sized =
        templates.filter_map(|(at, claim)| Some((at, claim.pointer("/spec/resources/requests/storage")?)));
    sized
        .filter_map(|(at, size)| {
            let path = format!("/spec/volumeClaimTemplates/{at}/spec/resources/requests/storage");
            quantity_finding(pod.owner, &path, ("storage", size))
        })
        .collect()
}

/// G211: no request is above its limit.
pub(super) fn requests_over_limits(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        let limits = &container.value["resources"]["limits"];
        for (resource, request) in fields(container, "requests") {
            let limit = &limits[resource];
            let (Some(wanted), Some(most)) = (amount(request), amount(limit)) else { continue };
            if wanted <= most {
                continue;
            }
            let path = format!("{}/resources/requests/{}", container.path, resource.replace('/', "~1"));
            let message = format!(
                "Container {}: requests.{resource} {} is more than limits.{resource} {}; Kubernetes refuses the pod.",
                quoted(container.name),
                plain(request),
                plain(limit)
            );
            findings.push(pod.owner.error("G211", &path, message, "Raise the limit or lower the request."));
        }
    }
    findings
}

/// G211: what can't be shared out twice, such as GPUs and huge pages, has a limit, and requests exactly that.
pub(super) fn indivisible(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        let limits = &container.value["resources"]["limits"];
        let whole = |resource: &str| resource.contains('/') || resource.starts_with("hugepages-");
        for (resource, request) in fields(container, "requests").filter(|(resource, _)| whole(resource)) {
            let limit = &limits[resource];
            // More than the limit is told with all other resources.
            let wrong = limit.is_null() || amount(request).zip(amount(limit)).is_some_and(|(r, l)| r < l);
            if wrong {
                let path = format!("{}/resources/requests/{}", container.path, resource.replace('/', "~1"));
                let message = format!(
                    "Container {}: {resource} must have a limit and request as much; Kubernetes refuses the pod.",
                    quoted(container.name)
                );
                let hint = format!("Write {} under limits too.", plain(request));
                findings.push(pod.owner.error("G211", &path, message, &hint));
            }
        }
    }
    findings
}

/// G212: no requests, or no memory limit. A note: many published manifests have none, and they run.
pub(super) fn missing(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers().filter(|(_, container)| !container.init) {
        let has = |list: &str, resource: &str| !container.value["resources"][list][resource].is_null();
        let name = quoted(container.name);
        let (message, hint) = if !has("limits", "memory") {
            (
                format!("Container {name} has no memory limit; it can starve its node."),
                "Set resources.limits.memory.",
            )
        } else if !has("requests", "cpu") {
            (
                format!("Container {name} requests no cpu, so its node may be chosen without room for it."),
                "Set resources.requests.cpu.",
            )
        } else {
            continue;
        };
        findings.push(pod.owner.note("G212", &container.path, message, hint));
    }
    findings
}

fn fields<'a>(container: &Container<'a>, list: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let map = container.value["resources"][list].as_object();
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

fn amount(value: &Value) -> Option<Quantity> {
    Quantity::parse(&as_text(value)?)
}

/// A quantity may be written as text or as a number.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn plain(value: &Value) -> String {
    as_text(value).unwrap_or_default().chars().take(40).collect()
}
