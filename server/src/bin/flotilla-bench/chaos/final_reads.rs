//! The end of a run: waits until everything has converged, then reads and records it.

use std::time::Duration;

use domain::page::ListQuery;
use domain::rollout::RolloutAction;
use testkit::history::{Action, FinalState};
use tokio::time::Instant;

use super::environment::ChaosEnvironment;
use super::publisher::{read_releases, read_revisions};

/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Time limit of the reads when nothing is at fault any more.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until every release is healthy with its desired bundle and nothing is queued, or the limit is reached: then the
/// checker shows what is missing. Returns how long it took.
pub async fn wait_for_convergence(world: &ChaosEnvironment, limit: Duration) -> Duration {
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if world.database.is_idle().await.unwrap_or(false) && has_converged(world).await {
            break;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    begun.elapsed()
}

async fn has_converged(world: &ChaosEnvironment) -> bool {
    for workload in &world.workloads {
        let Ok(status) = world.client.get_workload_status(workload, None).await else { return false };
        if let Some(rollout) = status.rollout.filter(|rollout| rollout.state.needs_attention()) {
            // It was paused because of clusters that failed during a fault: a person would continue it.
            println!("{workload}: the rollout is {:?}, it is resumed", rollout.state);
            let _ = world.client.control_rollout(workload, RolloutAction::Resume).await;
            return false;
        }
        let states = final_states(world, workload).await;
        let is_done = |state: &FinalState| state.state == "Healthy" && state.desired == state.applied;
        if states.len() != world.members.len() || !states.iter().all(is_done) {
            return false;
        }
    }
    true
}

/// The releases of a workload; empty if they can't be read.
async fn final_states(world: &ChaosEnvironment, workload: &str) -> Vec<FinalState> {
    let query = ListQuery { limit: Some(500), ..ListQuery::default() };
    let Ok(page) = world.client.list_releases(workload, &query).await else { return Vec::new() };
    let states = page.items.into_iter().map(|view| {
        let member = world.members.iter().find(|member| member.cluster.name() == view.cluster_name);
        FinalState {
            workload: workload.to_owned(),
            state: view.state.as_str().to_owned(),
            desired: view.release.desired().map(ToString::to_string),
            applied: view.release.applied().map(ToString::to_string),
            content: member.and_then(|member| member.content(workload)),
            cluster: view.cluster_name,
        }
    });
    states.collect()
}

/// Reads and records everything, again until the reads succeed.
pub async fn record(world: &ChaosEnvironment) -> anyhow::Result<()> {
    let begun = Instant::now();
    for workload in &world.workloads {
        while !(read_revisions(&world.client, &world.recorder, workload).await
            && read_releases(&world.client, &world.recorder, workload).await)
        {
            anyhow::ensure!(
                begun.elapsed() < READ_TIMEOUT,
                "{workload} can't be read after all faults have ended"
            );
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        for state in final_states(world, workload).await {
            world.recorder.record(Action::Final(state));
        }
    }
    Ok(())
}
