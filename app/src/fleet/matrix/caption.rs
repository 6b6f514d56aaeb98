//! The line under the matrix: the cell under the pointer or with the focus, else the worst one, with its icon and age.

use domain::fleet::{FleetCell, FleetColumn, FleetRow};
use domain::release::ReleaseState;
use domain::{ReleaseId, Timestamp};
use leptos::prelude::*;

use crate::components::{Age, cell_status, icon};

/// The content of the matrix.
#[derive(Debug, Clone)]
pub(super) struct MatrixData {
    pub(super) columns: Vec<FleetColumn>,
    pub(super) rows: Vec<FleetRow>,
}

/// A release in the matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReleaseCell<'a> {
    /// The name of its workload.
    pub(super) workload: &'a str,
    /// Its cluster.
    pub(super) column: &'a FleetColumn,
    /// Its state.
    pub(super) cell: &'a FleetCell,
}

impl MatrixData {
    fn cells(&self) -> impl Iterator<Item = ReleaseCell<'_>> {
        self.rows.iter().flat_map(|row| {
            let cells = row.cells.iter().zip(&self.columns);
            cells.filter_map(|(cell, column)| {
                Some(ReleaseCell { workload: &row.name, column, cell: cell.as_ref()? })
            })
        })
    }

    /// The cell of a release.
    pub(super) fn find(&self, release: ReleaseId) -> Option<ReleaseCell<'_>> {
        self.cells().find(|one| one.cell.release == release)
    }

    /// The most severe cell.
    fn worst(&self) -> Option<ReleaseCell<'_>> {
        self.cells().max_by_key(|one| one.cell.state)
    }
}

impl ReleaseCell<'_> {
    /// Its accessible name.
    pub(super) fn label(&self) -> String {
        let (_, word) = cell_status(self.cell.state, self.cell.last_known);
        let is_silent = self.cell.message.is_empty() || self.cell.state == ReleaseState::Unknown;
        let why = if is_silent { String::new() } else { format!(". {}", self.cell.message) };
        format!("{} on {}: {word}{why}", self.workload, self.column.name)
    }
}

/// The caption of this cell; of the worst one without it, and if it is no longer in the matrix.
pub(super) fn show_caption(data: &MatrixData, release: Option<ReleaseId>, at: Timestamp) -> AnyView {
    let Some(one) = release.and_then(|release| data.find(release)).or_else(|| data.worst()) else {
        return ().into_any();
    };
    let (look, _) = cell_status(one.cell.state, one.cell.last_known);
    // The age of a last known state is that of the last report.
    let age = match (one.cell.state, one.column.last_seen) {
        (ReleaseState::Unknown, Some(seen)) => {
            view! { <span class="text-3">"last report " <Age since=seen at=at suffix=" ago" /></span> }
                .into_any()
        }
        (ReleaseState::Unknown, None) => view! { <span class="text-3">"never reported"</span> }.into_any(),
        _ => view! { <span class="text-3">"for " <Age since=one.cell.since at=at /></span> }.into_any(),
    };
    view! {
        <span class=format!("matrix-caption-cell {}", look.hue)>
            {icon(look.icon)}
            <span>{one.label()}</span>
            {age}
        </span>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::cluster::Connectivity;
    use domain::{ClusterId, WorkloadId};

    use super::*;
    use crate::render_tests::render_html;

    const AT: Timestamp = Timestamp::from_millis(1_763_665_200_000);

    fn release(n: u128) -> ReleaseId {
        ReleaseId::from_parts(1, n)
    }

    /// `web` on `edge-1`, which is online, and on `edge-2`, which is not.
    fn data(first: ReleaseState) -> MatrixData {
        let column = |n: u128, connectivity| FleetColumn {
            id: ClusterId::from_parts(1, n),
            name: format!("edge-{n}"),
            region: String::new(),
            connectivity,
            last_seen: Some(AT.plus_millis(-26 * 60_000)),
        };
        let cell = |n: u128, state, message: &str| FleetCell {
            release: release(n),
            state,
            last_known: ReleaseState::Healthy,
            since: AT.plus_millis(-5 * 60_000),
            message: message.to_owned(),
        };
        let cells =
            vec![Some(cell(1, first, "web crashes")), Some(cell(2, ReleaseState::Unknown, "offline"))];
        let row = FleetRow {
            id: WorkloadId::from_parts(1, 1),
            name: "web".to_owned(),
            counts: [first, ReleaseState::Unknown].into_iter().collect(),
            cells,
        };
        let columns = vec![column(1, Connectivity::Online), column(2, Connectivity::Offline)];
        MatrixData { columns, rows: vec![row] }
    }

    fn caption(first: ReleaseState, of: Option<ReleaseId>) -> String {
        render_html(move || show_caption(&data(first), of, AT))
    }

    #[test]
    fn the_caption_of_a_cell_has_its_icon_its_reason_and_its_age() {
        let page = caption(ReleaseState::Degraded, Some(release(1)));
        for part in
            ["/icons.svg#degraded\"", "hue-degraded", "web on edge-1: Degraded. web crashes", "for ", "5 min"]
        {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
    }

    #[test]
    fn the_caption_of_a_last_known_state_is_outlined_and_has_the_age_of_the_last_report() {
        let page = caption(ReleaseState::Degraded, Some(release(2)));
        for part in ["healthy-last", "web on edge-2: Healthy, last known", "last report ", "26 min ago"] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(!page.contains("5 min"), "{page}");
    }

    #[test]
    fn without_a_cell_and_for_one_that_is_gone_the_caption_is_that_of_the_worst() {
        for of in [None, Some(release(9))] {
            assert!(caption(ReleaseState::Failed, of).contains("web on edge-1: Failed"));
            assert!(caption(ReleaseState::Healthy, of).contains("web on edge-2: Healthy, last known"));
        }
    }
}
