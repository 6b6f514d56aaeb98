//! One group: its members by name and by selector, and its features.

use domain::labels::LabelSelector;
use domain::placement::GroupView;

use super::section::Description;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Table, pluralize};
use crate::pages::list_all_pages;

/// The description of a group.
pub async fn describe_group(remote: &ServerConnection, name: &str) -> Result<String, Failure> {
    let GroupView { group, missing, findings, .. } = remote.client.get_group(name).await?;
    let clusters = list_all_pages(async |query| remote.client.list_clusters(&query).await).await?;
    let mut text = Description::default();
    text.field("name", &group.name);
    text.list("static members", &group.members);
    text.field(
        "selector",
        group.selector.as_ref().map_or_else(|| "none".to_owned(), LabelSelector::to_string),
    );
    text.field("exclusive", if group.exclusive { "yes" } else { "no" });
    if !findings.is_empty() {
        let messages: Vec<String> = findings.into_iter().map(|finding| finding.message).collect();
        text.list("conflicts", &messages);
    }
    let locked: Vec<String> = group.locked_values.lines().map(str::to_owned).collect();
    text.list("locked values", &locked);
    if !missing.is_empty() {
        text.field(
            "not registered",
            format!("{} ({})", missing.join(", "), pluralize(missing.len(), "static member")),
        );
    }
    let mut table = Table::new(&["CLUSTER", "MEMBER BY", "CONNECTIVITY"]);
    for one in clusters.iter().filter(|one| group.contains(&one.cluster)) {
        let by = if group.members.contains(&one.cluster.name) { "name" } else { "selector" };
        table.add_row().text(&one.cluster.name).text(by).cluster_connectivity(&one.cluster);
    }
    text.table("clusters", &table, "none: no registered cluster is a member");
    let mut features = Table::new(&["FEATURE", "ENABLED"]);
    for feature in remote.client.list_group_features(name).await? {
        let enabled = if feature.feature.enabled { "yes" } else { "no" };
        features.add_row().text(feature.feature.name.as_str()).text(enabled);
    }
    text.table("features", &features, "none");
    Ok(text.into_text())
}
