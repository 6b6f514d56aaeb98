//! Requests and limits (G209, G211, G212), and units that are probably wrong (G210).

use serde_json::Value;

use super::rule_context::{Container, PodTemplate, RuleContext, RuleObject, items, quote};
use crate::kubernetes::field_path::escape_pointer_token;
use crate::kubernetes::quantity::{Quantity, suggest_quantity, suggest_unambiguous_quantity};
use crate::text::finding::{Finding, Fix, Severity};

/// A quantity as it is written.
struct QuantityField<'a> {
    owner: &'a RuleObject<'a>,
    /// JSON pointer inside the object.
    path: String,
    /// The resource, such as `allocatable_memory`.
    resource: &'a str,
    text: String,
}

impl<'a> QuantityField<'a> {
    fn new(owner: &'a RuleObject<'a>, path: String, (resource, value): (&'a str, &Value)) -> Option<Self> {
        Some(Self { owner, path, resource, text: quantity_text(value)? })
    }
}

/// Every quantity of the workload: requests, limits, and sizes of claims and emptyDir volumes.
fn quantity_fields<'a>(context: &RuleContext<'a>) -> Vec<QuantityField<'a>> {
    let mut fields = Vec::new();
    for (pod, container) in context.containers() {
        for list in ["requests", "limits"] {
            for entry in resource_entries(container, list) {
                let path = format!("{}/resources/{list}/{}", container.path, escape_pointer_token(entry.0));
                fields.extend(QuantityField::new(pod.owner, path, entry));
            }
        }
    }
    fields.extend(context.pods.iter().flat_map(claim_templates));
    fields.extend(context.pods.iter().flat_map(empty_dirs));
    let size = "/spec/resources/requests/storage";
    fields.extend(
        context
            .objects_of_kind("", "PersistentVolumeClaim")
            .filter_map(|claim| QuantityField::new(claim, size.to_owned(), ("storage", claim.get(size)?))),
    );
    fields
}

/// The sizes of a StatefulSet's volume claims.
fn claim_templates<'a>(pod: &PodTemplate<'a>) -> Vec<QuantityField<'a>> {
    let templates = pod.owner.items("/spec/volumeClaimTemplates").iter().enumerate();
    let sized =
        templates.filter_map(|(at, claim)| Some((at, claim.pointer("/spec/resources/requests/storage")?)));
    let field = |(at, size)| {
        let path = format!("/spec/volumeClaimTemplates/{at}/spec/resources/requests/storage");
        QuantityField::new(pod.owner, path, ("storage", size))
    };
    sized.filter_map(field).collect()
}

/// The size limits of emptyDir volumes.
fn empty_dirs<'a>(pod: &PodTemplate<'a>) -> Vec<QuantityField<'a>> {
    let volumes = items(pod.spec.get("volumes")).iter().enumerate();
    let sized = volumes.filter_map(|(at, volume)| Some((at, volume.pointer("/emptyDir/sizeLimit")?)));
    let field = |(at, size)| {
        let path = pod.spec_pointer(&format!("/volumes/{at}/emptyDir/sizeLimit"));
        QuantityField::new(pod.owner, path, ("storage", size))
    };
    sized.filter_map(field).collect()
}

/// G209: quantities are valid and not negative.
pub(super) fn quantities(context: &RuleContext<'_>) -> Vec<Finding> {
    quantity_fields(context).iter().filter_map(invalid_quantity).collect()
}

fn invalid_quantity(field: &QuantityField<'_>) -> Option<Finding> {
    let QuantityField { owner, path, resource, text } = field;
    let shown = quote(text);
    match Quantity::parse(text) {
        None => {
            let hint = suggest_quantity(text).map_or_else(
                || "Write a number and a unit, such as 500m for cpu or 512Mi for memory.".to_owned(),
                |better| format!("Write {better}."),
            );
            let message = format!("{resource}: {shown} is not a quantity; Kubernetes rejects it.");
            let certain = suggest_unambiguous_quantity(resource, text);
            let fix = certain
                .and_then(|better| owner.manifest.replacement_edit(path, text, &better))
                .map(Fix::replacement);
            Some(owner.error("G209", path, message, &hint).with_fix(fix))
        }
        Some(amount) if amount < Quantity::ZERO => {
            Some(owner.error("G209", path, format!("{resource}: {shown} is negative."), "Remove the sign."))
        }
        Some(_) => None,
    }
}

/// G210: valid quantities are plausible.
pub(super) fn suspicious_quantities(context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |QuantityField { owner, path, resource, text }: QuantityField<'_>| {
        let amount = Quantity::parse(&text).filter(|amount| *amount >= Quantity::ZERO)?;
        let (message, hint, severity) = suspicious_amount(resource, &text, amount)?;
        Some(owner.finding(("G210", severity), &path, message, &hint))
    };
    quantity_fields(context).into_iter().filter_map(finding).collect()
}

/// G210: message, hint and severity for a valid quantity that is probably not intended.
fn suspicious_amount(resource: &str, text: &str, amount: Quantity) -> Option<(String, String, Severity)> {
    let bytes =
        matches!(resource, "memory" | "storage" | "ephemeral-storage") || resource.starts_with("hugepages-");
    let shown = quote(text);
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let warning = |message, hint| Some((message, hint, Severity::Warning));
    if resource != "cpu" && text.ends_with('m') {
        let message = format!("{resource}: {shown} means thousandths of a byte.");
        return warning(message, format!("You probably want {number}Mi."));
    }
    if resource == "cpu" && amount > Quantity::from_units(64) {
        let message = format!("cpu: {shown} requests {amount} CPU cores.");
        return warning(message, format!("You probably want {number}m."));
    }
    if bytes && Quantity::ZERO < amount && amount < Quantity::from_units(1 << 20) {
        let message =
            format!("{resource}: {shown} is {}, too little for any program.", amount.format_bytes());
        return warning(message, format!("You probably want {number}Mi."));
    }
    // 128, 256, 512 … with the decimal unit M: valid, but less than the binary unit Mi that was probably intended.
    let power_of_two = |n: u32| n >= 64 && n.is_power_of_two();
    (bytes && text.ends_with('M') && number.parse().is_ok_and(power_of_two)).then(|| {
        let message = format!("{resource}: {shown} has a decimal unit, so it is {}.", amount.format_bytes());
        (message, format!("Write {number}Mi if the binary unit is intended."), Severity::Note)
    })
}

/// G211: no request is above its limit.
pub(super) fn requests_over_limits(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        let limits = &container.value["resources"]["limits"];
        for (resource, request) in resource_entries(container, "requests") {
            let limit = &limits[resource];
            let (Some(requested), Some(most)) = (parse_amount(request), parse_amount(limit)) else {
                continue;
            };
            if requested <= most {
                continue;
            }
            let path = format!("{}/resources/requests/{}", container.path, escape_pointer_token(resource));
            let message = format!(
                "Container {}: requests.{resource} {} is more than limits.{resource} {}; Kubernetes rejects the pod.",
                quote(container.name),
                short_text(request),
                short_text(limit)
            );
            findings.push(pod.owner.error("G211", &path, message, "Raise the limit or lower the request."));
        }
    }
    findings
}

/// G211: resources that can't be overcommitted, such as GPUs and huge pages, have a limit equal to the request.
pub(super) fn not_overcommittable(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        let limits = &container.value["resources"]["limits"];
        let is_indivisible = |resource: &str| resource.contains('/') || resource.starts_with("hugepages-");
        for (resource, request) in
            resource_entries(container, "requests").filter(|(resource, _)| is_indivisible(resource))
        {
            let limit = &limits[resource];
            // A request above the limit is reported by `requests_over_limits`.
            let wrong =
                limit.is_null() || parse_amount(request).zip(parse_amount(limit)).is_some_and(|(r, l)| r < l);
            if wrong {
                let path =
                    format!("{}/resources/requests/{}", container.path, escape_pointer_token(resource));
                let message = format!(
                    "Container {}: {resource} must have a limit equal to its request; Kubernetes rejects the pod.",
                    quote(container.name)
                );
                let hint = format!("Write {} under limits too.", short_text(request));
                findings.push(pod.owner.error("G211", &path, message, &hint));
            }
        }
    }
    findings
}

/// G212: no CPU request, or no memory limit. A note, because many published manifests have none and run.
pub(super) fn missing(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers().filter(|(_, container)| !container.is_init) {
        let has = |list: &str, resource: &str| !container.value["resources"][list][resource].is_null();
        let name = quote(container.name);
        let (message, hint) = if !has("limits", "memory") {
            (
                format!("Container {name} has no memory limit; it can use all the memory of its node."),
                "Set resources.limits.memory.",
            )
        } else if !has("requests", "cpu") {
            (
                format!(
                    "Container {name} requests no cpu, so it may be scheduled on a node without enough CPU."
                ),
                "Set resources.requests.cpu.",
            )
        } else {
            continue;
        };
        findings.push(pod.owner.note("G212", &container.path, message, hint));
    }
    findings
}

fn resource_entries<'a>(container: &Container<'a>, list: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let map = container.value["resources"][list].as_object();
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

fn parse_amount(value: &Value) -> Option<Quantity> {
    Quantity::parse(&quantity_text(value)?)
}

/// The text of a quantity, which may be written as text or as a number.
fn quantity_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn short_text(value: &Value) -> String {
    quantity_text(value).unwrap_or_default().chars().take(40).collect()
}
