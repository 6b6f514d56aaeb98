//! One release on this cluster: a small loop of its own, so that no release waits for another (P12).
//!
//! The loop takes no input. Whatever woke it, it looks at the whole of what is wanted and what is seen, and does the
//! ordered steps: preflight → plan → apply → prune → health → report, or remove. Each step is a file.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use domain::ReleaseId;
use domain::bundle::Bundle;
use domain::release::StageState;
use domain::report::{Goal, Want};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Options;
use crate::api::Api;
use crate::discovery::Discovery;
use crate::observe::Observed;
use crate::record::Records;
use crate::reports::Reports;
use crate::rights::Rights;
use crate::schema::Structure;
use crate::wanted::Prepared;

mod apply;
mod behind;
mod conclude;
mod drift;
mod expire;
mod memory;
mod pass;
mod plan;
mod preflight;
mod prune;
mod remove;
mod retry;
mod serve;
mod status;

pub(crate) use apply::identical;
pub(crate) use plan::{Asked, has_completed};
pub(crate) use preflight::defined;
pub(crate) use serve::serve;

/// What the hub wants, with bundles at hand.
#[derive(Debug, Clone)]
pub struct Desired {
    /// What is wanted.
    pub want: Want,
    /// The bundle of [`Goal::Present`]; `None` while it is not pulled. It may also be left out once the engine has it:
    /// the engine keeps what it was given for the same digest.
    pub bundle: Option<Arc<Bundle>>,
    /// How far the pull is, as the agent knows it.
    pub pulled: StageState,
}

/// What one release should do now.
#[derive(Debug)]
pub(crate) struct Order {
    pub want: Want,
    pub prepared: Option<Arc<Prepared>>,
    pub pulled: StageState,
    /// When it came.
    pub came: Instant,
}

/// The place where orders for one release are left and its loop is woken.
pub(crate) struct Slot {
    pub id: ReleaseId,
    order: Mutex<Option<Arc<Order>>>,
    /// Grows with every new order, so that a pass under way sees that it is outdated.
    turn: AtomicU64,
    /// Whether it waits for a kind or a namespace to appear.
    waiting: AtomicBool,
    pub woken: Notify,
}

impl Slot {
    fn new(id: ReleaseId, order: Order) -> Self {
        Self {
            id,
            order: Mutex::new(Some(Arc::new(order))),
            turn: AtomicU64::new(0),
            waiting: AtomicBool::new(false),
            woken: Notify::new(),
        }
    }

    /// The latest order; `None` once the release is no business of ours any more.
    pub(crate) fn order(&self) -> Option<Arc<Order>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn turn(&self) -> u64 {
        self.turn.load(Ordering::Acquire)
    }

    pub(crate) fn set_waiting(&self, waiting: bool) {
        self.waiting.store(waiting, Ordering::Release);
    }

    fn set_order(&self, order: Option<Order>) {
        *self.order.lock().unwrap_or_else(PoisonError::into_inner) = order.map(Arc::new);
        self.turn.fetch_add(1, Ordering::AcqRel);
        self.woken.notify_one();
    }
}

/// All releases of the engine.
#[derive(Default)]
pub(crate) struct Slots(RwLock<HashMap<ReleaseId, Arc<Slot>>>);

impl Slots {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<ReleaseId, Arc<Slot>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes one release, if there is one.
    pub(crate) fn wake(&self, release: Option<ReleaseId>) {
        if let Some(slot) = release.and_then(|release| self.read().get(&release).cloned()) {
            slot.woken.notify_one();
        }
    }

    /// Wakes all.
    pub(crate) fn wake_all(&self) {
        self.read().values().for_each(|slot| slot.woken.notify_one());
    }

    /// Wakes those that wait for a kind or a namespace.
    pub(crate) fn wake_waiting(&self) {
        self.read()
            .values()
            .filter(|slot| slot.waiting.load(Ordering::Acquire))
            .for_each(|slot| slot.woken.notify_one());
    }

    /// Whether the hub wants this release to be present.
    pub(crate) fn is_wanted(&self, release: ReleaseId) -> bool {
        let order = self.read().get(&release).and_then(|slot| slot.order());
        order.is_some_and(|order| matches!(order.want.goal, Goal::Present { .. }))
    }

    /// Whether the engine holds the bundle that this release should run.
    pub(crate) fn holds(&self, release: ReleaseId, digest: &domain::Digest) -> bool {
        let order = self.read().get(&release).and_then(|slot| slot.order());
        order.and_then(|order| order.prepared.clone()).is_some_and(|prepared| prepared.digest == *digest)
    }

    /// Takes the whole list of orders; returns the slots that are new.
    pub(crate) fn set(&self, all: Vec<Desired>) -> Vec<Arc<Slot>> {
        let mut slots = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut rest = std::mem::take(&mut *slots);
        let mut fresh = Vec::new();
        for desired in all {
            let id = desired.want.release;
            let slot = match rest.remove(&id) {
                Some(slot) => {
                    slot.renew(desired);
                    slot
                }
                None => {
                    let slot = Arc::new(Slot::new(id, order(desired, None)));
                    fresh.push(slot.clone());
                    slot
                }
            };
            slots.insert(id, slot);
        }
        rest.into_values().for_each(|slot| slot.set_order(None));
        fresh
    }
}

impl Slot {
    /// Takes a new order, if it is one.
    fn renew(&self, desired: Desired) {
        let old = self.order();
        let held = old.as_ref().and_then(|order| order.prepared.clone());
        let same = old.as_ref().is_some_and(|old| {
            old.want == desired.want
                && old.pulled == desired.pulled
                && (old.prepared.is_some() || desired.bundle.is_none())
        });
        if !same {
            self.set_order(Some(order(desired, held)));
        }
    }
}

fn order(desired: Desired, held: Option<Arc<Prepared>>) -> Order {
    let prepared = match &desired.want.goal {
        Goal::Present { bundle: digest, .. } => held.filter(|held| held.digest == *digest).or_else(|| {
            let bundle = desired.bundle.as_ref()?;
            Some(Arc::new(Prepared::new(&desired.want, digest.clone(), bundle)))
        }),
        Goal::Absent { .. } => None,
    };
    Order { want: desired.want, prepared, pulled: desired.pulled, came: Instant::now() }
}

/// What every pass of every release works with.
pub(crate) struct Context {
    pub api: Api,
    pub options: Options,
    pub discovery: Arc<Discovery>,
    pub observed: Observed,
    pub records: Arc<Records>,
    pub slots: Arc<Slots>,
    pub reports: Reports,
    pub rights: Rights,
    pub structure: Structure,
}
