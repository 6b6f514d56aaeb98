//! Cluster groups: named sets of clusters that placements and overrides refer to (S1-1, S1-2).

use domain::placement::{GroupSummary, SUMMARY_CLUSTERS};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::components::{Empty, join_names, pluralize, render_resource, unbroken};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::resource::create_resource;

mod address;
mod effect;
mod members;
mod new;
mod page;

pub use new::NewGroupPage;
pub use page::GroupPage;

/// All groups, with the number of their members.
#[server(prefix = "/api/fn", endpoint = "groups_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn groups_read() -> AppResult<Vec<GroupSummary>> {
    use crate::host;
    host::into_app_result(host::hub_for_reader()?.list_group_summaries().await)
}

/// All groups.
#[component]
pub fn GroupsPage() -> impl IntoView {
    // Every change of a group is in the event log, which the fleet's topic covers.
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(move || version.get(), |_| groups_read());
    view! {
        <Title text="Cluster groups" />
        <div class="stack">
            <div class="stack-sm">
                <div class="head">
                    <h1 class="title">"Cluster groups"</h1>
                    <div class="head-actions">
                        <a class="btn btn-primary" href=paths::GROUP_NEW>"New group"</a>
                    </div>
                </div>
                <p class="text-2">
                    "A named set of clusters, picked by name, by label, or both. Placements and overrides refer to it by its name."
                </p>
            </div>
            {render_resource(data, show_groups)}
        </div>
    }
    .into_any()
}

fn show_groups(groups: Vec<GroupSummary>) -> AnyView {
    if groups.is_empty() {
        return view! {
            <Empty title="No groups yet" text="Name a set of clusters once, and use it in every placement."
                command="flotilla group set edge --selector tier=edge" />
        }
        .into_any();
    }
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Group"</th>
                    <th scope="col">"Members"</th>
                    <th scope="col">"Clusters"</th>
                    <th scope="col">"Labels"</th>
                </tr>
            </thead>
            <tbody>{groups.into_iter().map(show_row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn show_row(group: GroupSummary) -> impl IntoView {
    let selector = group.selector.map(|selector| selector.to_string()).unwrap_or_default();
    let address = paths::query(paths::CLUSTERS, &[("labels", &selector)]);
    let has_selector = !selector.is_empty();
    let link = has_selector.then(|| view! { <a class="link mono" href=address>{selector}</a> });
    let exclusive = group.exclusive.then(|| view! { " " <span class="tag">"exclusive"</span> });
    let total = (group.named + group.by_label) as usize;
    let clusters = (total > 0).then(|| unbroken(&join_names(&group.clusters, total, SUMMARY_CLUSTERS)));
    view! {
        <tr>
            <th scope="row" class="cell-name name">
                <a href=paths::group(&group.name)>{group.name.clone()}</a>
                {exclusive}
            </th>
            <td data-label="Members">{describe_members(group.named, group.by_label)}</td>
            <td data-label=(total > 0).then_some("Clusters") class="mono">{clusters}</td>
            <td data-label=has_selector.then_some("Labels")>{link}</td>
        </tr>
    }
}

/// `5 clusters: 2 by name, 3 by label`.
fn describe_members(named: u32, by_label: u32) -> String {
    let total = pluralize(named + by_label, "cluster");
    match (named, by_label) {
        (0, 0) => "none".to_owned(),
        (_, 0) => format!("{total} by name"),
        (0, _) => format!("{total} by label"),
        (named, by_label) => format!("{total}: {named} by name, {by_label} by label"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_counted_by_how_they_are_members() {
        assert_eq!(describe_members(0, 0), "none");
        assert_eq!(describe_members(1, 0), "1 cluster by name");
        assert_eq!(describe_members(2, 3), "5 clusters: 2 by name, 3 by label");
    }
}
