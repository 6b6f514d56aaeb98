//! The list from which the members of a group are picked: a page of the clusters that match a search, members first, and the
//! labels by which clusters are members, too.

use domain::Timestamp;
use domain::page::Page;
use domain::placement::{FleetLabel, GroupCandidate, GroupMembershipKind};
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use serde::{Deserialize, Serialize};

use super::address::{MembersAddress, toggle_label};
use crate::clusters::labels::label_chips;
use crate::components::{ClusterReachability, Pager, cluster_label, render_resource, search_field};
use crate::errors::AppResult;
use crate::live;
use crate::resource::create_resource;

/// Clusters of a page: their names are in the address of a browser without script.
#[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "the server reads the page"))]
const PAGE_SIZE: u32 = 30;

/// One page of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateList {
    /// The clusters.
    pub page: Page<GroupCandidate>,
    /// The labels of the fleet.
    pub labels: Vec<FleetLabel>,
    /// The stored selector of the group.
    pub selector: String,
    /// When this was read.
    pub at: Timestamp,
}

/// The query of the list; an empty group is one that does not exist yet.
#[server(prefix = "/api/fn", endpoint = "group_candidates_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn group_candidates_read(group: String, q: String, cursor: String) -> AppResult<CandidateList> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let selector = match group.as_str() {
        "" => None,
        name => host::into_app_result(hub.get_group(name).await)?.selector,
    };
    let query = hub::GroupCandidateQuery {
        group,
        q: q.chars().take(100).collect(),
        cursor: (!cursor.is_empty()).then_some(cursor),
        limit: Some(PAGE_SIZE),
    };
    Ok(CandidateList {
        page: host::into_app_result(hub.list_group_candidates(&query).await)?,
        labels: host::into_app_result(hub.list_fleet_labels().await)?,
        selector: selector.map(|selector| selector.to_string()).unwrap_or_default(),
        at: hub.clock().now(),
    })
}

/// The list in the form that changes a group.
#[component]
pub fn MemberPicker(
    name: Memo<String>,
    address: Memo<MembersAddress>,
    /// Grows when a change was saved.
    saves: RwSignal<u32>,
) -> impl IntoView {
    // Not read again while boxes are ticked: rows never move under the pointer.
    let place = Memo::new(move |_| {
        let address = address.read();
        (address.q.clone(), address.cursor.clone())
    });
    let data = create_resource(
        move || (name.get(), place.get(), saves.get()),
        |(name, (q, cursor), _)| group_candidates_read(name, q, cursor),
    );
    let navigate = use_navigate();
    let go = Callback::new(move |address: MembersAddress| {
        let options = NavigateOptions { scroll: false, replace: true, ..NavigateOptions::default() };
        navigate(&address.to_path(&name.get_untracked()), options);
    });
    let submit = move |event: SubmitEvent| {
        if let Some(values) = live::page::form_values(&event) {
            event.prevent_default();
            let value = |name: &str| {
                let found = values.iter().find(|(key, _)| key == name);
                found.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
            };
            let selector = MembersAddress::selector_text(&value("selector"));
            go.run(MembersAddress {
                q: value("q"),
                cursor: String::new(),
                selector,
                ..address.get_untracked()
            });
        }
    };
    view! {
        <form method="get" action=move || crate::paths::group(&name.get()) class="stack-md" on:submit=submit>
            <div class="filter-bar">
                {move || search_field("q", "Name, region or label", place.get().0)}
                <button class="btn" type="submit">"Search"</button>
            </div>
            {render_resource(data, move |list| show_candidates(list, name.get_untracked(), address, go))}
            <noscript>
                <button class="btn" type="submit">"Show the effect"</button>
            </noscript>
        </form>
    }
    .into_any()
}

fn show_candidates(
    list: CandidateList,
    name: String,
    address: Memo<MembersAddress>,
    go: Callback<MembersAddress>,
) -> AnyView {
    let CandidateList { page, labels, selector, at } = list;
    let here = address.get_untracked();
    let with_kind = |is_member: bool| -> String {
        let of_kind =
            page.items.iter().filter(|one| (one.membership == GroupMembershipKind::Named) == is_member);
        of_kind.map(|one| one.name.as_str()).collect::<Vec<_>>().join(",")
    };
    let (members, others) = (with_kind(true), with_kind(false));
    let first = (!here.cursor.is_empty())
        .then(|| MembersAddress { cursor: String::new(), ..here.clone() }.to_path(&name));
    let next = page.next.clone().map(|cursor| MembersAddress { cursor, ..here.clone() }.to_path(&name));
    let (shown, total) = (page.items.len(), page.total);
    let rows = page.items.into_iter().map(|one| show_candidate(one, at, address, go)).collect_view();
    let table = if shown == 0 {
        view! { <p class="text-2">"No cluster has this text in its name, its region or its labels."</p> }
            .into_any()
    } else {
        view! {
            {candidate_table(rows.into_any())}
            <Pager shown=shown total=total noun="clusters" first=first next=next />
        }
        .into_any()
    };
    view! {
        // For a browser without script: what the boxes of this page were, and the change so far.
        <input type="hidden" name="members" value=members />
        <input type="hidden" name="others" value=others />
        <input type="hidden" name="add" value=here.add.clone() />
        <input type="hidden" name="remove" value=here.remove.clone() />
        {table}
        <SelectorField name=name stored=selector labels=labels address=address go=go />
    }
    .into_any()
}

/// The table of clusters with a box each.
pub fn candidate_table(rows: AnyView) -> impl IntoView {
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col" class="cell-pick"><span class="sr-only">"Member by name"</span></th>
                    <th scope="col">"Cluster"</th>
                    <th scope="col">"Member"</th>
                    <th scope="col">"Connectivity"</th>
                    <th scope="col">"Region"</th>
                    <th scope="col">"Labels"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
}

fn show_candidate(
    cluster: GroupCandidate,
    at: Timestamp,
    address: Memo<MembersAddress>,
    go: Callback<MembersAddress>,
) -> impl IntoView {
    let is_member = cluster.membership == GroupMembershipKind::Named;
    let is_ticked = address.get_untracked().is_ticked(&cluster.name, is_member);
    let (name, shown) = (cluster.name.clone(), cluster.name.clone());
    // The change can be discarded, and Back returns to the former one: the box shows what the address says.
    let follow_address = move || address.read().is_ticked(&shown, is_member);
    let tick = move |event| {
        let is_ticked = event_target_checked(&event);
        go.run(address.get_untracked().with_tick(&name, is_member, is_ticked));
    };
    let id = format!("pick-{}", cluster.name);
    let label = format!("Member by name: {}", cluster.name);
    let pick = view! {
        <input type="checkbox" class="checkbox" id=id.clone() name="pick" value=cluster.name.clone()
            checked=is_ticked prop:checked=follow_address aria-label=label on:change=tick />
    };
    candidate_row(cluster, at, id, pick.into_any())
}

/// A row of the list with its box.
pub fn candidate_row(cluster: GroupCandidate, at: Timestamp, id: String, pick: AnyView) -> impl IntoView {
    let member = match cluster.membership {
        GroupMembershipKind::None => None,
        GroupMembershipKind::Named => Some("by name"),
        GroupMembershipKind::Label => Some("by label"),
    };
    let reach = ClusterReachability {
        connectivity: cluster.connectivity,
        last_seen: cluster.last_seen,
        api_server_down_since: cluster.api_server_down_since,
    };
    view! {
        <tr>
            <td class="cell-pick">{pick}</td>
            <th scope="row" class="cell-name name"><label for=id>{cluster.name.clone()}</label></th>
            <td data-label=member.map(|_| "Member")>{member}</td>
            <td class="cell-state">{cluster_label(reach, at)}</td>
            <td data-label=(!cluster.region.is_empty()).then_some("Region")>{cluster.region.clone()}</td>
            <td class="max-sm:hidden">{label_chips(&cluster.labels)}</td>
        </tr>
    }
}

/// The selector, and the labels of the fleet, which can be added to it.
#[component]
fn SelectorField(
    name: String,
    stored: String,
    labels: Vec<FleetLabel>,
    address: Memo<MembersAddress>,
    go: Callback<MembersAddress>,
) -> impl IntoView {
    let initial = stored.clone();
    let text = Memo::new(move |_| match address.read().change().selector {
        Some(text) => text,
        None => stored.clone(),
    });
    let change = move |event| {
        let selector = MembersAddress::selector_text(&event_target_value(&event));
        go.run(MembersAddress { selector, ..address.get_untracked() });
    };
    view! {
        <div class="field">
            <label class="field-label" for="group-selector">"Clusters by label"</label>
            <input class="input input-mono" id="group-selector" name="selector" value=text.get_untracked()
                prop:value=move || text.get() placeholder="env=prod,region in (eu,us),!legacy" maxlength="500"
                autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="group-selector-help"
                on:change=change />
            <p class="field-help" id="group-selector-help">
                {move || {
                    let is_changed = text.get() != initial;
                    if is_changed {
                        "Changed, not saved yet. Every cluster with these labels is a member, also one that joins later."
                    } else {
                        "Every cluster with these labels is a member, also one that joins later."
                    }
                }}
            </p>
        </div>
        {fleet_labels(name, labels, text, address)}
    }
    .into_any()
}

/// The labels of the fleet; each is a link that adds it to the selector, or takes it out.
fn fleet_labels(
    name: String,
    labels: Vec<FleetLabel>,
    text: Memo<String>,
    address: Memo<MembersAddress>,
) -> Option<impl IntoView> {
    let chip = move |FleetLabel { key, value, clusters }: FleetLabel| {
        let name = name.clone();
        let word = format!("{key}={value}");
        let href = move || {
            let selector = toggle_label(&text.get(), &key, &value);
            MembersAddress { selector, ..address.get() }.to_path(&name)
        };
        view! {
            <li>
                <a class="chip mono" href=href>{word} " " <span class="text-3">{clusters}</span></a>
            </li>
        }
    };
    (!labels.is_empty()).then(|| {
        view! {
            <div class="stack-sm">
                <p class="meta" id="fleet-labels">"Labels of the fleet, with the number of clusters; select one to add it or to take it out"</p>
                <ul class="flex flex-wrap gap-1" aria-labelledby="fleet-labels">
                    {labels.into_iter().map(chip).collect_view()}
                </ul>
            </div>
        }
    })
}
