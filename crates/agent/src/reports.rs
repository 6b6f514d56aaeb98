//! Reports: what the engine has to say and what was found out about the cluster, each batch until the hub has it.

use std::sync::atomic::Ordering::Relaxed;

use domain::cluster::ClusterFacts;
use domain::report::{ReleaseReport, ReportBatch};
use tokio::sync::watch;

use crate::connect::{self, Backoff};
use crate::link::Link;
use crate::run::Agent;

/// Releases and objects in one batch: about two megabytes, far below what the hub takes.
const MOST_OBJECTS: usize = 4_000;

/// Hands over the engine's reports. While the hub is away the engine keeps only the newest report of each release, so
/// waiting costs no memory; a batch that was taken although its answer was lost is sent again and dropped by its number.
pub(crate) async fn run<L: Link>(agent: &Agent<L>) {
    let incarnation = connect::begin(&agent.link, &agent.options).await;
    let mut facts_changed = agent.engine.facts_changed();
    facts_changed.mark_changed();
    let reports = agent.engine.reports();
    let mut seq = 0;
    loop {
        let (facts, releases) = tokio::select! {
            releases = reports.next() => (None, releases),
            facts = new_facts(agent, &mut facts_changed) => (Some(facts), reports.take()),
        };
        for (facts, releases) in parts(facts, releases) {
            seq += 1;
            hand_over(agent, ReportBatch { incarnation, seq, facts, releases }).await;
        }
    }
}

/// Cuts what is to be said into batches that the hub takes.
fn parts(
    facts: Option<ClusterFacts>,
    releases: Vec<ReleaseReport>,
) -> Vec<(Option<ClusterFacts>, Vec<ReleaseReport>)> {
    let mut parts = vec![(facts, Vec::new())];
    let mut objects = 0;
    for report in releases {
        objects += report.resources.len() + 1;
        if objects > MOST_OBJECTS
            && let Some((_, filled)) = parts.last()
            && !filled.is_empty()
        {
            objects = report.resources.len() + 1;
            parts.push((None, Vec::new()));
        }
        if let Some((_, part)) = parts.last_mut() {
            part.push(report);
        }
    }
    parts
}

/// The facts, once they may have changed and can be read. Cancel safe: what was not handed over is read again.
async fn new_facts<L: Link>(agent: &Agent<L>, changed: &mut watch::Receiver<u64>) -> ClusterFacts {
    let mut backoff = Backoff::new(&agent.options);
    // The sender lives as long as the engine does.
    let _ = changed.changed().await;
    changed.mark_changed();
    loop {
        match agent.engine.facts().await {
            Ok(facts) => {
                changed.mark_unchanged();
                return facts;
            }
            Err(error) => backoff.wait("the cluster's facts can't be read", &error).await,
        }
    }
}

async fn hand_over<L: Link>(agent: &Agent<L>, batch: ReportBatch) {
    let mut backoff = Backoff::new(&agent.options);
    loop {
        match agent.link.report(batch.clone()).await {
            Ok(ack) => {
                if ack.wants_version > agent.wants_version.load(Relaxed) {
                    // A notice was missed: the list is asked for at once.
                    agent.newer_wants.notify_one();
                }
                return;
            }
            Err(error) => backoff.wait_for(&agent.link, "reports wait for the hub", &error).await,
        }
    }
}
