//! Reports: what the engine has to say and what was found out about the cluster, each batch until the hub has it.

use std::sync::atomic::Ordering::Relaxed;

use domain::Digest;
use domain::cluster::ClusterFacts;
use domain::report::{ReleaseReport, ReportAck, ReportBatch};
use tokio::sync::{Notify, watch};

use crate::connect::{self, Backoff};
use crate::link::{Link, LinkError};
use crate::run::Agent;

/// Releases and objects in one batch: about two megabytes, far below what the hub takes.
const MOST_OBJECTS: usize = 4_000;

/// What goes into one batch.
#[derive(Default)]
struct Part {
    facts: Option<ClusterFacts>,
    schema: Option<Digest>,
    releases: Vec<ReleaseReport>,
}

/// Hands over the engine's reports. While the hub is away the engine keeps only the newest report of each release, so
/// waiting costs no memory; a batch that was taken although its answer was lost is sent again and dropped by its number.
///
/// The text of a schema goes its own way: a hub that can't take it just now still hears of releases.
pub(crate) async fn run<L: Link>(agent: &Agent<L>) {
    let wanted = Notify::new();
    tokio::join!(hand_over_all(agent, &wanted), give_schemas(agent, &wanted));
}

async fn hand_over_all<L: Link>(agent: &Agent<L>, schema_wanted: &Notify) {
    let incarnation = connect::begin(&agent.link, &agent.options).await;
    let mut facts_changed = agent.engine.facts_changed();
    facts_changed.mark_changed();
    let mut schemas = agent.engine.schema();
    let reports = agent.engine.reports();
    let mut seq = 0;
    loop {
        let part = tokio::select! {
            releases = reports.next() => Part { releases, ..Part::default() },
            facts = new_facts(agent, &mut facts_changed) => {
                Part { facts: Some(facts), releases: reports.take(), ..Part::default() }
            }
            // The sender lives as long as the engine does.
            Ok(()) = schemas.changed() => {
                let schema = schemas.borrow_and_update().as_ref().map(|written| written.digest.clone());
                Part { schema, ..Part::default() }
            }
        };
        for Part { facts, schema, releases } in parts(part) {
            seq += 1;
            let ack = hand_over(agent, ReportBatch { incarnation, seq, facts, schema, releases }).await;
            if ack.schema_wanted {
                schema_wanted.notify_one();
            }
        }
    }
}

/// Gives the hub the schema that it does not have, whenever it says so; always the one that was read last.
async fn give_schemas<L: Link>(agent: &Agent<L>, wanted: &Notify) {
    let schemas = agent.engine.schema();
    loop {
        wanted.notified().await;
        let mut backoff = Backoff::new(&agent.options);
        loop {
            let Some(written) = schemas.borrow().clone() else { break };
            match agent.link.schema(&written).await {
                Ok(()) => break,
                Err(LinkError::Refused(why)) => {
                    tracing::debug!(why, "the hub does not take the schema");
                    break;
                }
                Err(error) => backoff.wait_for(&agent.link, "the schema waits for the hub", &error).await,
            }
        }
    }
}

/// Cuts what is to be said into batches that the hub takes.
fn parts(part: Part) -> Vec<Part> {
    let Part { facts, schema, releases } = part;
    let mut parts = vec![Part { facts, schema, releases: Vec::new() }];
    let mut objects = 0;
    for report in releases {
        objects += report.resources.len() + 1;
        if objects > MOST_OBJECTS && parts.last().is_some_and(|part| !part.releases.is_empty()) {
            objects = report.resources.len() + 1;
            parts.push(Part::default());
        }
        if let Some(part) = parts.last_mut() {
            part.releases.push(report);
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

async fn hand_over<L: Link>(agent: &Agent<L>, batch: ReportBatch) -> ReportAck {
    let mut backoff = Backoff::new(&agent.options);
    loop {
        match agent.link.report(batch.clone()).await {
            Ok(ack) => {
                if ack.wants_version > agent.wants_version.load(Relaxed) {
                    // A notice was missed: the list is asked for at once.
                    agent.newer_wants.notify_one();
                }
                return ack;
            }
            Err(error) => backoff.wait_for(&agent.link, "reports wait for the hub", &error).await,
        }
    }
}
