//! Histories of runs under faults, and a checker of the invariants I1 to I7 (`docs/promises.md`).
//!
//! A run records what its clients requested and what they received, what the simulated API servers stored, what the agents
//! reported, and what the database committed. [`check`] is a pure function over such a history: it knows no product code, so
//! that it can't share a defect with it.
//!
//! The order of [`History::entries`] is the real-time order of the recording process: an entry that precedes another one was
//! recorded before it. An operation has two entries, its invocation and its completion, and takes effect between them. An
//! operation whose response was lost may have taken effect at any later time, or never. The order of [`History::database`] is
//! the order in which the rows were written; rows of transactions that were rolled back are not in it.

mod claims;
mod convergence;
mod deletions;
mod events;
mod generations;
mod recorder;
mod removals;
mod revisions;
mod statuses;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use recorder::HistoryRecorder;

/// A recorded run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// Seed of the run's random decisions.
    pub seed: u64,
    /// What happened outside of the database, in real-time order.
    pub entries: Vec<HistoryEntry>,
    /// What the database committed, in the order of the writes.
    pub database: Vec<DatabaseChange>,
}

impl History {
    /// Writes the history as JSON, one line per entry.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let lines = |text: Vec<String>| text.join(",\n");
        let json = |value: Result<String, serde_json::Error>| value.map_err(std::io::Error::other);
        let entries: Result<Vec<_>, _> =
            self.entries.iter().map(|entry| json(serde_json::to_string(entry))).collect();
        let database: Result<Vec<_>, _> =
            self.database.iter().map(|row| json(serde_json::to_string(row))).collect();
        let (entries, database) = (lines(entries?), lines(database?));
        let text =
            format!("{{\"seed\":{},\n\"entries\":[\n{entries}],\n\"database\":[\n{database}]}}\n", self.seed);
        std::fs::write(path, text)
    }
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Milliseconds since the run began.
    pub millis: u64,
    /// What happened.
    pub action: Action,
}

/// What an entry records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// A client sent a request for the first time.
    Invoked {
        /// Number of the operation.
        id: u64,
        /// What it requests.
        operation: ClientOperation,
    },
    /// It received the response, or gave up.
    Completed {
        /// Number of the operation.
        id: u64,
        /// What it received.
        outcome: Outcome,
    },
    /// A cluster's API server stored a change.
    Cluster {
        /// Name of the cluster.
        cluster: String,
        /// The change.
        change: ApiServerChange,
    },
    /// An agent is about to send a report.
    ReportSent(SentReport),
    /// A fault began.
    FaultBegan {
        /// A description for people.
        fault: String,
    },
    /// It ended.
    FaultEnded {
        /// The same description.
        fault: String,
    },
    /// A workload on a cluster at the end, after all faults had ended and the run had waited for convergence.
    Final(FinalState),
}

/// A request of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientOperation {
    /// Publishes the draft. Publishes of one workload don't overlap.
    Publish {
        /// Name of the workload.
        workload: String,
        /// Message of the revision, unique in the run.
        message: String,
        /// The content that every cluster has if no later revision is accepted.
        contents: BTreeMap<String, String>,
    },
    /// Removes a workload from its clusters; the next publish is invoked after its completion.
    Unpublish {
        /// Name of the workload.
        workload: String,
    },
    /// Lists all revisions of a workload.
    ReadRevisions {
        /// Name of the workload.
        workload: String,
    },
    /// Lists all releases of a workload.
    ReadReleases {
        /// Name of the workload.
        workload: String,
    },
}

/// What a client received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The publish was accepted as this revision.
    Accepted {
        /// Number of the revision.
        revision: u32,
    },
    /// The workload was unpublished.
    Unpublished,
    /// The request was rejected and had no effect.
    Rejected {
        /// Why.
        reason: String,
    },
    /// No response: the request may have taken effect, or may still do so.
    Unknown {
        /// Why.
        reason: String,
    },
    /// The revisions that were read.
    Revisions(Vec<ShownRevision>),
    /// The releases that were read.
    Releases(Vec<ShownRelease>),
}

/// A revision as the server shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownRevision {
    /// Its number.
    pub number: u32,
    /// Its message.
    pub message: String,
}

/// A release as the server shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownRelease {
    /// Id of the release.
    pub release: String,
    /// Name of the cluster.
    pub cluster: String,
    /// The derived state.
    pub state: String,
    /// Generation of the desired state.
    pub generation: i64,
    /// Digest of the bundle that is applied, if one is known to be.
    pub applied: Option<String>,
    /// The sync axis.
    pub sync: String,
    /// The health axis.
    pub health: String,
}

/// A change that an API server stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApiServerChange {
    /// A release's record, which is the inventory of its objects.
    RecordWritten {
        /// Id of the release.
        release: String,
        /// Generation that the record was written for.
        generation: i64,
        /// The objects that it lists.
        objects: Vec<ListedObject>,
    },
    /// The record was deleted.
    RecordDeleted {
        /// Id of the release.
        release: String,
    },
    /// An object that is not a record was created or changed.
    ObjectWritten {
        /// Its uid.
        uid: String,
        /// Its name.
        name: String,
        /// Id of the release whose label it has; empty without one.
        owner: String,
        /// Its content.
        content: String,
    },
    /// It was deleted.
    ObjectDeleted {
        /// Its uid.
        uid: String,
        /// Its name.
        name: String,
    },
    /// The run is about to delete an object by itself, as a user of the cluster would.
    UserDeletes {
        /// Its name.
        name: String,
    },
}

/// An object in the inventory of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedObject {
    /// Its name.
    pub name: String,
    /// Its uid; empty if the record lists it by its name and the label of the release.
    pub uid: String,
}

/// A report of an agent about one release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentReport {
    /// Name of the cluster.
    pub cluster: String,
    /// Id of the release.
    pub release: String,
    /// The generation that it is about.
    pub generation: i64,
    /// Digest of the bundle that is applied, if one is.
    pub applied: Option<String>,
    /// The sync axis.
    pub sync: String,
    /// The health axis.
    pub health: String,
    /// Whether nothing of the release is left.
    pub removed: bool,
}

/// A workload on a cluster at the end of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalState {
    /// Name of the workload.
    pub workload: String,
    /// Name of the cluster.
    pub cluster: String,
    /// The state that the server shows; empty if it shows no release.
    pub state: String,
    /// Digest of the desired bundle.
    pub desired: Option<String>,
    /// Digest of the applied bundle.
    pub applied: Option<String>,
    /// Content of the object on the cluster; `None` if there is none.
    pub content: Option<String>,
}

/// A committed change of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DatabaseChange {
    /// A queue's row was claimed.
    ClaimTaken {
        /// Queue and workload.
        row: String,
        /// Epoch of the claim.
        epoch: i64,
        /// The server that wrote it.
        holder: String,
    },
    /// A claim was ended: settled or failed.
    ClaimEnded {
        /// Queue and workload.
        row: String,
        /// Epoch of the claim.
        epoch: i64,
        /// The server that wrote it.
        holder: String,
    },
    /// The desired revision of a release was set, which only the holder of the claim may do.
    DesiredWritten {
        /// The row of the queue that has to be claimed for that.
        row: String,
        /// Id of the release.
        release: String,
        /// Number of the revision.
        revision: i64,
        /// The server that wrote it.
        holder: String,
    },
    /// The generation of a release changed.
    GenerationWritten {
        /// Id of the release.
        release: String,
        /// The new generation.
        generation: i64,
    },
    /// The state of a release changed.
    StateChanged {
        /// Id of the release.
        release: String,
        /// Name of its workload.
        workload: String,
        /// Name of its cluster.
        cluster: String,
        /// Before; empty if the release is new.
        from: String,
        /// After.
        to: String,
    },
    /// An event was appended to the log.
    EventWritten {
        /// Name of the workload, or empty.
        workload: String,
        /// Name of the cluster, or empty.
        cluster: String,
        /// Id of the release, or empty.
        release: String,
        /// Number of the revision that it announces, if it is the event of a publish.
        published: Option<u32>,
        /// Its message.
        message: String,
    },
}

/// An invariant of `docs/promises.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the ids of the page, which defines them")]
pub enum Invariant {
    I1,
    I2,
    I3,
    I4,
    I5,
    I6,
    I7,
}

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvariantViolation {
    /// Which one.
    pub invariant: Invariant,
    /// What happened, with the names of everything concerned.
    pub message: String,
}

impl fmt::Display for InvariantViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.message)
    }
}

/// All violations of a history, ordered by invariant.
pub fn check(history: &History) -> Vec<InvariantViolation> {
    let faults = [
        (Invariant::I1, revisions::check(history)),
        (Invariant::I2, generations::check(history)),
        (Invariant::I3, claims::check(history)),
        (Invariant::I4, convergence::check(history)),
        (Invariant::I4, removals::check(history)),
        (Invariant::I5, deletions::check(history)),
        (Invariant::I6, statuses::check(history)),
        (Invariant::I7, events::check(history)),
    ];
    faults
        .into_iter()
        .flat_map(|(invariant, messages)| {
            messages.into_iter().map(move |message| InvariantViolation { invariant, message })
        })
        .collect()
}

/// The completions of all operations: position and outcome by number of the operation.
fn completions(history: &History) -> BTreeMap<u64, (usize, &Outcome)> {
    let completed = history.entries.iter().enumerate().filter_map(|(position, entry)| match &entry.action {
        Action::Completed { id, outcome } => Some((*id, (position, outcome))),
        _ => None,
    });
    completed.collect()
}

/// A publish of the history.
struct Publish<'h> {
    workload: &'h str,
    message: &'h str,
    contents: &'h BTreeMap<String, String>,
    invoked: usize,
    /// Position and outcome; `None` if the run ended before.
    completed: Option<(usize, &'h Outcome)>,
}

/// All publishes, in the order of their invocations.
fn publishes(history: &History) -> Vec<Publish<'_>> {
    let completions = completions(history);
    let invoked = history.entries.iter().enumerate().filter_map(|(invoked, entry)| match &entry.action {
        Action::Invoked { id, operation: ClientOperation::Publish { workload, message, contents } } => {
            Some(Publish { workload, message, contents, invoked, completed: completions.get(id).copied() })
        }
        _ => None,
    });
    invoked.collect()
}

/// A completed read of the revisions of a workload.
struct RevisionRead<'h> {
    workload: &'h str,
    invoked: usize,
    completed: usize,
    revisions: &'h [ShownRevision],
}

/// All completed reads of revisions, in the order of their invocations.
fn revision_reads(history: &History) -> Vec<RevisionRead<'_>> {
    let completions = completions(history);
    let reads = history.entries.iter().enumerate().filter_map(|(invoked, entry)| match &entry.action {
        Action::Invoked { id, operation: ClientOperation::ReadRevisions { workload } } => {
            let (completed, outcome) = *completions.get(id)?;
            let Outcome::Revisions(revisions) = outcome else { return None };
            Some(RevisionRead { workload, invoked, completed, revisions })
        }
        _ => None,
    });
    reads.collect()
}
