//! The columns of a release and their decoding.

use domain::Digest;
use domain::release::{Release, ReleaseRow, ReleaseSpec, ReleaseState};

use crate::decode::{DecodeError, RowReader};
use crate::sql::{Sql, to_json};
use crate::table::{self, SqlValue, table_row};

table_row! {
    Release as release in "release" => ReleaseRow;
    Key id = release.id().to_string() => id: parse;
    Fixed workload_id = release.workload().to_string() => workload: parse;
    Fixed cluster_id = release.cluster().to_string() => cluster: parse;
    Fixed workload_name = SqlValue::NameOf { table: "workload", id: release.workload().to_string() };
    Fixed cluster_name = SqlValue::NameOf { table: "cluster", id: release.cluster().to_string() };
    Mutable revision = release.revision() => revision: opt_count;
    Mutable wave = release.wave() => wave: opt_count;
    Mutable gate = release.gate().as_str() => gate: enum_value;
    Mutable generation = release.generation() => generation: int;
    Mutable sync_nonce = release.sync_nonce() => sync_nonce: int;
    Mutable desired = release.desired().map(Digest::to_string) => desired: opt_parse;
    Mutable released = release.released().map(Digest::to_string) => released: opt_parse;
    Mutable released_revision = release.released_revision() => released_revision: opt_count;
    Mutable rollback_bundle = release.rollback().map(|before| before.bundle.to_string()) => rollback_bundle: opt_parse;
    Mutable rollback_revision = release.rollback().map(|before| before.revision) => rollback_revision: opt_count;
    Mutable rollback_policies = release.rollback().map(|before| to_json(&before.policies)).transpose()? => rollback_policies: opt_json;
    Mutable applied = release.applied().map(Digest::to_string) => applied: opt_parse;
    Mutable applied_revision = release.applied_revision() => applied_revision: opt_count;
    Mutable installed_revision = release.installed_revision() => installed_revision: opt_count;
    Mutable confirmed_revision = release.confirmed_revision() => confirmed_revision: opt_count;
    Mutable rendered_facts = release.rendered_facts().map(Digest::to_string) => rendered_facts: opt_parse;
    Mutable rendered_facts_revision = release.rendered_facts_revision() => rendered_facts_revision: opt_count;
    Mutable facts_comparison = release.facts_comparison().map(to_json).transpose()? => facts_comparison: opt_json;
    Mutable admitted_offline = release.is_admitted_offline() => admitted_offline: flag;
    Mutable sync = release.sync().as_str() => sync: enum_value;
    Mutable health = release.health().status.as_str();
    Mutable connectivity = release.connectivity().as_str() => connectivity: enum_value;
    Mutable state = release.state().as_str();
    Mutable state_rank = state_rank(release.state());
    Mutable last_known_state = release.last_known_state().as_str();
    Mutable last_known_rank = state_rank(release.last_known_state());
    Mutable state_since = release.state_since() => state_since: timestamp;
    Mutable reported_at = release.reported_at() => reported_at: opt_timestamp;
    Mutable in_desired_state = release.desired_release("").is_some();
    Mutable message = release.last_known_message();
    Mutable goal = to_json(&release.goal())? => goal: json;
    Mutable policies = to_json(&release.policies())? => policies: json;
    Mutable health_detail = to_json(&release.health())? => health: json;
    Mutable stages = to_json(&release.stages())? => stages: json;
}

/// Every column of a release; the alias of the table is `r`.
pub(crate) fn select_releases() -> Sql {
    table::select::<Release>("r")
}

/// The stored rank of a state: its position in the order of severity.
pub(crate) const fn state_rank(state: ReleaseState) -> i64 {
    state as i64
}

/// Names of the states in which nothing is desired on the cluster any more.
pub(super) fn gone_state_names() -> impl Iterator<Item = &'static str> {
    ReleaseState::ALL.iter().copied().filter(|state| state.is_gone()).map(ReleaseState::as_str)
}

/// Decodes a column with the name of a state.
pub(crate) fn read_state(row: &RowReader<'_>, column: &str) -> Result<ReleaseState, DecodeError> {
    ReleaseState::parse(&row.text(column)?).ok_or_else(|| format!("{column}: unknown state"))
}

pub(crate) fn read_release(row: &RowReader<'_>) -> Result<Release, DecodeError> {
    read_row(row).map(Release::from_row)
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
        let words: Vec<&str> = ReleaseState::ALL.iter().copied().map(ReleaseState::as_str).collect();
        // Another order, or a new state in between, needs a migration that re-ranks `release` and `release_count`.
        assert_eq!(
            words.join(" "),
            "Removed Orphaned Abandoned Healthy NotAssessed Suspended Terminating Removing Pending Queued Pulling \
             Applying Progressing Stale Unknown Drifted Blocked Degraded Failed"
        );
        assert!(
            ReleaseState::ALL.iter().copied().enumerate().all(|(n, state)| state_rank(state) == n as i64)
        );
        // The index `release_failing` begins at 16.
        assert!(
            ReleaseState::ALL.iter().copied().all(|state| state.is_failing() == (state_rank(state) >= 16))
        );
    }
}
