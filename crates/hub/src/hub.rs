//! The hub itself: store, clock, randomness and live notices in one cheap handle.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::event::NewEvent;
use domain::{ClusterId, ProjectId, WorkloadId};
use rand::Rng;
use serde::Serialize;
use store::idempotency::Answer;
use store::{Store, Tx};

use crate::actor::Actor;
use crate::clock::Clock;
use crate::error::Error;
use crate::live::Live;
use crate::loops::Activators;
use crate::report::Schemas;
use crate::sign_in::PasswordGate;

/// How a hub is opened.
#[derive(Debug, Clone)]
pub struct Config {
    /// `sqlite:///path/to/file.db` or `postgres://…`.
    pub database: String,
    /// The clock.
    pub clock: Clock,
}

/// Makes ids and secrets: the clock's time and the system's randomness.
#[derive(Debug, Clone)]
pub struct Ids(Clock);

impl Ids {
    /// A new id of any kind, such as `ids.make(WorkloadId::from_parts)`.
    pub fn make<T>(&self, from_parts: impl Fn(u64, u128) -> T) -> T {
        from_parts(u64::try_from(self.0.now().millis()).unwrap_or_default(), rand::rng().random())
    }

    /// Thirty-two random bytes in hex: a secret nobody guesses.
    pub fn secret(&self) -> String {
        hex::encode(rand::rng().random::<[u8; 32]>())
    }
}

/// The control plane. Cheap to clone; every clone is the same hub.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Clock,
    ids: Ids,
    project: ProjectId,
    live: Live,
    activators: Activators,
    passwords: PasswordGate,
    schemas: Schemas,
}

impl Hub {
    /// Opens the database, brings its schema up to date and makes the default project.
    pub async fn open(config: Config) -> Result<Self, Error> {
        let store = Store::open(&config.database).await?;
        follow_database(&store, &config.clock).await?;
        let ids = Ids(config.clock.clone());
        let mut tx = store.write().await?;
        let project = ids.make(ProjectId::from_parts);
        let project = store::project::ensure_default(&mut tx, project, config.clock.now()).await?;
        let last_seq = store::event::last_seq(&mut tx).await?;
        if !store.is_postgres() {
            // One server at a time: whoever claimed something before this start is gone.
            store::queue::PLACER.end_claims(&mut tx).await?;
            store::queue::ROLLOUTS.end_claims(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(Self(Arc::new(Inner {
            store,
            ids,
            project,
            live: Live::new(last_seq),
            activators: Activators::default(),
            passwords: PasswordGate::new(),
            schemas: Schemas::default(),
            clock: config.clock,
        })))
    }

    /// Sets the clock by the database's, if several servers may share it.
    pub(crate) async fn set_clock(&self) -> Result<(), Error> {
        follow_database(self.store(), self.clock()).await
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Whether the database answers (`/readyz`).
    pub async fn ready(&self) -> Result<(), Error> {
        let mut tx = self.read().await?;
        store::event::last_seq(&mut tx).await?;
        Ok(())
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.0.ids
    }

    pub(crate) fn project(&self) -> ProjectId {
        self.0.project
    }

    pub(crate) fn live(&self) -> &Live {
        &self.0.live
    }

    pub(crate) fn activators(&self) -> &Activators {
        &self.0.activators
    }

    pub(crate) fn passwords(&self) -> &PasswordGate {
        &self.0.passwords
    }

    pub(crate) fn schemas(&self) -> &Schemas {
        &self.0.schemas
    }

    pub(crate) async fn read(&self) -> Result<Tx, Error> {
        Ok(self.0.store.read().await?)
    }

    pub(crate) async fn write(&self) -> Result<Tx, Error> {
        Ok(self.0.store.write().await?)
    }

    /// Ends a write: appends its events, commits, and tells who watches. Nothing is told before it is stored (P31).
    pub(crate) async fn commit(&self, mut tx: Tx, done: Done) -> Result<(), Error> {
        let now = self.clock().now();
        if let Some((actor, key, answer)) = &done.answer {
            // In the same transaction: a client that never saw the answer asks again and gets this one (P2).
            store::idempotency::put(&mut tx, key, actor, answer, now).await?;
        }
        let rollouts = done.every_rollout || !done.rollouts.is_empty();
        if done.every_rollout {
            store::queue::ROLLOUTS.mark_everything(&mut tx, now).await?;
        }
        let some: Vec<WorkloadId> = done.rollouts.iter().copied().collect();
        store::queue::ROLLOUTS.mark(&mut tx, &some, now).await?;
        store::event::append(&mut tx, &done.events, now).await?;
        store::cluster::bump_wants(&mut tx, &done.wants_of).await?;
        tx.notify();
        let committed = tx.commit().await?;
        if let Some(seq) = committed.last_event {
            self.live().event(seq);
        }
        self.live().wants(&done.wants_of);
        if done.dirty {
            self.activators().placer.notify_one();
        }
        if rollouts {
            self.activators().rollouts.notify_one();
        }
        Ok(())
    }
}

async fn follow_database(store: &Store, clock: &Clock) -> Result<(), Error> {
    if let Some(time) = store.time().await? {
        clock.set_by(time);
    }
    Ok(())
}

/// What a write did, for those who watch.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// What to put on record.
    pub events: Vec<NewEvent>,
    /// Clusters that have something new to do.
    pub wants_of: Vec<ClusterId>,
    /// Whether workloads were marked dirty.
    pub dirty: bool,
    /// Workloads whose rollouts may go on.
    pub rollouts: BTreeSet<WorkloadId>,
    /// Whether every rollout may: clusters went silent or came back.
    pub every_rollout: bool,
    /// The answer to keep: who asked, under which key, what they are told.
    pub answer: Option<(String, String, Answer)>,
}

impl Done {
    /// One event, and the placer has work.
    pub fn dirty_with(event: NewEvent) -> Self {
        Self { events: vec![event], dirty: true, ..Self::default() }
    }

    /// The same, with the answer kept under the actor's request key, if there is one.
    pub fn answering(mut self, actor: &Actor, status: u16, body: &impl Serialize) -> Self {
        self.answer = actor.request.as_ref().map(|request| {
            let body = serde_json::to_string(body).unwrap_or_default();
            let answer = Answer { request_hash: request.request_hash.clone(), status, body };
            (actor.name.clone(), request.key.clone(), answer)
        });
        self
    }

    /// One event.
    pub fn with(event: NewEvent) -> Self {
        Self { events: vec![event], ..Self::default() }
    }
}
