//! The Helm releases that the agent reports, also those that Flotilla does not manage.

use domain::cluster::{HelmReleaseFacts, NamespaceFacts};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::pluralize;
use crate::paths;

/// Maximum number of releases on the page; the REST API returns all.
const SHOWN: usize = 100;

/// The Helm releases of a cluster, at most [`SHOWN`] of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelmReleases {
    /// Number of namespaces whose releases are reported.
    pub reported: u32,
    /// Number of namespaces whose releases are unknown.
    pub unknown: u32,
    /// Number of all reported releases.
    pub total: u32,
    /// The first of these with their namespaces, by namespace and name.
    pub shown: Vec<(String, HelmReleaseFacts)>,
}

impl HelmReleases {
    /// Selects from the facts of all namespaces.
    #[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "only the server has the facts of all"))]
    pub fn from_facts(namespaces: &[NamespaceFacts]) -> Self {
        let mut found = Self::default();
        for namespace in namespaces {
            let Some(releases) = &namespace.helm_releases else {
                found.unknown += 1;
                continue;
            };
            found.reported += 1;
            found.total += u32::try_from(releases.len()).unwrap_or(u32::MAX);
            let room = SHOWN - found.shown.len();
            let named = releases.iter().take(room).map(|release| (namespace.name.clone(), release.clone()));
            found.shown.extend(named);
        }
        found
    }

    /// What is not in the table, in a sentence; `None` if it is complete.
    fn remark(&self) -> Option<String> {
        let more = self.total as usize - self.shown.len();
        match (self.reported, self.unknown) {
            (0, _) => Some(
                "Not reported: the agent may not list Secrets, in which Helm stores releases, or has not reported yet."
                    .to_owned(),
            ),
            (_, 0) if self.total == 0 => Some("No Helm release in any namespace.".to_owned()),
            (_, 0) if more > 0 => Some(format!("and {more} more")),
            (_, 0) => None,
            (_, unknown) => Some(format!("Not reported for {}.", pluralize(unknown, "namespace"))),
        }
    }
}

/// The table; if nothing is reported, a sentence that says so.
#[component]
pub fn HelmReleaseTable(cluster: String, releases: HelmReleases) -> impl IntoView {
    let remark = releases.remark().map(|text| view! { <p class="text-2">{text}</p> });
    let row = move |(namespace, release): (String, HelmReleaseFacts)| {
        let HelmReleaseFacts { name, revision, status, workload } = release;
        let managed_by = if workload.is_empty() {
            let adopt = paths::adoption_dialog(&cluster, &namespace, &name);
            let label = format!("Adopt {name}…");
            view! {
                "Helm or another tool "
                <a class="btn btn-sm" href=adopt aria-label=label>"Adopt…"</a>
            }
            .into_any()
        } else {
            view! { <a class="link name" href=paths::workload(&workload)>{workload.clone()}</a> }.into_any()
        };
        view! {
            <tr>
                <th scope="row" class="cell-name name">{name}</th>
                <td data-label="Namespace"><span class="name">{namespace}</span></td>
                <td data-label="Revision">{revision.to_string()}</td>
                <td data-label="Status">{status}</td>
                <td data-label="Managed by">{managed_by}</td>
            </tr>
        }
    };
    let rows = (!releases.shown.is_empty()).then(|| {
        view! {
            <table class="table">
                <thead>
                    <tr>
                        <th scope="col">"Release"</th>
                        <th scope="col">"Namespace"</th>
                        <th scope="col">"Revision"</th>
                        <th scope="col">"Status"</th>
                        <th scope="col">"Managed by"</th>
                    </tr>
                </thead>
                <tbody>{releases.shown.into_iter().map(row).collect_view()}</tbody>
            </table>
        }
    });
    view! {
        <section class="stack-sm" aria-labelledby="helm-releases">
            <h2 class="section" id="helm-releases">
                "Helm releases"
            </h2>
            {rows}
            {remark}
        </section>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_reported_is_neither_empty_nor_complete() {
        let namespace = |name: &str, releases: Option<usize>| NamespaceFacts {
            name: name.into(),
            helm_releases: releases.map(|n| {
                let named = |n| HelmReleaseFacts { name: format!("r{n}"), ..HelmReleaseFacts::default() };
                (0..n).map(named).collect()
            }),
            ..NamespaceFacts::default()
        };
        let remark = |all: &[NamespaceFacts]| HelmReleases::from_facts(all).remark();
        assert!(remark(&[]).unwrap().starts_with("Not reported:"));
        assert!(remark(&[namespace("a", None)]).unwrap().starts_with("Not reported:"));
        assert_eq!(remark(&[namespace("a", Some(0))]).unwrap(), "No Helm release in any namespace.");
        assert_eq!(remark(&[namespace("a", Some(1))]), None);
        let some = [namespace("a", Some(1)), namespace("b", None)];
        assert_eq!(remark(&some).unwrap(), "Not reported for 1 namespace.");
        let many = [namespace("a", Some(SHOWN)), namespace("b", Some(2))];
        assert_eq!(remark(&many).unwrap(), "and 2 more");
    }
}
