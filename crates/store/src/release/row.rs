//! The columns of a release and their decoding.

use domain::health::Health;
use domain::release::{Release, ReleaseRow, ReleaseSpec, ReleaseState};

use crate::decode::{DecodeError, RowReader};

/// Columns of every query for releases; the alias of the table is `r`.
pub(crate) const SELECT: &str = "SELECT r.id, r.workload_id, r.cluster_id, r.workload_name, r.cluster_name, \
     r.revision, r.wave, r.gate, r.generation, r.sync_nonce, r.desired, r.released, r.released_revision, r.applied, r.sync, r.connectivity, r.state, \
     r.state_rank, r.state_since, r.reported_at, r.goal, r.policies, r.health_detail, r.stages";

/// The stored rank of a state: its position in the order of severity.
pub(crate) const fn state_rank(state: ReleaseState) -> i64 {
    state as i64
}

/// Names of the states in which nothing is desired on the cluster any more.
pub(super) fn gone_state_names() -> impl Iterator<Item = &'static str> {
    ReleaseState::ALL.into_iter().filter(|state| state.is_gone()).map(ReleaseState::as_str)
}

/// Decodes a column with the name of a state.
pub(crate) fn read_state(row: &RowReader<'_>, column: &str) -> Result<ReleaseState, DecodeError> {
    ReleaseState::parse(&row.text(column)?).ok_or_else(|| format!("{column}: unknown state"))
}

pub(crate) fn read_release(row: &RowReader<'_>) -> Result<Release, DecodeError> {
    Ok(Release::from_row(ReleaseRow {
        id: row.parse("id")?,
        workload: row.parse("workload_id")?,
        cluster: row.parse("cluster_id")?,
        goal: row.json("goal")?,
        generation: row.int("generation")?,
        sync_nonce: row.int("sync_nonce")?,
        revision: row.opt_count("revision")?,
        wave: row.opt_count("wave")?,
        gate: row.enum_value("gate")?,
        policies: row.json("policies")?,
        desired: row.opt_parse("desired")?,
        released: row.opt_parse("released")?,
        released_revision: row.opt_count("released_revision")?,
        applied: row.opt_parse("applied")?,
        stages: row.json("stages")?,
        sync: row.enum_value("sync")?,
        health: row.json::<Health>("health_detail")?,
        connectivity: row.enum_value("connectivity")?,
        reported_at: row.opt_timestamp("reported_at")?,
        state_since: row.timestamp("state_since")?,
    }))
}

pub(super) fn read_desired_release(row: &RowReader<'_>) -> Result<ReleaseSpec, DecodeError> {
    Ok(ReleaseSpec {
        release: row.parse("id")?,
        workload: row.text("workload_name")?,
        goal: row.json("goal")?,
        generation: row.int("generation")?,
        sync_nonce: row.int("sync_nonce")?,
        revision: row.opt_count("released_revision")?,
        released: row.opt_parse("released")?,
        policies: row.json("policies")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_states_matches_the_stored_ranks() {
        let words: Vec<&str> = ReleaseState::ALL.into_iter().map(ReleaseState::as_str).collect();
        // Another order, or a new state in between, needs a migration that re-ranks `release` and `release_count`.
        assert_eq!(
            words.join(" "),
            "Removed Orphaned Abandoned Healthy NotAssessed Suspended Terminating Removing Pending Queued Pulling \
             Applying Progressing Stale Unknown Drifted Blocked Degraded Failed"
        );
        assert!(ReleaseState::ALL.into_iter().enumerate().all(|(n, state)| state_rank(state) == n as i64));
        // The index `release_failing` begins at 16.
        assert!(ReleaseState::ALL.into_iter().all(|state| state.is_failing() == (state_rank(state) >= 16)));
    }
}
