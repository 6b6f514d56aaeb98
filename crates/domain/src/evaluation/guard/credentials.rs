//! Registries that may require credentials that a pod does not have (G205).
//!
//! Whether a registry is public can't be tested here. Known are: a list of public registries, the registries for which
//! cloud providers give credentials to their nodes, and the service accounts with pull secrets.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cluster_context::ClusterContext;
use super::rule_context::{Container, PodTemplate, items, quote};
use crate::kubernetes::image::ImageReference;
use crate::model::cluster::ClusterFacts;
use crate::model::cluster::facts::MAX_NAMESPACES;
use crate::text::finding::Finding;

/// Public registries; their subdomains, such as `eu.gcr.io`, count as well.
const PUBLIC_REGISTRIES: [&str; 16] = [
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

/// Registries for which the nodes of a cloud provider have credentials: provider, and suffix of the host.
const PROVIDER_REGISTRIES: [(&str, &str); 4] =
    [("aws", ".amazonaws.com"), ("aws", ".amazonaws.com.cn"), ("azure", ".azurecr.io"), ("gce", ".pkg.dev")];

/// G205: a registry that is not known to be public, and a pod without a pull secret.
pub(super) fn missing(context: &ClusterContext<'_>) -> Vec<Finding> {
    let facts = &context.cluster.facts;
    let mut findings = Vec::new();
    for pod in &context.rule_context.pods {
        let private = private_registries(pod, &facts.provider);
        let account = service_account(pod);
        let namespace = pod.owner.name.namespace.as_str();
        if private.is_empty()
            || !items(pod.spec.get("imagePullSecrets")).is_empty()
            || has_own_account(context, pod)
            || has_pull_secret(facts, namespace, account) != Some(false)
        {
            continue;
        }
        for (registry, container) in private {
            let message = format!(
                "Container {} pulls from {}, and neither its pod nor service account {} of namespace {} has a pull \
                 secret: if that registry requires credentials, the pod does not start.",
                quote(container.name),
                quote(registry),
                quote(account),
                quote(namespace)
            );
            let hint = "Add imagePullSecrets to the pod or to that service account, or ignore this if the registry is public.";
            findings.push(pod.owner.warning("G205", &format!("{}/image", container.path), message, hint));
        }
    }
    findings
}

/// The registries that are neither public nor the cloud provider's, each with the first container that pulls from it.
fn private_registries<'a>(pod: &'a PodTemplate<'_>, provider: &str) -> BTreeMap<&'a str, &'a Container<'a>> {
    let mut private = BTreeMap::new();
    for container in &pod.containers {
        let image = container.value["image"].as_str().unwrap_or_default();
        let Ok(ImageReference { registry, .. }) = ImageReference::parse(image) else { continue };
        if !is_public(registry) && !is_of_provider(registry, provider) {
            private.entry(registry).or_insert(container);
        }
    }
    private
}

/// Name of the service account of a pod.
fn service_account<'a>(pod: &PodTemplate<'a>) -> &'a str {
    let named = |field: &str| pod.spec.get(field).and_then(Value::as_str).filter(|name| !name.is_empty());
    named("serviceAccountName").or_else(|| named("serviceAccount")).unwrap_or("default")
}

/// Whether the workload contains the pod's service account with pull secrets.
fn has_own_account(context: &ClusterContext<'_>, pod: &PodTemplate<'_>) -> bool {
    let mut accounts = context.rule_context.objects_of_kind("", "ServiceAccount");
    accounts.any(|candidate| {
        (&*candidate.name.namespace, &*candidate.name.name)
            == (&*pod.owner.name.namespace, service_account(pod))
            && !candidate.items("/imagePullSecrets").is_empty()
    })
}

/// Whether the service account has a pull secret on the cluster; `None` if that is not known.
fn has_pull_secret(facts: &ClusterFacts, namespace: &str, account: &str) -> Option<bool> {
    match facts.namespace(namespace) {
        Some(known) => Some(known.pull_accounts.as_ref()?.iter().any(|name| name == account)),
        // A namespace that does not exist yet, on a cluster that reports all its namespaces, has no pull secret.
        None if facts.namespaces.len() < MAX_NAMESPACES => {
            facts.namespaces.iter().any(|known| known.pull_accounts.is_some()).then_some(false)
        }
        None => None,
    }
}

fn is_public(registry: &str) -> bool {
    let host = registry.split(':').next().unwrap_or_default();
    let below =
        |open: &str| host.strip_suffix(open).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    PUBLIC_REGISTRIES.iter().any(|open| below(open)) || matches!(host, "localhost" | "127.0.0.1")
}

fn is_of_provider(registry: &str, provider: &str) -> bool {
    PROVIDER_REGISTRIES.iter().any(|(cloud, end)| *cloud == provider && registry.ends_with(end))
}
