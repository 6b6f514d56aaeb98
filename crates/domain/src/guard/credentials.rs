//! Registries that may ask for credentials which nobody brings (G205).
//!
//! Whether a registry is open is not known here. What is known: some are open to everybody, some clouds give their nodes
//! credentials for their own, and who has a pull secret.

use std::collections::BTreeMap;

use serde_json::Value;

use super::scene::{Container, Pod, items, quoted};
use super::site::Site;
use crate::cluster::ClusterFacts;
use crate::cluster::facts::NAMESPACES_MAX;
use crate::finding::Finding;
use crate::image::Reference;

/// Registries that give their images to everybody; also what is below them, such as `eu.gcr.io`.
const OPEN: [&str; 16] = [
    "cgr.dev",
    "docker.elastic.co",
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "icr.io",
    "k8s.gcr.io",
    "lscr.io",
    "mcr.microsoft.com",
    "nvcr.io",
    "public.ecr.aws",
    "quay.io",
    "registry.access.redhat.com",
    "registry.gitlab.com",
    "registry.k8s.io",
    "registry.opensuse.org",
];

/// What a cloud's nodes have credentials for by themselves: provider, and how the host ends.
const OF_CLOUDS: [(&str, &str); 4] =
    [("aws", ".amazonaws.com"), ("aws", ".amazonaws.com.cn"), ("azure", ".azurecr.io"), ("gce", ".pkg.dev")];

/// G205: a registry that is not known to be open, and a pod that has no pull secret.
pub(super) fn missing(site: &Site<'_>) -> Vec<Finding> {
    let facts = &site.cluster.facts;
    let mut findings = Vec::new();
    for pod in &site.scene.pods {
        let private = private_registries(pod, &facts.provider);
        let account = account(pod);
        let namespace = pod.owner.name.namespace.as_str();
        if private.is_empty()
            || !items(pod.spec.get("imagePullSecrets")).is_empty()
            || brings_account(site, pod)
            || has_secret(facts, namespace, account) != Some(false)
        {
            continue;
        }
        for (registry, container) in private {
            let message = format!(
                "Container {} pulls from {}, and neither its pod nor service account {} of namespace {} has a pull \
                 secret: if that registry asks for credentials, the pod does not start.",
                quoted(container.name),
                quoted(registry),
                quoted(account),
                quoted(namespace)
            );
            let hint = "Add imagePullSecrets to the pod or to that service account, or ignore this if the registry is open.";
            findings.push(pod.owner.warning("G205", &format!("{}/image", container.path), message, hint));
        }
    }
    findings
}

/// The registries that are neither open nor the cloud's, each with the first container that pulls from it.
fn private_registries<'a>(pod: &'a Pod<'_>, provider: &str) -> BTreeMap<&'a str, &'a Container<'a>> {
    let mut private = BTreeMap::new();
    for container in &pod.containers {
        let image = container.value["image"].as_str().unwrap_or_default();
        let Ok(Reference { registry, .. }) = Reference::parse(image) else { continue };
        if !is_open(registry) && !is_the_clouds(registry, provider) {
            private.entry(registry).or_insert(container);
        }
    }
    private
}

/// The service account that a pod runs as.
fn account<'a>(pod: &Pod<'a>) -> &'a str {
    let named = |field: &str| pod.spec.get(field).and_then(Value::as_str).filter(|name| !name.is_empty());
    named("serviceAccountName").or_else(|| named("serviceAccount")).unwrap_or("default")
}

/// Whether the workload itself brings the pod's service account, with pull secrets.
fn brings_account(site: &Site<'_>, pod: &Pod<'_>) -> bool {
    let mut accounts = site.scene.of("", "ServiceAccount");
    accounts.any(|one| {
        (&*one.name.namespace, &*one.name.name) == (&*pod.owner.name.namespace, account(pod))
            && !one.items("/imagePullSecrets").is_empty()
    })
}

/// Whether the service account has a pull secret on the cluster; `None` when that is not known.
fn has_secret(facts: &ClusterFacts, namespace: &str, account: &str) -> Option<bool> {
    match facts.namespace(namespace) {
        Some(known) => Some(known.pull_accounts.as_ref()?.iter().any(|name| name == account)),
        // One that is yet to be made, on a cluster that tells of all its namespaces, begins without.
        None if facts.namespaces.len() < NAMESPACES_MAX => {
            facts.namespaces.iter().any(|known| known.pull_accounts.is_some()).then_some(false)
        }
        None => None,
    }
}

fn is_open(registry: &str) -> bool {
    let host = registry.split(':').next().unwrap_or_default();
    let below =
        |open: &str| host.strip_suffix(open).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    OPEN.iter().any(|open| below(open)) || matches!(host, "localhost" | "127.0.0.1")
}

fn is_the_clouds(registry: &str, provider: &str) -> bool {
    OF_CLOUDS.iter().any(|(cloud, end)| *cloud == provider && registry.ends_with(end))
}
