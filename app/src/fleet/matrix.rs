//! Workloads × clusters: rows worst first, columns by region, names upright, columns of offline clusters outlined.

use std::sync::Arc;

use domain::cluster::Connectivity;
use domain::fleet::{FleetColumn, FleetRow};
use domain::{ReleaseId, Timestamp};
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use crate::components::{Age, StateGroup, StateStrip, cell_status, icon};
use crate::live;
use crate::paths;
use crate::search::{PaletteRequest, use_palette};

mod caption;
mod state;

use caption::{MatrixData, ReleaseCell, show_caption};
pub use state::MatrixState;

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
    /// What stays when an update renders the matrix again.
    state: MatrixState,
) -> impl IntoView {
    if rows.is_empty() {
        return view! { <p class="text-2">"No workload has a release in this state."</p> }.into_any();
    }
    let head = matrix_head(&columns);
    let foot = matrix_foot(&columns, at);
    let body = rows.iter().map(|row| matrix_row(row, &columns)).collect_view();
    let strips = rows.iter().map(workload_strip).collect_view();
    let more = more_workloads(rows.len(), total, &active);
    let data = Arc::new(MatrixData { columns, rows });
    let shown = Arc::clone(&data);
    let describe_cell = move |release: Option<String>| {
        let release = release.and_then(|id| id.parse::<ReleaseId>().ok());
        if release.is_some() && state.cell.try_get_untracked().flatten() != release {
            state.cell.set(release);
        }
    };
    let palette = use_palette();
    // Between two of its cells, the focus is nowhere.
    let release =
        move || live::page::before_next_frame(move || state.release_attention_height(palette.is_open()));
    view! {
        <section class="stack-sm" aria-labelledby="matrix">
            <h2 class="section" id="matrix">
                "Workloads × clusters "
                <span class="meta font-normal">"Worst first. Outlined: last known."</span>
            </h2>
            <div
                class="matrix-wrap"
                tabindex="0"
                role="region"
                aria-label="Matrix"
                on:focusin=move |ev| {
                    // A click beside the cells focuses the matrix itself, long after which nothing in it may be in use.
                    state.set_focus(live::page::is_link_event(&ev));
                    describe_cell(live::page::cell_release(&ev));
                }
                on:focusout=move |_| {
                    state.set_focus(false);
                    release();
                }
                on:mouseenter=move |_| state.set_pointer(true)
                on:mouseleave=move |_| {
                    state.set_pointer(false);
                    release();
                }
                on:mouseover=move |ev| describe_cell(live::page::cell_release(&ev))
                on:keydown=handle_keys(data)
            >
                <table class="matrix">
                    {head}
                    <tbody>{body}</tbody>
                    {foot}
                </table>
            </div>
            <p class="matrix-caption">
                {move || show_caption(&shown, state.cell.try_get().flatten(), at)}
                <span>
                    <kbd class="key">"Enter"</kbd>
                    " open "
                    <kbd class="key">"."</kbd>
                    " actions "
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

/// The arrow keys move the focus; `.` opens the palette with the actions on the release of the cell.
fn handle_keys(data: Arc<MatrixData>) -> impl Fn(KeyboardEvent) + 'static {
    let palette = use_palette();
    move |event: KeyboardEvent| {
        let release = live::page::actions_key_release(&event).and_then(|id| id.parse::<ReleaseId>().ok());
        match release.and_then(|release| data.find(release)) {
            Some(one) => {
                // The shortcuts of the page ignore it then.
                event.prevent_default();
                let release = (one.workload.to_owned(), one.column.name.clone());
                palette.open(PaletteRequest { release: Some(release), ..PaletteRequest::default() });
            }
            None => live::page::move_in_grid(&event),
        }
    }
}

/// The line under the matrix if it does not have every workload.
fn more_workloads(shown: usize, total: u32, active: &str) -> impl IntoView + use<> {
    (usize::try_from(total).is_ok_and(|total| total > shown)).then(|| {
        let all = paths::query(paths::WORKLOADS, &[("state", active)]);
        view! {
            <p class="table-foot">
                <span>{format!("The worst {shown} of {total} workloads.")}</span>
                <a class="link" href=all>
                    "All workloads"
                </a>
            </p>
        }
    })
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
        let title = name.clone();
        view! {
            <th class="matrix-group" colspan=n.to_string() scope="colgroup" title=title>
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

fn matrix_row(row: &FleetRow, columns: &[FleetColumn]) -> impl IntoView + use<> {
    let cells = row.cells.iter().zip(columns).map(|(cell, column)| match cell {
        Some(cell) => matrix_cell(ReleaseCell { workload: &row.name, column, cell }).into_any(),
        None => view! { <td class="matrix-none"></td> }.into_any(),
    });
    let cells = cells.collect_view();
    view! {
        <tr>
            <th class="name" scope="row">
                <a href=paths::workload(&row.name) title=row.name.clone()>{row.name.clone()}</a>
            </th>
            {cells}
        </tr>
    }
}

fn matrix_cell(one: ReleaseCell<'_>) -> impl IntoView + use<> {
    let (look, _) = cell_status(one.cell.state, one.cell.last_known);
    view! {
        <td data-release=one.cell.release.to_string()>
            <a
                class=format!("matrix-cell {}", look.hue)
                aria-label=one.label()
                href=paths::release(one.workload, &one.column.name)
            >
                {icon(look.icon)}
            </a>
        </td>
    }
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
    fn adjacent_columns_of_one_region_share_a_head() {
        let columns = [column("a", "eu"), column("b", "eu"), column("c", "us")];
        assert_eq!(group_by_region(&columns), [("eu".to_owned(), 2), ("us".to_owned(), 1)]);
    }
}
