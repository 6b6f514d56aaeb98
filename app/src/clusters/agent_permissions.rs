//! Which kinds the agent of a cluster may write, or the server where a cluster has no agent of its own.

use std::collections::BTreeSet;

use domain::cluster::facts::qualified_kind;
use domain::cluster::{ApiResource, ClusterFacts, ClusterKind};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::pluralize;

/// Maximum number of kinds on the page; the REST API returns all.
const SHOWN: usize = 200;

/// The write permissions that an agent reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPermissions {
    /// Whether they are known.
    pub known: bool,
    /// Number of kinds that the cluster serves.
    pub kinds: u32,
    /// Number of kinds that the agent may not write in every namespace.
    pub denied: u32,
    /// Number of namespaces in which it may write some of these.
    pub exceptions: u32,
    /// The first of the kinds that it may not write in every namespace.
    pub shown: Vec<String>,
}

impl AgentPermissions {
    /// Counts in the facts of a cluster.
    #[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "only the server has the list of kinds"))]
    pub fn from_facts(facts: &ClusterFacts) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        // A cluster serves some kinds in several versions.
        let collect = |is_counted: fn(&ApiResource) -> bool| -> BTreeSet<String> {
            let counted = facts.apis.iter().filter(|api| is_counted(api));
            counted.map(|api| qualified_kind(&api.group, &api.kind)).collect()
        };
        let (kinds, denied) = (collect(|_| true), collect(|api| api.denied));
        let has_exception =
            |granted: &Option<Vec<String>>| granted.as_ref().is_some_and(|kinds| !kinds.is_empty());
        Self {
            known: facts.permissions_known,
            kinds: count(kinds.len()),
            denied: count(denied.len()),
            exceptions: count(facts.namespaces.iter().filter(|one| has_exception(&one.granted)).count()),
            shown: denied.into_iter().take(SHOWN).collect(),
        }
    }

    /// What may be written, in a sentence.
    fn describe(&self, kind: ClusterKind) -> String {
        let kinds = pluralize(self.kinds, "kind");
        let writer = if kind == ClusterKind::Agent { "agent" } else { "server" };
        if self.kinds == 0 {
            return match kind {
                ClusterKind::Agent => "Unknown: the agent has not reported the kinds of the cluster yet.",
                _ => "Unknown: the server has not read the kinds of the cluster yet.",
            }
            .to_owned();
        }
        if !self.known {
            return format!(
                "Unknown: the cluster serves {kinds}, and the {writer} could not read which of them it may write."
            );
        }
        if self.denied == 0 {
            return format!("All {kinds} of the cluster, in every namespace.");
        }
        let allowed = self.kinds.saturating_sub(self.denied);
        let exceptions = match self.exceptions {
            0 => String::new(),
            some => format!(", and others in {}", pluralize(some, "namespace")),
        };
        format!("{allowed} of {kinds} in every namespace{exceptions}.")
    }
}

/// The permissions, with the kinds that are not permitted everywhere.
#[component]
pub fn PermissionSection(
    /// How the cluster is served.
    kind: ClusterKind,
    permissions: AgentPermissions,
) -> impl IntoView {
    let title = match kind {
        ClusterKind::Agent => "What its agent may write",
        ClusterKind::Kubeconfig | ClusterKind::Simulated => "What the server may write",
    };
    let sentence = permissions.describe(kind);
    let AgentPermissions { known, denied, shown, .. } = permissions;
    let names = (known && denied > 0).then(|| {
        let list =
            shown.into_iter().map(|kind| view! { <li class="mono break-all">{kind}</li> }).collect_view();
        view! {
            <details class="fold">
                <summary>
                    "Kinds it may not write in every namespace " <span class="text-3">{denied}</span>
                </summary>
                <ul class="pt-2 pb-4">{list}</ul>
            </details>
        }
    });
    view! {
        <section class="stack-sm" aria-labelledby="permissions">
            <h2 class="section" id="permissions">
                {title}
            </h2>
            <p>{sentence}</p>
            {names}
        </section>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::cluster::NamespaceFacts;

    use super::*;
    use crate::render_tests::render_html;

    fn kind(kind: &str, denied: bool) -> ApiResource {
        ApiResource {
            group: "apps".to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
            namespaced: true,
            denied,
        }
    }

    #[test]
    fn permissions_that_are_not_known_are_neither_none_nor_all() {
        let describe =
            |facts: &ClusterFacts| AgentPermissions::from_facts(facts).describe(ClusterKind::Agent);
        let mut facts = ClusterFacts::default();
        assert!(describe(&facts).starts_with("Unknown:"));
        facts.apis = vec![kind("Deployment", false), kind("StatefulSet", true)];
        assert!(describe(&facts).starts_with("Unknown: the cluster serves 2 kinds"));
        facts.permissions_known = true;
        assert_eq!(describe(&facts), "1 of 2 kinds in every namespace.");
        facts.namespaces = vec![NamespaceFacts {
            granted: Some(vec!["StatefulSet.apps".to_owned()]),
            ..NamespaceFacts::default()
        }];
        assert_eq!(describe(&facts), "1 of 2 kinds in every namespace, and others in 1 namespace.");
        assert_eq!(AgentPermissions::from_facts(&facts).shown, ["StatefulSet.apps"]);
        facts.apis.truncate(1);
        assert_eq!(describe(&facts), "All 1 kind of the cluster, in every namespace.");
    }

    #[test]
    fn a_cluster_without_an_agent_of_its_own_is_written_by_the_server() {
        let permissions = AgentPermissions { kinds: 2, ..AgentPermissions::default() };
        let page = render_html(
            move || view! { <PermissionSection kind=ClusterKind::Simulated permissions=permissions /> },
        );
        assert!(
            page.contains("What the server may write") && page.contains("the server could not"),
            "{page}"
        );
        assert!(!page.contains("agent"), "{page}");
    }

    #[test]
    fn a_kind_that_is_served_in_several_versions_counts_once() {
        let beta = |one: ApiResource| ApiResource { version: "v1beta1".to_owned(), ..one };
        let facts = ClusterFacts {
            apis: vec![
                kind("Deployment", false),
                beta(kind("Deployment", false)),
                kind("StatefulSet", true),
                beta(kind("StatefulSet", true)),
            ],
            permissions_known: true,
            ..ClusterFacts::default()
        };
        let permissions = AgentPermissions::from_facts(&facts);
        assert_eq!(permissions.describe(ClusterKind::Agent), "1 of 2 kinds in every namespace.");
        assert_eq!((permissions.denied, permissions.shown), (1, vec!["StatefulSet.apps".to_owned()]));
    }
}
