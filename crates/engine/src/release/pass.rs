//! What one pass over a release gathers on its way through the steps.

use std::sync::Arc;
use std::time::Duration;

use domain::finding::Finding;
use domain::health::Health;
use domain::object::ObjectRef;
use domain::policy::{DeletionPolicy, Policies, UpdateStrategy};
use domain::release::stage::Trouble;
use domain::release::{StageName, StageState};
use domain::report::{Goal, StageReport};
use domain::{ReleaseId, Timestamp};
use tokio::time::Instant;

use super::memory::Memory;
use super::retry::Failure;
use super::{Context, Order, Slot};
use crate::api::{Api, Resource};
use crate::error::Error;
use crate::observe::{Live, Objects};
use crate::record::{Entry, Record};
use crate::rules::{Rule, Rules};
use crate::wanted::{Prepared, Wanted};

/// Whether the next step may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Yes.
    Go,
    /// No; what is known is told, and something will wake the release.
    Stop,
    /// There is a newer order: begin again.
    Again,
}

/// One object of the bundle on its way.
pub(crate) struct Target {
    /// Position in the prepared bundle.
    pub index: usize,
    /// Its kind; `None` while the cluster does not serve it and the bundle does not define it.
    pub resource: Option<Resource>,
    /// What is seen of its kind; `None` until its definition is established.
    pub objects: Option<Arc<Objects>>,
    /// Whether the wanted content is applied.
    pub applied: bool,
    /// Whether it ran to its end.
    pub completed: bool,
    /// Whether it was there before us and may hold things of others.
    pub shared: bool,
    /// Fields that somebody changed and that are not put back.
    pub drifted: Vec<String>,
    /// Why it is not applied.
    pub hold: Option<StageState>,
    pub problem: Option<Finding>,
    pub health: Health,
    pub causes: Vec<String>,
    /// Whether its health counts.
    pub counts: bool,
}

impl Target {
    /// The object as last seen.
    pub(crate) fn live(&self, wanted: &Wanted) -> Option<Arc<Live>> {
        self.objects.as_ref()?.get(&wanted.object.namespace, &wanted.object.name)
    }
}

/// One object on its way out.
pub(crate) struct Leftover {
    pub object: ObjectRef,
    /// The plural in URLs.
    pub resource: String,
    pub health: Health,
    pub problem: Option<Finding>,
}

/// One pass.
pub(crate) struct Pass<'a> {
    pub cx: &'a Context,
    pub slot: &'a Slot,
    pub memory: &'a mut Memory,
    pub order: Arc<Order>,
    turn: u64,
    pub begun: Instant,
    pub now: Timestamp,
    pub policies: Policies,
    pub rules: Arc<Rules>,
    pub revision: u32,
    pub prepared: Arc<Prepared>,
    pub targets: Vec<Target>,
    pub leftovers: Vec<Leftover>,
    /// The record's entries as they will be written.
    pub entries: Vec<Entry>,
    pub stages: Vec<StageReport>,
    /// Whether something was written to objects in this pass.
    pub wrote: bool,
    wake: Option<Instant>,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(
        cx: &'a Context,
        slot: &'a Slot,
        memory: &'a mut Memory,
        order: Arc<Order>,
        turn: u64,
    ) -> Self {
        let (policies, revision, digest) = match &order.want.goal {
            Goal::Present { policies, revision, bundle } => {
                (policies.clone(), *revision, Some(bundle.clone()))
            }
            Goal::Absent { policies, .. } => (policies.clone(), 0, None),
        };
        let empty =
            || Prepared { digest: digest.unwrap_or_else(|| domain::Digest::of(b"")), objects: Vec::new() };
        let prepared = order.prepared.clone().unwrap_or_else(|| Arc::new(empty()));
        let targets = (0..prepared.objects.len()).map(target).collect();
        Self {
            cx,
            slot,
            memory,
            order,
            turn,
            begun: Instant::now(),
            now: cx.api.now(),
            rules: Arc::new(Rules::of(&policies)),
            policies,
            revision,
            prepared,
            targets,
            leftovers: Vec::new(),
            entries: Vec::new(),
            stages: Vec::new(),
            wrote: false,
            wake: None,
        }
    }

    pub(crate) fn release(&self) -> ReleaseId {
        self.slot.id
    }

    /// Whether a newer order came in meanwhile.
    pub(crate) fn is_outdated(&self) -> bool {
        self.slot.turn() != self.turn
    }

    pub(crate) fn stage(&mut self, name: StageName, state: StageState) {
        self.stages.retain(|stage| stage.name != name);
        self.stages.push(StageReport { name, state });
    }

    /// Whether a stage is over.
    pub(crate) fn is_over(&self, name: StageName) -> bool {
        self.stages.iter().any(|stage| stage.name == name && stage.state.is_over())
    }

    /// Comes back at `at` at the latest.
    pub(crate) fn wake_at(&mut self, at: Instant) {
        self.wake = Some(self.wake.map_or(at, |earlier| earlier.min(at)));
    }

    pub(crate) fn wake_in(&mut self, pause: Duration) {
        self.wake_at(Instant::now() + pause);
    }

    pub(crate) fn wake(&self) -> Option<Instant> {
        self.wake
    }

    /// Takes over what the record says.
    pub(crate) fn read_record(&mut self) -> Option<Arc<Record>> {
        let record = self.cx.records.get(self.slot.id);
        if let Some(record) = &record {
            self.entries.clone_from(&record.resources);
            if !self.memory.begun {
                self.memory.applied.clone_from(&record.applied);
            }
        }
        self.memory.begun = true;
        record
    }

    /// What the policies say about an object.
    pub(crate) fn rule(&self, object: &ObjectRef) -> Rule<'_> {
        self.rules.about(&self.policies, object)
    }

    /// Whether an object is only observed.
    pub(crate) fn is_read_only(&self, object: &ObjectRef) -> bool {
        self.policies.strategy(object) == UpdateStrategy::ReadOnly
    }

    /// The API as whoever is to write and delete the objects.
    pub(crate) fn api(&self) -> Api {
        self.cx.api.acting_as(self.policies.executor())
    }

    /// Whether an object stays when it is not wanted any more.
    pub(crate) fn lets_go(&self, object: &ObjectRef) -> bool {
        match &self.order.want.goal {
            Goal::Absent { deletion, policies } => policies.orphans(*deletion, object),
            // Objects that are only observed from now on are not ours any more.
            Goal::Present { policies, .. } => {
                let selective = policies.deletion == DeletionPolicy::SelectivelyOrphan;
                selective && policies.orphans(policies.deletion, object) || self.is_read_only(object)
            }
        }
    }

    /// One more pass in which an object waits for what will come by itself.
    pub(crate) fn wait(&mut self, at: usize, error: Error) {
        let object = self.prepared.objects[self.targets[at].index].object.clone();
        let before = self.memory.object(&object).waiting.clone();
        let again = match before {
            Some(before) if before.error == error && !before.is_due() => before,
            before => Failure::after(before.as_ref(), error, &self.cx.options),
        };
        self.wake_at(again.due);
        self.targets[at].hold = Some(again.stage(&object.to_string()));
        self.memory.object(&object).waiting = Some(again);
    }

    pub(crate) fn entry(&self, object: &ObjectRef) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.object.same_object(object))
    }
}

fn target(index: usize) -> Target {
    Target {
        index,
        resource: None,
        objects: None,
        applied: false,
        completed: false,
        shared: false,
        drifted: Vec::new(),
        hold: None,
        problem: None,
        health: Health::default(),
        causes: Vec::new(),
        counts: true,
    }
}

/// A stage that waits for something to happen.
pub(crate) fn waiting(reason: &str, message: impl Into<String>) -> StageState {
    StageState::Waiting(Trouble {
        reason: reason.to_owned(),
        message: message.into(),
        attempts: 0,
        next_retry: None,
    })
}
