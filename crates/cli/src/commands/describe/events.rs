//! The last events of what is described.

use wire::EventQuery;

use super::section::Description;
use crate::clock;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::Table;

/// Most events of a description.
const MAX_EVENTS: u32 = 10;

/// Adds the last events, oldest first.
pub async fn add_events(
    text: &mut Description,
    remote: &ServerConnection,
    (workload, cluster): (Option<&str>, Option<&str>),
) -> Result<(), Failure> {
    let query = EventQuery {
        before: None,
        limit: Some(MAX_EVENTS),
        workload: workload.map(str::to_owned),
        cluster: cluster.map(str::to_owned),
    };
    let events = remote.client.list_events(&query).await?.items;
    let now = clock::now();
    let mut table =
        Table::new(&["AGE", "SEVERITY", if cluster.is_some() { "WORKLOAD" } else { "CLUSTER" }, "MESSAGE"]);
    for event in events.iter().rev() {
        let other = if cluster.is_some() { &event.workload_name } else { &event.cluster_name };
        let row = table.add_row().text(clock::format_age(event.at, now)).severity(event.severity);
        row.text(other).text(&event.message);
    }
    text.table("events", &table, "none");
    Ok(())
}
