//! The heading of the list of incidents: how many are open, since when, and who has acknowledged them.

use domain::Timestamp;
#[cfg(feature = "ssr")]
use domain::incident::IncidentSummary;
#[cfg(feature = "ssr")]
use domain::page::Page;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::{pluralize, unbroken_durations};
use crate::live;

/// Open incidents read to describe them.
#[cfg(feature = "ssr")]
pub const MAX_READ: u32 = 200;

/// The open incidents, described if they are few enough to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenIncidents {
    /// Number of them.
    pub total: u32,
    /// Since when the workload of the oldest one fails; `None` if not all were read.
    pub oldest: Option<Timestamp>,
    /// Number of those that nobody acknowledged; `None` if not all were read.
    pub unacknowledged: Option<u32>,
}

impl OpenIncidents {
    /// Describes the first page of open incidents.
    #[cfg(feature = "ssr")]
    pub fn from_page(page: &Page<IncidentSummary>) -> Self {
        let is_complete = u32::try_from(page.items.len()).is_ok_and(|read| read == page.total);
        let oldest = page.items.iter().map(|one| one.since).min();
        let unacknowledged = page.items.iter().filter(|one| one.acknowledged_by.is_none()).count();
        Self {
            total: page.total,
            oldest: oldest.filter(|_| is_complete),
            unacknowledged: u32::try_from(unacknowledged).ok().filter(|_| is_complete),
        }
    }
}

/// The content of the heading.
pub fn show_title(open: OpenIncidents, at: Timestamp) -> AnyView {
    let now = live::server_now(at);
    (move || unbroken_durations(&headline(&open, now.get()))).into_any()
}

/// `1 incident is open, for 19 s, acknowledged by nobody.`
fn headline(open: &OpenIncidents, now: Timestamp) -> String {
    let total = match open.total {
        0 => return "No incident is open.".to_owned(),
        1 => "1 incident is open".to_owned(),
        many => format!("{} are open", pluralize(many, "incident")),
    };
    let age = open.oldest.map(|oldest| oldest.format_age(now));
    let age = age
        .map(|age| if open.total == 1 { format!(", for {age}") } else { format!(", the oldest for {age}") });
    let acknowledged = match (open.unacknowledged, open.total) {
        (None | Some(0), _) => String::new(),
        (Some(some), total) if some == total => ", acknowledged by nobody".to_owned(),
        (Some(some), _) => format!(", {some} not acknowledged"),
    };
    format!("{total}{}{acknowledged}.", age.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_763_665_200_000);

    fn title(total: u32, seconds: i64, unacknowledged: u32) -> String {
        let open = OpenIncidents {
            total,
            oldest: Some(NOW.plus_millis(-seconds * 1_000)),
            unacknowledged: Some(unacknowledged),
        };
        headline(&open, NOW)
    }

    #[test]
    fn the_heading_answers_how_many_incidents_are_open_since_when_and_who_has_them() {
        assert_eq!(title(1, 19, 1), "1 incident is open, for 19 s, acknowledged by nobody.");
        assert_eq!(title(1, 19, 0), "1 incident is open, for 19 s.");
        assert_eq!(title(3, 7_200, 1), "3 incidents are open, the oldest for 2 h, 1 not acknowledged.");
    }

    #[cfg(feature = "ssr")]
    #[test]
    fn the_open_incidents_are_described_only_if_all_of_them_were_read() {
        let incident = |seconds: i64, acknowledged_by: Option<&str>| -> IncidentSummary {
            let since = NOW.plus_millis(-seconds * 1_000).to_string();
            serde_json::from_value(serde_json::json!({
                "id": domain::IncidentId::from_parts(1, 1).to_string(), "workload": "shop", "state": "open",
                "clusters": ["eu-1"], "cause": "Container web cannot pull its image.", "reason": "ImagePullFailed",
                "since": since.clone(), "openedAt": since, "acknowledgedBy": acknowledged_by,
            }))
            .unwrap()
        };
        let items = vec![incident(19, None), incident(60, Some("ann"))];
        let describe = |total| OpenIncidents::from_page(&Page { items: items.clone(), next: None, total });
        let oldest = Some(NOW.plus_millis(-60_000));
        assert_eq!(describe(2), OpenIncidents { total: 2, oldest, unacknowledged: Some(1) });
        assert_eq!(describe(900), OpenIncidents { total: 900, oldest: None, unacknowledged: None });
    }

    #[test]
    fn the_heading_does_not_describe_incidents_that_were_not_read() {
        let open = |total| OpenIncidents { total, oldest: None, unacknowledged: None };
        assert_eq!(headline(&open(0), NOW), "No incident is open.");
        assert_eq!(headline(&open(900), NOW), "900 incidents are open.");
    }
}
