//! What a release remembers between passes. Nothing here is needed to be right: it is all found again after a restart.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use domain::Digest;
use domain::Timestamp;
use domain::health::Health;
use domain::object::ObjectRef;
use domain::plan::FieldChange;
use domain::policy::Feedback;
use domain::report::{DriftNote, ReleaseReport, Since, Want};
use tokio::time::Instant;

use super::retry::Failure;

/// Fights further back than this are over.
const FIGHT_WINDOW: Duration = Duration::from_secs(600);
/// Fights within the window that make an object contested (P13).
pub(crate) const CONTESTED_AFTER: usize = 3;

/// What is remembered of one object.
#[derive(Debug, Default)]
pub(crate) struct ObjectMemory {
    pub failure: Option<Failure>,
    /// What it waits for; unlike a failure this holds up no try.
    pub waiting: Option<Failure>,
    /// When it was put back.
    pub heals: VecDeque<Instant>,
    /// The drift that was told and not put back.
    pub noted: Option<Vec<String>>,
    /// Whether the quarrel was told.
    pub contested: bool,
    /// Version and wanted hash that were compared and found equal.
    pub equal: Option<(String, String)>,
    /// What the server made of our own apply: differences that are no drift.
    pub own: Vec<FieldChange>,
    /// Latest health.
    pub health: Option<Health>,
    /// Version for which the health was found good, so that it need not be looked at again.
    pub healthy_at: Option<String>,
    /// Values to be told of it.
    pub feedback: Vec<Feedback>,
    /// Whether it was applied, was there and had drifted, and since when.
    pub seen: Seen,
}

/// What was told of an object, and since when it is so.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    applied: Option<bool>,
    available: Option<bool>,
    drifted: Option<bool>,
    since: Since,
}

impl Seen {
    /// Takes what is told now; answers since when it is so.
    pub(crate) fn note(
        &mut self,
        applied: bool,
        available: Option<bool>,
        drifted: bool,
        now: Timestamp,
    ) -> Since {
        let moved = |old: &mut Option<bool>, new: Option<bool>, since: &mut Option<Timestamp>| {
            if *old != new || since.is_none() {
                (*old, *since) = (new, new.map(|_| now));
            }
        };
        moved(&mut self.applied, Some(applied), &mut self.since.applied);
        moved(&mut self.available, available, &mut self.since.available);
        moved(&mut self.drifted, Some(drifted), &mut self.since.drifted);
        self.since
    }
}

impl ObjectMemory {
    /// How often it was put back lately.
    pub(crate) fn fights(&mut self) -> usize {
        while self.heals.front().is_some_and(|at| at.elapsed() > FIGHT_WINDOW) {
            self.heals.pop_front();
        }
        if self.heals.is_empty() {
            self.contested = false;
        }
        self.heals.len()
    }
}

/// What is remembered of a release.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    generation: i64,
    nonce: i64,
    pub objects: HashMap<ObjectRef, ObjectMemory>,
    /// The bundle that is applied completely.
    pub applied: Option<Digest>,
    /// Whether `applied` was taken over from the record.
    pub begun: bool,
    /// Why preflight holds.
    pub preflight: Option<Failure>,
    /// Generation and nonce of the want with which the hub was first seen to be behind what is applied here.
    pub behind: Option<(i64, i64)>,
    /// Why the record can't be written.
    pub record: Option<Failure>,
    /// The generation in which something was pruned.
    pub pruned: Option<i64>,
    /// Uids whose deletion was asked for.
    pub deleted: HashSet<String>,
    /// Drift to be told with the next report.
    pub drift: Vec<DriftNote>,
    /// The latest report.
    pub last: Option<ReleaseReport>,
    /// Whether the latest report is what the hub was told last.
    pub told: bool,
}

impl Memory {
    pub(crate) fn object(&mut self, object: &ObjectRef) -> &mut ObjectMemory {
        if !self.objects.contains_key(object) {
            self.objects.insert(object.clone(), ObjectMemory::default());
        }
        self.objects.entry(object.clone()).or_default()
    }

    /// A new want, or a person asking, ends every pause (a fix is not punished for the failure before it).
    pub(crate) fn notice(&mut self, want: &Want) {
        if (want.generation, want.sync_nonce) == (self.generation, self.nonce) {
            return;
        }
        (self.generation, self.nonce) = (want.generation, want.sync_nonce);
        self.preflight = None;
        self.record = None;
        self.deleted.clear();
        for object in self.objects.values_mut() {
            object.failure = None;
            object.waiting = None;
            object.healthy_at = None;
            object.equal = None;
            object.heals.clear();
            object.contested = false;
            object.noted = None;
        }
    }
}
