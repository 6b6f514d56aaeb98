//! Workloads × clusters: rows worst first, columns by region, names upright, columns of offline clusters outlined.

use domain::cluster::Connectivity;
use domain::fleet::{FleetCell, FleetColumn, FleetRow};
use domain::{Timestamp, WorkloadId};
use leptos::prelude::*;

use crate::components::{Age, StateGroup, StateStrip, cell_status, icon};
use crate::live;
use crate::paths;

/// The matrix; on a phone one strip per workload.
#[component]
pub fn Matrix(
    columns: Vec<FleetColumn>,
    rows: Vec<FleetRow>,
    /// Number of all workloads; the rows are the worst of them.
    total: u32,
    /// The active filter.
    active: String,
    at: Timestamp,
    /// The order of the rows while the pointer is in the matrix.
    held_order: RwSignal<Option<Vec<WorkloadId>>>,
) -> impl IntoView {
    if rows.is_empty() {
        return view! { <p class="text-2">"No workload has a release in this state."</p> }.into_any();
    }
    let caption = RwSignal::new(None::<String>);
    let set_caption = move |name: Option<String>| {
        if name.is_some() {
            caption.set(name);
        }
    };
    let default_caption = worst_cell(&columns, &rows);
    let head = matrix_head(&columns);
    let foot = matrix_foot(&columns, at);
    let strips = rows.iter().map(workload_strip).collect_view();
    let shown = rows.len();
    let order: Vec<WorkloadId> = rows.iter().map(|row| row.id).collect();
    let body = rows.into_iter().map(|row| matrix_row(row, &columns)).collect_view();
    let more = (usize::try_from(total).is_ok_and(|total| total > shown)).then(|| {
        let all = paths::query(paths::WORKLOADS, &[("state", &active)]);
        view! {
            <p class="table-foot">
                <span>{format!("The worst {shown} of {total} workloads.")}</span>
                <a class="link" href=all>
                    "All workloads"
                </a>
            </p>
        }
    });
    view! {
        <section class="stack-sm" aria-labelledby="matrix">
            <h2 class="section" id="matrix">
                "Workloads × clusters "
                <span class="meta font-normal">"Worst first. Outlined: last known."</span>
            </h2>
            <div class="matrix-wrap" tabindex="0" role="region" aria-label="Matrix">
                <table
                    class="matrix"
                    on:focusin=move |ev| set_caption(live::page::cell_label(&ev))
                    on:mouseenter=move |_| held_order.set(Some(order.clone()))
                    on:mouseleave=move |_| held_order.set(None)
                    on:mouseover=move |ev| set_caption(live::page::cell_label(&ev))
                    on:keydown=move |ev| live::page::move_in_grid(&ev)
                >
                    {head}
                    <tbody>{body}</tbody>
                    {foot}
                </table>
            </div>
            <p class="matrix-caption">
                <span>{move || caption.get().unwrap_or_else(|| default_caption.clone())}</span>
                <span>
                    <kbd class="key">"Enter"</kbd>
                    " open "
                    <kbd class="key">"↑↓←→"</kbd>
                    " move"
                </span>
            </p>
            <div class="matrix-strips">{strips}</div>
            {more}
        </section>
    }
    .into_any()
}

/// The rows in the order that they have under the pointer; new ones last.
pub fn hold_order(mut rows: Vec<FleetRow>, held: Option<&[WorkloadId]>) -> Vec<FleetRow> {
    if let Some(held) = held {
        // Stable: rows that are not held keep the order of the server.
        rows.sort_by_key(|row| held.iter().position(|id| *id == row.id).unwrap_or(usize::MAX));
    }
    rows
}

/// The regions of adjacent columns, with the number of columns.
fn group_by_region(columns: &[FleetColumn]) -> Vec<(String, usize)> {
    let mut regions: Vec<(String, usize)> = Vec::new();
    for column in columns {
        match regions.last_mut() {
            Some((name, n)) if *name == column.region => *n += 1,
            _ => regions.push((column.region.clone(), 1)),
        }
    }
    regions
}

fn matrix_head(columns: &[FleetColumn]) -> impl IntoView + use<> {
    let groups = group_by_region(columns).into_iter().map(|(name, n)| {
        let name = if name.is_empty() { "no region".to_owned() } else { name };
        view! {
            <th class="matrix-group" colspan=n.to_string() scope="colgroup">
                <span>{name}</span>
            </th>
        }
    });
    let names = columns.iter().map(|column| {
        let off = column.connectivity != Connectivity::Online;
        let class = if off { "matrix-col matrix-col-off" } else { "matrix-col" };
        let mark =
            off.then(|| icon(if column.connectivity == Connectivity::Late { "late" } else { "offline" }));
        let offline_text = off
            .then(|| view! { <span class="sr-only">{format!(", {}", column.connectivity.as_str())}</span> });
        view! {
            <th class=class scope="col">
                <span>
                    <a href=paths::cluster(&column.name)>{column.name.clone()}</a>
                    {mark}
                    {offline_text}
                </span>
            </th>
        }
    });
    view! {
        // The widths are those of the columns: a state that changes moves no other cell.
        <colgroup>
            <col class="matrix-names" />
            {columns.iter().map(|_| view! { <col class="matrix-column" /> }).collect_view()}
        </colgroup>
        <thead>
            <tr>
                <td class="border-0"></td>
                {groups.collect_view()}
            </tr>
            <tr>
                <th class="meta" scope="col">
                    "Workload"
                </th>
                {names.collect_view()}
            </tr>
        </thead>
    }
}

fn matrix_row(row: FleetRow, columns: &[FleetColumn]) -> impl IntoView + use<> {
    let name = row.name;
    let cells = row.cells.into_iter().zip(columns).map(|(one, column)| match one {
        Some(one) => matrix_cell(&name, column, &one).into_any(),
        None => view! { <td class="matrix-none"></td> }.into_any(),
    });
    let cells = cells.collect_view();
    view! {
        <tr>
            <th class="name" scope="row">
                <a href=paths::workload(&name)>{name.clone()}</a>
            </th>
            {cells}
        </tr>
    }
}

fn matrix_cell(workload: &str, column: &FleetColumn, one: &FleetCell) -> impl IntoView + use<> {
    let (look, _) = cell_status(one.state, one.last_known);
    view! {
        <td data-release=one.release.to_string()>
            <a
                class=format!("matrix-cell {}", look.hue)
                aria-label=cell_label(workload, &column.name, one)
                href=paths::release(workload, &column.name)
            >
                {icon(look.icon)}
            </a>
        </td>
    }
}

fn cell_label(workload: &str, cluster: &str, one: &FleetCell) -> String {
    let (_, word) = cell_status(one.state, one.last_known);
    let silent = one.message.is_empty() || one.state == domain::release::ReleaseState::Unknown;
    let why = if silent { String::new() } else { format!(". {}", one.message) };
    format!("{workload} on {cluster}: {word}{why}")
}

/// The initial caption of the matrix: its worst cell.
fn worst_cell(columns: &[FleetColumn], rows: &[FleetRow]) -> String {
    let cells = rows.iter().flat_map(|row| {
        row.cells
            .iter()
            .zip(columns)
            .filter_map(|(one, column)| Some((row.name.as_str(), column, one.as_ref()?)))
    });
    let worst = cells.max_by_key(|(_, _, one)| one.state);
    worst.map(|(workload, column, one)| cell_label(workload, &column.name, one)).unwrap_or_default()
}

fn matrix_foot(columns: &[FleetColumn], at: Timestamp) -> impl IntoView + use<> {
    if columns.iter().all(|column| column.connectivity == Connectivity::Online) {
        return ().into_any();
    }
    let cells = columns.iter().map(|column| {
        let seen = (column.connectivity != Connectivity::Online).then_some(column.last_seen).flatten();
        view! { <td>{seen.map(|seen| view! { <Age since=seen at=at /> })}</td> }
    });
    view! {
        <tfoot>
            <tr>
                <th scope="row">"Last seen"</th>
                {cells.collect_view()}
            </tr>
        </tfoot>
    }
    .into_any()
}

fn workload_strip(row: &FleetRow) -> impl IntoView + use<> {
    let worst = row.counts.worst().map(|state| (StateGroup::from_state(state), row.counts.targeted()));
    let word = worst.map(|(group, total)| {
        let n = group.count_releases(&row.counts);
        let look = group.style();
        view! {
            <span class=format!("state meta {}", look.hue)>
                {icon(look.icon)} {format!("{n} of {total} {}", group.label().to_lowercase())}
            </span>
        }
    });
    view! {
        <a href=paths::workload(&row.name)>
            <span class="flex items-center justify-between">
                <b class="name">{row.name.clone()}</b>
                {word}
            </span>
            <StateStrip counts=row.counts.clone() class="strip strip-row" />
        </a>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ClusterId;

    fn column(name: &str, region: &str) -> FleetColumn {
        let id = ClusterId::from_parts(1, 1);
        FleetColumn {
            id,
            name: name.into(),
            region: region.into(),
            connectivity: Connectivity::Online,
            last_seen: None,
        }
    }

    #[test]
    fn rows_keep_their_order_under_the_pointer_and_new_ones_come_last() {
        let row = |n: u64| FleetRow {
            id: WorkloadId::from_parts(n, 1),
            name: format!("w{n}"),
            counts: [].into_iter().collect(),
            cells: Vec::new(),
        };
        let ids = |rows: Vec<FleetRow>| -> Vec<WorkloadId> { rows.into_iter().map(|row| row.id).collect() };
        let held = ids(vec![row(3), row(1)]);
        let rows = || vec![row(1), row(2), row(3)];
        assert_eq!(ids(hold_order(rows(), Some(&held))), ids(vec![row(3), row(1), row(2)]));
        assert_eq!(ids(hold_order(rows(), None)), ids(rows()));
    }

    #[test]
    fn adjacent_columns_of_one_region_share_a_head() {
        let columns = [column("a", "eu"), column("b", "eu"), column("c", "us")];
        assert_eq!(group_by_region(&columns), [("eu".to_owned(), 2), ("us".to_owned(), 1)]);
    }
}
