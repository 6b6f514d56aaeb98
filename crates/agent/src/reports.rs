//! Reports on releases and the cluster's facts, in batches; each batch is retried until the hub acknowledges it.

use std::sync::atomic::Ordering::Relaxed;

use domain::bounded_json::JsonSize;
use domain::cluster::ClusterFacts;
use domain::report::limits::{MAX_LEFTOVERS, MAX_RELEASES};
use domain::report::{ReleaseReport, ReportAck, ReportBatch};
use domain::{Digest, ReleaseId};
use tokio::sync::{Notify, watch};

use crate::backoff::Backoff;
use crate::connect;
use crate::context::AgentContext;
use crate::link::{Link, LinkError};

/// Maximum number of releases and objects in one batch; the hub accepts so many releases.
const MAX_BATCH_OBJECTS: usize = MAX_RELEASES;
/// Maximum size of the content of one batch, except facts or one release that have more; it is below the hub's limit.
const MAX_BATCH_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum memory that the content of one batch needs when the hub parses it, with the same exception: half of what a hub with 1 GiB has for
/// all messages.
const MAX_BATCH_MEMORY: u64 = 32 * 1024 * 1024;

/// Content of one batch.
#[derive(Default)]
struct BatchContent {
    facts: Option<ClusterFacts>,
    schema: Option<Digest>,
    leftovers: Option<Vec<ReleaseId>>,
    releases: Vec<ReleaseReport>,
}

/// The position of the next batch.
struct AgentSession {
    incarnation: i64,
    seq: i64,
}

/// Sends the engine's reports. The engine retains only the newest report per release, so an unreachable hub costs no
/// memory. A batch whose response was lost is sent again; the hub ignores it by its sequence number.
///
/// Schemas are uploaded by a task of their own, so that a failing upload does not delay reports.
pub(crate) async fn run<L: Link>(agent: &AgentContext<L>) {
    let schema_requested = Notify::new();
    tokio::join!(send_reports(agent, &schema_requested), upload_schemas(agent, &schema_requested));
}

async fn send_reports<L: Link>(agent: &AgentContext<L>, schema_requested: &Notify) {
    let mut session = start_session(agent).await;
    let mut facts_changed = agent.engine.subscribe_facts_changed();
    facts_changed.mark_changed();
    let mut schemas = agent.engine.subscribe_schema();
    let mut leftovers = agent.leftovers.subscribe();
    if !leftovers.borrow().is_empty() {
        leftovers.mark_changed();
    }
    let reports = agent.engine.reports();
    loop {
        let part = tokio::select! {
            releases = reports.next() => BatchContent { releases, ..BatchContent::default() },
            facts = read_changed_facts(agent, &mut facts_changed) => {
                BatchContent { facts: Some(facts), releases: reports.drain(), ..BatchContent::default() }
            }
            // The sender lives as long as the engine does.
            Ok(()) = schemas.changed() => {
                let schema = schemas.borrow_and_update().as_ref().map(|written| written.digest.clone());
                BatchContent { schema, ..BatchContent::default() }
            }
            Ok(()) = leftovers.changed() => {
                let leftovers = Some(leftovers.borrow_and_update().clone());
                BatchContent { leftovers, ..BatchContent::default() }
            }
        };
        for content in split_batch(part) {
            let ack = send_batch(agent, &mut session, content).await;
            if ack.schema_requested {
                schema_requested.notify_one();
            }
        }
    }
}

async fn start_session<L: Link>(agent: &AgentContext<L>) -> AgentSession {
    let incarnation = connect::start_session(&agent.link, &agent.options).await;
    AgentSession { incarnation, seq: 0 }
}

/// Uploads the newest schema whenever the hub requests one.
async fn upload_schemas<L: Link>(agent: &AgentContext<L>, requested: &Notify) {
    let schemas = agent.engine.subscribe_schema();
    let mut rejected = None;
    loop {
        requested.notified().await;
        let mut backoff = Backoff::new(&agent.options);
        loop {
            let Some(written) = schemas.borrow().clone() else { break };
            match agent.link.upload_schema(&written).await {
                Ok(()) => break,
                Err(LinkError::Rejected(error)) => {
                    // The hub requests it again with every report that names it.
                    if rejected.replace(written.digest.clone()).as_ref() != Some(&written.digest) {
                        tracing::warn!(error, "the hub rejected the schema of the kinds of this cluster");
                    }
                    break;
                }
                Err(error) => {
                    backoff
                        .wait_or_reachable(
                            &agent.link,
                            "the schema could not be uploaded and will be retried",
                            &error,
                        )
                        .await
                }
            }
        }
    }
}

/// Splits content into batches within [`MAX_BATCH_OBJECTS`], [`MAX_BATCH_BYTES`] and [`MAX_BATCH_MEMORY`].
fn split_batch(part: BatchContent) -> Vec<BatchContent> {
    let BatchContent { mut facts, schema, mut leftovers, releases } = part;
    facts.iter_mut().for_each(ClusterFacts::truncate);
    leftovers.iter_mut().for_each(|leftovers| leftovers.truncate(MAX_LEFTOVERS));
    let (mut objects, mut total) = (0, JsonSize::default());
    let has_facts = facts.is_some() || leftovers.is_some();
    if has_facts {
        total = JsonSize::of_serialized(&facts).and(JsonSize::of_serialized(&leftovers));
    }
    let mut parts = vec![BatchContent { facts, schema, leftovers, releases: Vec::new() }];
    for report in releases {
        let size = JsonSize::of_serialized(&report);
        (objects, total) = (objects + report.resources.len() + 1, total.and(size));
        let is_full = objects > MAX_BATCH_OBJECTS
            || total.bytes > MAX_BATCH_BYTES
            || total.decoded_bytes() > MAX_BATCH_MEMORY;
        let is_first = parts.len() == 1 && has_facts;
        if is_full && (is_first || parts.last().is_some_and(|part| !part.releases.is_empty())) {
            (objects, total) = (report.resources.len() + 1, size);
            parts.push(BatchContent::default());
        }
        if let Some(part) = parts.last_mut() {
            part.releases.push(report);
        }
    }
    parts
}

/// Waits for a possible change of the facts and reads them; retries until they can be read. Cancel safe: facts that were
/// not returned are read again.
async fn read_changed_facts<L: Link>(
    agent: &AgentContext<L>,
    changed: &mut watch::Receiver<u64>,
) -> ClusterFacts {
    let mut backoff = Backoff::new(&agent.options);
    // The sender lives as long as the engine does.
    let _ = changed.changed().await;
    changed.mark_changed();
    loop {
        match agent.engine.read_facts().await {
            Ok(facts) => {
                changed.mark_unchanged();
                return facts;
            }
            Err(error) => backoff.wait("the cluster's facts can't be read and will be retried", &error).await,
        }
    }
}

/// Sends content until the hub acknowledges it; in a new session if the hub does not know this one.
async fn send_batch<L: Link>(
    agent: &AgentContext<L>,
    session: &mut AgentSession,
    content: BatchContent,
) -> ReportAck {
    let mut backoff = Backoff::new(&agent.options);
    session.seq += 1;
    let BatchContent { facts, schema, leftovers, releases } = content;
    let AgentSession { incarnation, seq } = *session;
    let mut batch = ReportBatch { incarnation, seq, facts, schema, leftovers, releases };
    loop {
        match agent.link.send_reports(batch.clone()).await {
            Ok(ack) => {
                if ack.desired_state_version > agent.desired_state_version.load(Relaxed) {
                    // A notice was missed: request the desired state immediately.
                    agent.newer_desired_state.notify_one();
                }
                return ack;
            }
            Err(error) => {
                backoff
                    .wait_or_reachable(&agent.link, "reports could not be sent and will be retried", &error)
                    .await;
                if matches!(error, LinkError::SessionUnknown(_)) {
                    *session = start_session(agent).await;
                    session.seq = 1;
                    (batch.incarnation, batch.seq) = (session.incarnation, session.seq);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::cluster::NamespaceFacts;
    use domain::report::DriftedField;
    use serde_json::json;

    use super::*;

    /// A report of one object with so many drifted fields.
    fn report(fields: usize) -> ReleaseReport {
        let resource = json!({"ordinal": 0, "object": {"version": "v1", "kind": "ConfigMap", "name": "web"},
            "applied": true, "health": {"status": "Healthy"}});
        let report = json!({"release": ReleaseId::from_parts(1, 1), "generation": 1, "stages": [], "sync": "Synced",
            "health": {"status": "Healthy"}, "resources": [resource], "removed": false});
        let mut report: ReleaseReport = serde_json::from_value(report).unwrap();
        report.resources[0].drifted_fields = vec![DriftedField::default(); fields];
        report
    }

    /// The facts of a cluster with so many namespaces that have 300 values each.
    fn facts(namespaces: usize) -> ClusterFacts {
        let granted = Some(vec!["Secret".to_owned(); 300]);
        let namespace = NamespaceFacts { granted, ..NamespaceFacts::default() };
        ClusterFacts { namespaces: vec![namespace; namespaces], ..ClusterFacts::default() }
    }

    #[test]
    fn p19_facts_and_releases_are_sent_apart_if_the_hub_needs_much_memory_for_them_together() {
        let split = |namespaces: usize, fields: &[usize]| {
            let releases = fields.iter().map(|fields| report(*fields)).collect();
            let content =
                BatchContent { facts: Some(facts(namespaces)), releases, ..BatchContent::default() };
            let parts = split_batch(content);
            let describe = |part: &BatchContent| (part.facts.is_some(), part.releases.len());
            parts.iter().map(describe).collect::<Vec<_>>()
        };
        assert_eq!(split(1, &[1, 1]), [(true, 2)]);
        assert_eq!(split(300, &[1, 1]), [(true, 2)]);
        assert_eq!(split(300, &[20_000, 1]), [(true, 0), (false, 2)]);
        assert_eq!(split(1, &[20_000, 20_000, 1]), [(true, 1), (false, 2)]);
        assert_eq!(split(1, &[60_000, 1]), [(true, 0), (false, 1), (false, 1)]);
    }
}
