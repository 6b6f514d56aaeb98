//! The columns of a release and how they are read.

use domain::health::Health;
use domain::release::{Expected, Release, State};

use crate::record::{Record, Why};

/// What every statement that gives releases begins with; the table is `r`.
pub(crate) const SELECT: &str = "SELECT r.id, r.workload_id, r.cluster_id, r.workload_name, r.cluster_name, \
     r.revision, r.wave, r.generation, r.sync_nonce, r.desired, r.released, r.released_revision, r.applied, r.sync, r.reach, r.state, \
     r.state_rank, r.state_since, r.reported_at, r.goal, r.policies, r.health_detail, r.stages";

/// The place of a state in the order from quiet to loud, as the database keeps it.
pub(crate) const fn rank(state: State) -> i64 {
    state as i64
}

/// The words of the states in which nothing is expected any more.
pub(super) fn gone_words() -> impl Iterator<Item = &'static str> {
    State::ALL.into_iter().filter(|state| state.is_gone()).map(State::word)
}

/// A column with the word of a state.
pub(crate) fn state(row: &Record<'_>, column: &str) -> Result<State, Why> {
    State::from_word(&row.text(column)?).ok_or_else(|| format!("{column}: no such state"))
}

pub(crate) fn read(row: &Record<'_>) -> Result<Release, Why> {
    Ok(Release {
        id: row.parse("id")?,
        workload: row.parse("workload_id")?,
        cluster: row.parse("cluster_id")?,
        goal: row.json("goal")?,
        generation: row.int("generation")?,
        sync_nonce: row.int("sync_nonce")?,
        revision: row.opt_count("revision")?,
        wave: row.opt_count("wave")?,
        policies: row.json("policies")?,
        desired: row.opt_parse("desired")?,
        released: row.opt_parse("released")?,
        released_revision: row.opt_count("released_revision")?,
        applied: row.opt_parse("applied")?,
        stages: row.json("stages")?,
        sync: row.word("sync")?,
        health: row.json::<Health>("health_detail")?,
        reach: row.word("reach")?,
        reported_at: row.opt_at("reported_at")?,
        state_since: row.at("state_since")?,
    })
}

pub(super) fn expected(row: &Record<'_>) -> Result<Expected, Why> {
    Ok(Expected {
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
    fn the_order_of_states_is_the_one_the_rows_were_ranked_by() {
        let words: Vec<&str> = State::ALL.into_iter().map(State::word).collect();
        // Another order, or a word in between, needs a migration that re-ranks `release` and `release_count`.
        assert_eq!(
            words.join(" "),
            "Removed Orphaned Abandoned Healthy Suspended Terminating Removing Pending Queued Pulling Applying \
             Progressing Stale Unknown Drifted Blocked Degraded Failed"
        );
        assert!(State::ALL.into_iter().enumerate().all(|(n, state)| rank(state) == n as i64));
        // The index `release_failing` begins at 15.
        assert!(State::ALL.into_iter().all(|state| state.is_failing() == (rank(state) >= 15)));
    }
}
