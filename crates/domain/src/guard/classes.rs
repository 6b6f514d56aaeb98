//! Storage and ingress classes that a cluster does not have (G306).

use serde_json::Value;

use super::scene::{Scene, Subject, items, quoted};
use super::site::Site;
use crate::finding::Finding;

/// What the classes of one kind are called, and what there is of them.
struct Classes<'a> {
    word: &'static str,
    there: &'a [String],
    default: &'a str,
}

/// G306: storage classes of claims.
pub(super) fn storage(site: &Site<'_>) -> Vec<Finding> {
    let facts = &site.cluster.facts;
    let classes = Classes {
        word: "StorageClass",
        there: &facts.storage_classes,
        default: &facts.default_storage_class,
    };
    let mut findings = Vec::new();
    for subject in site.scene.of("", "PersistentVolumeClaim") {
        findings.extend(claim(&classes, site.scene, subject, (&subject.manifest.object, "")));
    }
    for subject in site.scene.of("apps", "StatefulSet") {
        for (at, template) in items(subject.get("/spec/volumeClaimTemplates")).iter().enumerate() {
            let path = format!("/spec/volumeClaimTemplates/{at}");
            findings.extend(claim(&classes, site.scene, subject, (template, &path)));
        }
    }
    findings
}

fn claim(
    classes: &Classes<'_>,
    scene: &Scene<'_>,
    subject: &Subject<'_>,
    (claim, path): (&Value, &str),
) -> Option<Finding> {
    // A claim that names its volume needs no class; an empty name asks for none.
    if claim.pointer("/spec/volumeName").is_some() {
        return None;
    }
    let named = claim.pointer("/spec/storageClassName").and_then(Value::as_str);
    let brought =
        |name: &str| scene.of("storage.k8s.io", "StorageClass").any(|class| class.name.name == name);
    absent(classes, subject, (named, &format!("{path}/spec/storageClassName")), brought)
}

/// G306: ingress classes.
pub(super) fn ingress(site: &Site<'_>) -> Vec<Finding> {
    let facts = &site.cluster.facts;
    let classes = Classes {
        word: "IngressClass",
        there: &facts.ingress_classes,
        default: &facts.default_ingress_class,
    };
    let brought =
        |name: &str| site.scene.of("networking.k8s.io", "IngressClass").any(|class| class.name.name == name);
    let one = |subject: &Subject<'_>| {
        // Older controllers are chosen by this annotation and have no class.
        let annotated = subject.get("/metadata/annotations/kubernetes.io~1ingress.class").is_some();
        let named = subject.get("/spec/ingressClassName").and_then(Value::as_str);
        if annotated && named.is_none() {
            return None;
        }
        absent(&classes, subject, (named, "/spec/ingressClassName"), brought)
    };
    site.scene.of("networking.k8s.io", "Ingress").filter_map(one).collect()
}

fn absent(
    classes: &Classes<'_>,
    subject: &Subject<'_>,
    (named, path): (Option<&str>, &str),
    brought: impl Fn(&str) -> bool,
) -> Option<Finding> {
    // None at all may also mean that the agent may not list them.
    if classes.there.is_empty() {
        return None;
    }
    let word = classes.word;
    let there = classes.there.join(", ");
    match named {
        Some("") => None,
        Some(name) if classes.there.iter().any(|one| one == name) || brought(name) => None,
        Some(name) => {
            let message =
                format!("{} asks for {word} {}, which does not exist.", subject.shown, quoted(name));
            let hint = format!("There is {there}. Add an override for these clusters.");
            Some(subject.warning("G306", path, message, &hint))
        }
        None if classes.default.is_empty() => {
            let message = format!("{} names no {word}, and there is no default one.", subject.shown);
            let hint = format!("Name one of {there}, or mark one as the default.");
            Some(subject.warning("G306", path, message, &hint))
        }
        None => None,
    }
}
