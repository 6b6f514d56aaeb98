//! The only functions that change a release.

use super::stage::Trouble;
use super::{Release, ReleaseGoal, StageName, StageState, Stages, Sync};
use crate::cluster::Reach;
use crate::digest::Digest;
use crate::health::{Health, HealthStatus};
use crate::id::{ClusterId, ReleaseId, WorkloadId};
use crate::report::{Goal, ReleaseReport, Want};
use crate::time::Timestamp;
use crate::workload::{DeletionPolicy, Policies};

/// Why a report was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// It is about an older generation of the want.
    Late,
    /// It is about a generation that the hub has not made; the hub was restored from an older backup.
    FromTheFuture,
    /// Nothing is expected of the cluster: the release is over, or was never sent.
    Over,
}

/// What rendering for one cluster gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendered {
    /// A bundle.
    Bundle(Digest),
    /// No bundle, and why; it is tried again with the next change.
    Failed(Trouble),
    /// No bundle yet: something is not there that will come by itself, which is no error (S4-9).
    Waiting(Trouble),
}

/// What a cluster should run next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// Number of the revision.
    pub revision: u32,
    /// What rendering gave.
    pub rendered: Rendered,
    /// How it is kept.
    pub policies: Policies,
}

/// The part of a release that says what is expected of its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The release.
    pub release: ReleaseId,
    /// Name of its workload.
    pub workload: String,
    /// What is wanted of it.
    pub goal: ReleaseGoal,
    /// Its generation.
    pub generation: i64,
    /// How often a person asked for a comparison.
    pub sync_nonce: i64,
    /// The revision that it may run.
    pub revision: Option<u32>,
    /// What the cluster may apply.
    pub released: Option<Digest>,
    /// How it is kept.
    pub policies: Policies,
}

impl Expected {
    /// What the agent is told; `None` once nothing is expected of the cluster.
    pub fn want(self) -> Option<Want> {
        let goal = match self.goal {
            ReleaseGoal::Present => {
                Goal::Present { bundle: self.released?, revision: self.revision?, policies: self.policies }
            }
            ReleaseGoal::Removing { deletion, .. } => Goal::Absent { deletion, policies: self.policies },
            _ => return None,
        };
        Some(Want {
            release: self.release,
            workload: self.workload,
            generation: self.generation,
            sync_nonce: self.sync_nonce,
            goal,
        })
    }
}

impl Release {
    /// A release that nobody has targeted yet.
    pub fn new(id: ReleaseId, workload: WorkloadId, cluster: ClusterId, at: Timestamp) -> Self {
        Self {
            id,
            workload,
            cluster,
            goal: ReleaseGoal::Present,
            generation: 0,
            sync_nonce: 0,
            revision: None,
            wave: None,
            policies: Policies::default(),
            desired: None,
            released: None,
            released_revision: None,
            applied: None,
            stages: Stages::default(),
            sync: Sync::Pending,
            health: Health::default(),
            reach: Reach::Offline,
            reported_at: None,
            state_since: at,
        }
    }

    /// The placement chose the cluster and `rendered` is what it should run. Returns whether the cluster has anything
    /// new to do: the same bundle with the same policies is no work (S4-5, P26).
    pub fn target(&mut self, revision: u32, rendered: Rendered, policies: Policies, at: Timestamp) -> bool {
        self.changing(at, |release| {
            release.revision = Some(revision);
            match rendered {
                Rendered::Bundle(digest) if release.runs(&digest, &policies) => {
                    release.desired = Some(digest);
                    release.released_revision = Some(revision);
                    release.pass_hub_stages(StageName::Notified, at);
                    false
                }
                Rendered::Bundle(digest) => {
                    release.start(digest, policies, at);
                    true
                }
                Rendered::Failed(trouble) => release.stall(StageState::Failed(trouble), at),
                Rendered::Waiting(trouble) => release.stall(StageState::Waiting(trouble), at),
            }
        })
    }

    /// The same for a cluster that its rollout has not let through yet: it is told which wave it waits for, and keeps what it
    /// has until [`Release::let_go`]. One that has the bundle already has nothing to wait for.
    pub fn hold(&mut self, next: Next, turn: Trouble, at: Timestamp) -> bool {
        let Next { revision, rendered, policies } = next;
        match rendered {
            // It waits for this already, or will never be let through.
            Rendered::Bundle(digest)
                if self.turn().is_some()
                    && self.revision == Some(revision)
                    && self.desired.as_ref() == Some(&digest) =>
            {
                false
            }
            Rendered::Bundle(digest) if !self.runs(&digest, &policies) => self.changing(at, |release| {
                release.revision = Some(revision);
                release.wait(StageName::Released, StageState::Waiting(turn), Some(digest), at)
            }),
            other => self.target(revision, other, policies, at),
        }
    }

    /// Its wave is open: what is rendered for it may be applied now. Returns whether it was held.
    pub fn let_go(&mut self, policies: Policies, at: Timestamp) -> bool {
        let Some(digest) = self.desired.clone().filter(|_| self.is_held()) else { return false };
        self.changing(at, |release| release.start(digest, policies, at));
        true
    }

    /// Its rollout ended before its turn: it keeps what it has until the next publish. Returns whether it was held.
    pub fn end_hold(&mut self, why: Trouble, at: Timestamp) -> bool {
        let held = self.is_held();
        if held {
            self.changing(at, |release| {
                release.stages.set(StageName::Released, StageState::Waiting(why), at)
            });
        }
        held
    }

    /// Whether the cluster was already told to run this bundle in this way.
    fn runs(&self, digest: &Digest, policies: &Policies) -> bool {
        self.goal == ReleaseGoal::Present
            && self.policies == *policies
            && self.released.as_ref() == Some(digest)
    }

    fn start(&mut self, digest: Digest, policies: Policies, at: Timestamp) {
        if self.goal != ReleaseGoal::Present {
            self.health = Health::default();
        }
        self.goal = ReleaseGoal::Present;
        self.generation += 1;
        self.policies = policies;
        self.desired = Some(digest.clone());
        self.released = Some(digest);
        self.released_revision = self.revision;
        self.sync = self.sync_at_start();
        self.stages.reset_from(StageName::Accepted);
        self.pass_hub_stages(StageName::Notified, at);
    }

    /// There is no bundle.
    fn stall(&mut self, state: StageState, at: Timestamp) -> bool {
        self.wait(StageName::Rendered, state, None, at)
    }

    /// The hub's own stage `until` is not over. What runs stays as it is: `released` still points at the last good bundle, and
    /// what the agent says of that stays too, so that nothing has to be sent again if that is wanted after all.
    fn wait(&mut self, until: StageName, state: StageState, desired: Option<Digest>, at: Timestamp) -> bool {
        let was = std::mem::replace(&mut self.goal, ReleaseGoal::Present);
        self.desired = desired;
        match &was {
            ReleaseGoal::Present => {}
            // Halfway through a removal that nobody wants any more: back to what ran.
            ReleaseGoal::Removing { .. } => self.return_to_present(),
            // What ran long ago does not come back because something new could not be rendered.
            ReleaseGoal::Removed { .. } | ReleaseGoal::Orphaned { .. } | ReleaseGoal::Abandoned { .. } => {
                self.released = None;
                self.released_revision = None;
                self.return_to_present();
            }
        }
        self.pass_hub_stages(until, at);
        self.stages.set(StageName::Released, StageState::Pending, at);
        self.stages.set(until, state, at);
        matches!(was, ReleaseGoal::Removing { .. }) && self.released.is_some()
    }

    fn return_to_present(&mut self) {
        self.generation += 1;
        self.health = Health::default();
        self.sync = self.sync_at_start();
        self.stages.reset_from(StageName::Accepted);
    }

    fn sync_at_start(&self) -> Sync {
        if self.applied.is_some() { Sync::Stale } else { Sync::Pending }
    }

    /// Marks the hub's own stages before `until` as over. Approvals are asked per wave, not per cluster.
    fn pass_hub_stages(&mut self, until: StageName, at: Timestamp) {
        for name in StageName::ALL.into_iter().take_while(|name| *name < until) {
            let state = match name {
                StageName::Approved => {
                    StageState::Skipped { message: "No approval is asked for.".to_owned() }
                }
                _ => StageState::Done,
            };
            self.stages.set(name, state, at);
        }
    }

    /// The cluster should not have it any more. Returns whether that is news.
    pub fn remove(&mut self, deletion: DeletionPolicy, why: &str, at: Timestamp) -> bool {
        self.changing(at, |release| match &release.goal {
            ReleaseGoal::Present => {
                release.wave = None;
                release.generation += 1;
                release.goal = ReleaseGoal::Removing { deletion, why: why.to_owned(), since: at };
                release.sync = Sync::Removing;
                release.stages.reset_from(StageName::Notified);
                // Never sent to the cluster: nothing is there to be removed.
                if release.released.is_none() && release.applied.is_none() {
                    release.goal = ReleaseGoal::Removed { since: at };
                    release.sync = Sync::Removed;
                }
                true
            }
            _ => false,
        })
    }

    /// Given up without the cluster's word (S1-23). Returns whether that is news.
    pub fn abandon(&mut self, at: Timestamp) -> bool {
        self.changing(at, |release| match release.goal {
            ReleaseGoal::Removing { .. } => {
                release.generation += 1;
                release.goal = ReleaseGoal::Abandoned { since: at };
                true
            }
            _ => false,
        })
    }

    /// A person asks the cluster to compare now and forget its back-offs (S1-21: it never adds targets).
    pub fn sync_now(&mut self) {
        self.sync_nonce += 1;
    }

    /// The cluster is heard from, or not. Returns whether that is news.
    pub fn reached(&mut self, reach: Reach, at: Timestamp) -> bool {
        self.changing(at, |release| std::mem::replace(&mut release.reach, reach) != reach)
    }

    /// Takes what the cluster says. Late, future and superfluous reports change nothing (I2).
    pub fn record(&mut self, report: &ReleaseReport, at: Timestamp) -> Result<(), Dropped> {
        match report.generation {
            late if late < self.generation => return Err(Dropped::Late),
            future if future > self.generation => return Err(Dropped::FromTheFuture),
            _ => {}
        }
        if !self.expects_reports() {
            return Err(Dropped::Over);
        }
        self.changing(at, |release| {
            release.reach = Reach::Online;
            release.reported_at = Some(at);
            release.take_health(&report.health, at);
            release.take_stages(report, at);
            release.applied.clone_from(&report.applied);
            release.sync = report.sync;
            if let ReleaseGoal::Removing { deletion, .. } = release.goal {
                release.take_removal(report, deletion, at);
            } else {
                release.confirm(at);
            }
        });
        Ok(())
    }

    /// Whether the cluster was ever told anything that it could report about, and still is.
    fn expects_reports(&self) -> bool {
        match self.goal {
            ReleaseGoal::Present => self.released.is_some(),
            ReleaseGoal::Removing { .. } => true,
            _ => false,
        }
    }

    fn take_health(&mut self, health: &Health, at: Timestamp) {
        let since = if health.status == self.health.status { self.health.since } else { None };
        self.health = Health { since: since.or(Some(at)), ..health.clone() };
    }

    fn take_stages(&mut self, report: &ReleaseReport, at: Timestamp) {
        for name in StageName::ALL.into_iter().filter(|name| name.is_agents()) {
            let said = report.stages.iter().find(|stage| stage.name == name);
            let state = said.map_or(StageState::Pending, |stage| stage.state.clone());
            self.stages.set(name, state, at);
        }
    }

    fn take_removal(&mut self, report: &ReleaseReport, deletion: DeletionPolicy, at: Timestamp) {
        self.sync = Sync::Removing;
        if report.gone {
            self.applied = None;
            self.sync = Sync::Removed;
            self.goal = match deletion {
                DeletionPolicy::Foreground | DeletionPolicy::SelectivelyOrphan => {
                    ReleaseGoal::Removed { since: at }
                }
                DeletionPolicy::Orphan => ReleaseGoal::Orphaned { since: at },
            };
        }
    }

    /// The last stage is the hub's: the cluster says operational, for the very bundle that is released (S0-10).
    fn confirm(&mut self, at: Timestamp) {
        let confirmed = self.applied.is_some()
            && self.applied == self.released
            && self.health.status == HealthStatus::Healthy
            && self.stages.get(StageName::Operational).state.is_over();
        let state = if confirmed { StageState::Done } else { StageState::Pending };
        self.stages.set(StageName::Confirmed, state, at);
    }

    /// What the agent is told; `None` once nothing is expected of the cluster.
    pub fn want(&self, workload: &str) -> Option<Want> {
        let expected = Expected {
            release: self.id,
            workload: workload.to_owned(),
            goal: self.goal.clone(),
            generation: self.generation,
            sync_nonce: self.sync_nonce,
            revision: self.released_revision,
            released: self.released.clone(),
            policies: self.policies.clone(),
        };
        expected.want()
    }

    /// Runs a change and moves `state_since` if the word for people changed.
    fn changing<T>(&mut self, at: Timestamp, change: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.state();
        let result = change(self);
        if self.state() != before {
            self.state_since = at;
        }
        result
    }
}
