//! The resources of a cluster: its nodes, and the namespaces that have limits.

use domain::cluster::{ClusterFacts, NamespaceFacts, NodePool};
use domain::quantity::Quantity;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// Maximum number of namespaces on the page; the REST API returns all.
const SHOWN: usize = 50;

/// The namespaces that limit workloads, at most [`SHOWN`] of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitedNamespaces {
    /// Number of all namespaces.
    pub total: usize,
    /// Number of namespaces with a quota or a pod security level.
    pub limiting: usize,
    /// The first of these, by name.
    pub shown: Vec<NamespaceFacts>,
}

impl LimitedNamespaces {
    /// Selects from the facts of all namespaces.
    #[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "only the server has the facts of all"))]
    pub fn from_facts(all: Vec<NamespaceFacts>) -> Self {
        let total = all.len();
        let limits = |one: &NamespaceFacts| !one.quotas.is_empty() || !one.pod_security.is_empty();
        let mut shown: Vec<NamespaceFacts> = all.into_iter().filter(limits).collect();
        let limiting = shown.len();
        shown.truncate(SHOWN);
        Self { total, limiting, shown }
    }
}

/// The nodes by architecture; nothing where the agent may not list them.
#[component]
pub fn Nodes(pools: Vec<NodePool>) -> impl IntoView {
    let row = |pool: NodePool| {
        let ready = if pool.ready == pool.nodes {
            pool.nodes.to_string()
        } else {
            format!("{} of {} schedulable", pool.ready, pool.nodes)
        };
        view! {
            <tr>
                <th scope="row" class="mono">{format!("{}/{}", pool.os, pool.architecture)}</th>
                <td data-label="Nodes">{ready}</td>
                <td data-label="Cores">{pool.cpu.to_string()}</td>
                <td data-label="Memory">{pool.memory.format_bytes()}</td>
                <td data-label="Largest">{format!("{} cores, {}", pool.largest_cpu, pool.largest_memory.format_bytes())}</td>
            </tr>
        }
    };
    (!pools.is_empty()).then(|| {
        view! {
            <section class="stack-sm" aria-labelledby="nodes">
                <h2 class="section" id="nodes">
                    "Nodes " <span class="meta font-normal">"allocatable resources"</span>
                </h2>
                <table class="table">
                    <thead>
                        <tr>
                            <th scope="col">"Architecture"</th>
                            <th scope="col">"Nodes"</th>
                            <th scope="col">"Cores"</th>
                            <th scope="col">"Memory"</th>
                            <th scope="col">"Largest node"</th>
                        </tr>
                    </thead>
                    <tbody>{pools.into_iter().map(row).collect_view()}</tbody>
                </table>
            </section>
        }
        .into_any()
    })
}

/// The version of the API, its kinds, and the classes that manifests can name.
#[component]
pub fn ServedClasses(
    /// The facts of the cluster.
    facts: ClusterFacts,
    /// Number of kinds that its API serves.
    kinds: u32,
    /// Its confirmed zones.
    zones: Vec<String>,
) -> impl IntoView {
    let or_unknown = |text: String| {
        let empty = if facts.is_reported() { "none" } else { "unknown: not reported yet" };
        if text.is_empty() { empty.to_owned() } else { text }
    };
    let kinds = if kinds == 0 { "unknown: not reported yet".to_owned() } else { kinds.to_string() };
    let zones = or_unknown(zones.join(", "));
    let storage = or_unknown(format_classes(&facts.storage_classes, &facts.default_storage_class));
    let ingress = or_unknown(format_classes(&facts.ingress_classes, &facts.default_ingress_class));
    view! {
        <section class="stack-sm" aria-labelledby="classes">
            <h2 class="section" id="classes">
                "API and classes"
            </h2>
            <dl class="pairs">
                <dt>"Kinds"</dt>
                <dd>{kinds}</dd>
                <dt>"Zones"</dt>
                <dd>{zones}</dd>
                <dt>"Storage classes"</dt>
                <dd class="mono break-all">{storage}</dd>
                <dt>"Ingress classes"</dt>
                <dd class="mono break-all">{ingress}</dd>
            </dl>
        </section>
    }
    .into_any()
}

/// The names of classes; the default class is marked.
fn format_classes(names: &[String], default: &str) -> String {
    let format_name =
        |name: &String| if name == default { format!("{name} (default)") } else { name.clone() };
    names.iter().map(format_name).collect::<Vec<_>>().join(", ")
}

/// The namespaces with a quota or a pod security level.
#[component]
pub fn NamespaceLimits(namespaces: LimitedNamespaces) -> impl IntoView {
    let LimitedNamespaces { total, limiting, shown } = namespaces;
    let rest = limiting - shown.len();
    let rest = (rest > 0).then(|| view! { <p class="meta">{format!("and {rest} more")}</p> });
    let row = |one: NamespaceFacts| {
        let level = if one.pod_security.is_empty() { "–".to_owned() } else { one.pod_security.clone() };
        view! {
            <tr>
                <th scope="row" class="name">{one.name.clone()}</th>
                <td data-label="Pod security">{level}</td>
                <td data-label="Remaining">{format_remaining_quota(&one)}</td>
            </tr>
        }
    };
    (limiting > 0).then(|| {
        view! {
            <section class="stack-sm" aria-labelledby="namespaces">
                <h2 class="section" id="namespaces">
                    "Namespaces with limits "
                    <span class="meta font-normal">{format!("{limiting} of {total}")}</span>
                </h2>
                <table class="table">
                    <thead>
                        <tr>
                            <th scope="col">"Namespace"</th>
                            <th scope="col">"Pod security"</th>
                            <th scope="col">"Remaining quota"</th>
                        </tr>
                    </thead>
                    <tbody>{shown.into_iter().map(row).collect_view()}</tbody>
                </table>
                {rest}
            </section>
        }
        .into_any()
    })
}

/// `requests.cpu 1.2 of 2, pods 3 of 10`; bytes in binary units. What is used may be unknown.
fn format_remaining_quota(namespace: &NamespaceFacts) -> String {
    let parts = namespace.quotas.iter().flat_map(|quota| {
        quota.hard.iter().map(|(resource, hard)| {
            let limit = format_amount(resource, *hard);
            match quota.used.get(resource) {
                Some(used) => format!("{resource} {} of {limit}", format_amount(resource, *hard - *used)),
                None => format!("{resource} unknown of {limit}"),
            }
        })
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

/// An amount of a resource, bytes in binary units.
pub fn format_amount(resource: &str, amount: Quantity) -> String {
    let in_bytes = resource.contains("memory") || resource.contains("storage");
    if in_bytes { amount.format_bytes() } else { amount.to_string() }
}

#[cfg(test)]
mod tests {
    use domain::cluster::Quota;

    use super::*;

    #[test]
    fn remaining_quota_is_formatted_in_readable_units_and_unknown_without_use() {
        let q = |text| Quantity::parse(text).unwrap();
        let quota = Quota {
            name: "web".into(),
            hard: [("pods".to_owned(), q("10")), ("requests.memory".to_owned(), q("2Gi"))].into(),
            used: [("requests.memory".to_owned(), q("512Mi"))].into(),
        };
        let used = [("pods".to_owned(), q("4"))].into();
        let counted = Quota { hard: [("pods".to_owned(), q("10"))].into(), used, ..Quota::default() };
        let namespace = NamespaceFacts { quotas: vec![quota, counted], ..NamespaceFacts::default() };
        let expected = "pods unknown of 10, requests.memory 1.5 GiB of 2 GiB, pods 6 of 10";
        assert_eq!(format_remaining_quota(&namespace), expected);
        assert_eq!(format_remaining_quota(&NamespaceFacts::default()), "–");
    }

    #[cfg(feature = "ssr")]
    #[test]
    fn only_namespaces_with_a_limit_are_shown() {
        let named = |name: &str, level: &str| NamespaceFacts {
            name: name.into(),
            pod_security: level.into(),
            ..NamespaceFacts::default()
        };
        let cut = LimitedNamespaces::from_facts(vec![named("a", ""), named("b", "restricted")]);
        assert_eq!((cut.total, cut.limiting, &*cut.shown[0].name), (2, 1, "b"));
    }
}
