//! The open incidents, in the right column: drift, sources, loops and silent clusters are in no list beside it.

use domain::Timestamp;
#[cfg(feature = "ssr")]
use domain::incident::IncidentSummary;
use domain::page::Page;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::{Age, icon_sized};
use crate::paths;

/// Most incidents that are listed; the others are counted.
#[cfg(feature = "ssr")]
pub const MAX_SHOWN: u32 = 5;

/// An open incident, without the names of its clusters, which may be all of a large fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetIncident {
    /// Its id.
    pub id: String,
    /// Its workload and number of clusters, in words.
    pub headline: String,
    /// The cause, as a sentence.
    pub cause: String,
    /// Since when the workload fails.
    pub since: Timestamp,
    /// Who acknowledged it.
    pub acknowledged_by: Option<String>,
}

#[cfg(feature = "ssr")]
impl FleetIncident {
    /// The part of an incident that the page shows.
    pub fn from_summary(incident: IncidentSummary) -> Self {
        Self {
            id: incident.id.to_string(),
            headline: incident.headline(),
            cause: incident.cause,
            since: incident.since,
            acknowledged_by: incident.acknowledged_by,
        }
    }
}

/// The newest open incidents. Nothing if none is open.
#[component]
pub fn FleetIncidents(
    /// The newest ones, and the number of all.
    incidents: Page<FleetIncident>,
    /// When this was read.
    at: Timestamp,
) -> impl IntoView {
    let Page { items, total, .. } = incidents;
    if items.is_empty() {
        return ().into_any();
    }
    let shown = items.len();
    let more = usize::try_from(total).is_ok_and(|total| total > shown).then(|| {
        view! {
            <p class="table-foot">
                <span>{format!("{shown} of {total}, the newest first.")}</span>
                <a class="link" href=paths::INCIDENTS>
                    "All open incidents"
                </a>
            </p>
        }
    });
    view! {
        <section class="stack-sm" aria-labelledby="open-incidents">
            <h2 class="section" id="open-incidents">
                "Open incidents"
            </h2>
            <div class="list">{items.into_iter().map(|one| incident_row(one, at)).collect_view()}</div>
            {more}
        </section>
    }
    .into_any()
}

fn incident_row(one: FleetIncident, at: Timestamp) -> impl IntoView {
    let acknowledged = match one.acknowledged_by {
        Some(by) => format!("Acknowledged by {by}"),
        None => "Acknowledged by nobody".to_owned(),
    };
    view! {
        <a class="list-row items-start py-2 hue-degraded" href=paths::incident(&one.id)>
            {icon_sized("failed", "icon icon-16")}
            <span class="grid min-w-0">
                <span class="list-main">
                    <b class="strong">{one.headline}</b>
                    <span>{one.cause}</span>
                </span>
                <span class="meta">{acknowledged}</span>
            </span>
            <span class="list-end">
                <Age since=one.since at=at />
            </span>
        </a>
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    const AT: Timestamp = Timestamp::from_millis(1_763_665_200_000);

    fn render(incidents: Vec<IncidentSummary>, total: u32) -> String {
        let incidents = Page { items: incidents, next: None, total }.map(FleetIncident::from_summary);
        render_html(move || view! { <FleetIncidents incidents=incidents at=AT /> })
    }

    fn drift(acknowledged_by: Option<&str>) -> IncidentSummary {
        let since = AT.plus_millis(-26 * 60_000).to_string();
        serde_json::from_value(serde_json::json!({
            "id": domain::IncidentId::from_parts(1, 1).to_string(), "workload": "shop", "kind": "drift",
            "state": "open", "clusters": ["eu-1", "eu-2"], "cause": "Replicas were changed by kubectl-edit.",
            "reason": "Drifted", "since": since, "openedAt": since, "acknowledgedBy": acknowledged_by,
        }))
        .unwrap()
    }

    #[test]
    fn e12_an_open_incident_is_on_the_home_page_with_its_cause_and_who_has_it() {
        let page = render(vec![drift(None)], 1);
        let address = paths::incident(&domain::IncidentId::from_parts(1, 1).to_string());
        for part in [
            "shop drifts on 2 clusters",
            "Replicas were changed by kubectl-edit.",
            "Acknowledged by nobody",
            "26 min",
            address.as_str(),
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(!page.contains("All open incidents"), "{page}");
        assert!(render(vec![drift(Some("ann"))], 1).contains("Acknowledged by ann"));
    }

    #[test]
    fn incidents_that_are_not_listed_are_counted_and_without_any_there_is_no_list() {
        let page = render(vec![drift(None)], 30);
        assert!(page.contains("1 of 30, the newest first.") && page.contains("All open incidents"), "{page}");
        assert!(!render(Vec::new(), 0).contains("Open incidents"));
    }
}
