//! Queries and verbs on rollouts. The loop `rollouts` advances them.

use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::id::WorkloadId;
use domain::release::{Gate, Release};
use domain::rollout::{Rollout, RolloutAction, RolloutEvent};
use store::Tx;

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

mod clusters;

impl Hub {
    /// The rollout of a revision, by default the published one; `None` if it has no waves.
    ///
    /// # Errors
    /// There is no such workload, or no such revision of it.
    pub async fn get_rollout(&self, name: &str, revision: Option<u32>) -> Result<Option<Rollout>, Error> {
        let mut tx = self.read().await?;
        self.find_named_rollout(&mut tx, name, revision).await
    }

    /// The same within a transaction.
    async fn find_named_rollout(
        &self,
        tx: &mut Tx,
        name: &str,
        revision: Option<u32>,
    ) -> Result<Option<Rollout>, Error> {
        let workload = self.load_workload_head(tx, name).await?;
        let Some(number) = revision.or(workload.published) else { return Ok(None) };
        if revision.is_some() && store::revision::get(tx, workload.id, number).await?.is_none() {
            return Err(Error::revision_not_found(name, number));
        }
        self.load_rollout(tx, workload.id, number).await
    }

    /// The rollout of a revision with current counts: the counts that the loop stored may be older than the last reports.
    pub(crate) async fn load_rollout(
        &self,
        tx: &mut Tx,
        workload: WorkloadId,
        number: u32,
    ) -> Result<Option<Rollout>, Error> {
        let mut found = store::rollout::get(tx, workload, number).await?;
        if let Some(rollout) = found.as_mut().filter(|rollout| rollout.state.is_active()) {
            let now = self.clock().now();
            let tallies = store::rollout::count_waves(tx, rollout, now).await?;
            rollout.update_progress(&tallies);
        }
        Ok(found)
    }

    /// Pauses, resumes, approves, promotes, retries or aborts the rollout of the published revision.
    ///
    /// # Errors
    /// That revision has no waves, or the state of its rollout does not allow the verb.
    pub async fn control_rollout(
        &self,
        actor: &Actor,
        name: &str,
        verb: RolloutAction,
    ) -> Result<Rollout, Error> {
        let action = match verb {
            RolloutAction::Retry => return Box::pin(self.retry_rollout(actor, name)).await,
            RolloutAction::Approve => UserAction::ApproveRollout,
            _ => UserAction::ControlRollout,
        };
        actor.authorize(action)?;
        let mut tx = self.write_as(actor, action).await?;
        let workload = self.load_workload_head(&mut tx, name).await?;
        let found = match workload.published {
            Some(number) => store::rollout::get(&mut tx, workload.id, number).await?,
            None => None,
        };
        let mut rollout = found.ok_or_else(|| no_rollout(name))?;
        let (now, from, wave) = (self.clock().now(), rollout.state.clone(), rollout.current_wave());
        rollout.apply_action(verb, &actor.name, now)?;
        store::rollout::update(&mut tx, &rollout).await?;
        let change = RolloutEvent::ActionTaken { action: verb, from, to: rollout.state.clone(), wave };
        let detail = EventDetail::Rollout { revision: rollout.revision, change };
        let subject = EventSubject::workload(workload.id, name);
        let event = NewEvent::from_detail(detail, &actor.name, subject, now);
        let mut effects = CommitEffects::with_event(event).with_response(actor, 200, &rollout);
        if verb == RolloutAction::Approve {
            // Removals may have waited for it.
            store::queue::PLACER.mark(&mut tx, &[workload.id], now).await?;
            effects.wake_placer = true;
        }
        effects.dirty_rollouts.insert(workload.id);
        self.commit(tx, effects).await?;
        Ok(rollout)
    }

    /// Requests a sync of the clusters that fail in the rollout of the published revision: their agents try again now, and what could
    /// not be rendered is rendered again. The rollout stays in its state. No operation begins, which would end that of the publish and
    /// record its outcome.
    async fn retry_rollout(&self, actor: &Actor, name: &str) -> Result<Rollout, Error> {
        actor.authorize(UserAction::ControlRollout)?;
        let mut tx = self.write_as(actor, UserAction::ControlRollout).await?;
        let workload = self.lock_workload_head(&mut tx, name).await?;
        let found = match workload.published {
            Some(number) => self.load_rollout(&mut tx, workload.id, number).await?,
            None => None,
        };
        let rollout = found.ok_or_else(|| no_rollout(name))?;
        rollout.check_action(RolloutAction::Retry)?;
        let releases = store::release::list_all_by_workload(&mut tx, workload.id).await?;
        let failing: Vec<Release> =
            releases.into_iter().filter(|release| is_failing(release, &rollout)).collect();
        if failing.is_empty() {
            let why = format!("This rollout can't be retried: no cluster of {name} is failing any more.");
            return Err(ActionUnavailable(why).into());
        }
        // What is not rendered is nothing that an agent could try again.
        let (rendered, unrendered): (Vec<Release>, Vec<Release>) =
            failing.into_iter().partition(|release| release.desired().is_some());
        if !unrendered.is_empty() {
            store::queue::PLACER.mark_requested(&mut tx, workload.id, self.clock().now()).await?;
        }
        let mut retried = Vec::new();
        for mut release in rendered {
            release.request_sync();
            store::release::update(&mut tx, &release).await?;
            retried.push(release.cluster());
        }
        let state = rollout.state.clone();
        let change = RolloutEvent::ActionTaken {
            action: RolloutAction::Retry,
            from: state.clone(),
            to: state,
            wave: rollout.current_wave(),
        };
        let detail = EventDetail::Rollout { revision: rollout.revision, change };
        let subject = EventSubject::workload(workload.id, name);
        let event = NewEvent::from_detail(detail, &actor.name, subject, self.clock().now());
        let effects = CommitEffects {
            changed_clusters: retried,
            wake_placer: !unrendered.is_empty(),
            ..CommitEffects::with_event(event)
        };
        self.commit(tx, effects.with_response(actor, 200, &rollout)).await?;
        Ok(rollout)
    }

    /// Supersedes the active rollout, or one that was rolled back, after a newer publish or an unpublish: no further cluster is admitted.
    pub(crate) async fn supersede_rollout(&self, tx: &mut Tx, workload: WorkloadId) -> Result<(), Error> {
        if let Some(mut rollout) = store::rollout::get_open(tx, workload).await? {
            rollout.supersede(self.clock().now());
            store::rollout::update(tx, &rollout).await?;
        }
        Ok(())
    }
}

fn no_rollout(name: &str) -> ActionUnavailable {
    ActionUnavailable(format!("{name} has no rollout: its published revision has no waves."))
}

/// Whether a cluster that the rollout admitted fails with its revision, and reports so. One that waits for a workload that its own
/// depends on has the state of the revision that runs.
fn is_failing(release: &Release, rollout: &Rollout) -> bool {
    let revision = Some(rollout.revision);
    let is_of_revision = release.desired().is_none() || release.released_revision() == revision;
    release.wave().is_some()
        && release.gate() == Gate::Open
        && release.revision() == revision
        && is_of_revision
        && release.state().is_failing()
}

#[cfg(test)]
mod tests {
    use domain::cluster::Connectivity;
    use domain::release::stage::StageReason;
    use domain::release::{Reason, RenderOutcome};
    use domain::rollout::RolloutStrategy;
    use domain::workload::Policies;
    use domain::{ClusterId, ReleaseId, Timestamp};

    use super::*;

    #[test]
    fn a_cluster_whose_revision_can_not_be_rendered_is_retried() {
        let (at, workload) = (Timestamp::from_millis(0), WorkloadId::from_parts(1, 1));
        let rollout = Rollout::new(workload, (Some(1), 2), RolloutStrategy::default(), at);
        let mut release =
            Release::new(ReleaseId::from_parts(1, 1), workload, ClusterId::from_parts(1, 1), at);
        release.set_connectivity(Connectivity::Online, at);
        release.set_wave(Some(0));
        let failed = RenderOutcome::Failed(StageReason::new(Reason::RenderFailed, "a value is missing"));
        release.set_desired_revision(1, failed.clone(), Policies::default(), at);
        assert!(!is_failing(&release, &rollout), "it fails with another revision");
        release.set_desired_revision(2, failed, Policies::default(), at);
        assert!(is_failing(&release, &rollout));
    }
}
