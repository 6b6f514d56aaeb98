//! One cluster: its facts and conditions, its releases, its events; or the registration that waits under its name.

use super::events::add_events;
use super::section::Description;
use crate::clock;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::Table;
use crate::pages::list_all_pages;
use crate::resources::clusters::{
    FoundCluster, accept_command, cluster_fields, find_cluster, registration_fields, stage_table,
};

/// The description of a cluster.
pub async fn describe_cluster(remote: &ServerConnection, name: &str) -> Result<String, Failure> {
    let mut text = Description::default();
    let summary = match find_cluster(remote, name).await? {
        FoundCluster::Registered(summary) => summary,
        FoundCluster::Pending(waiting) => {
            for (field, value) in registration_fields(&waiting) {
                text.field(field, value);
            }
            text.field("next", accept_command(name));
            return Ok(text.into_text());
        }
    };
    for (field, value) in cluster_fields(&summary) {
        text.field(field, value);
    }
    let groups = remote.client.list_groups().await?;
    let groups: Vec<String> = groups
        .iter()
        .filter(|group| group.contains(&summary.cluster))
        .map(|group| group.name.clone())
        .collect();
    text.list("groups", &groups);
    if let Some(agent) = &summary.agent {
        text.table("joined", &stage_table(&agent.stages), "its registration is no longer stored");
    }
    let mut releases =
        list_all_pages(async |query| remote.client.list_cluster_releases(name, &query).await).await?;
    releases.sort_by_key(|one| std::cmp::Reverse(one.state));
    let now = clock::now();
    let mut table = Table::new(&["WORKLOAD", "STATE", "REVISION", "SINCE", "MESSAGE"]);
    for one in &releases {
        let revision =
            one.release.revision().map_or_else(|| "unknown".to_owned(), |number| number.to_string());
        let row = table.add_row().text(&one.workload_name).state(one.state).text(revision);
        row.text(clock::format_age(one.release.state_since(), now)).text(&one.message);
    }
    text.table(&format!("releases ({})", releases.len()), &table, "none");
    add_events(&mut text, remote, (None, Some(name))).await?;
    Ok(text.into_text())
}
