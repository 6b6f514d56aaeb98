//! Rollouts: what a person asks of one and says to it. The loop `rollouts` carries them out.

use domain::Severity;
use domain::can::WhyNot;
use domain::event::{EventKind, NewEvent};
use domain::id::WorkloadId;
use domain::rollout::{Rollout, RolloutState, RolloutVerb};
use store::Tx;

use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// The rollout of a revision, the published one if none is named; `None` if that went everywhere at once.
    ///
    /// # Errors
    /// There is no such workload, or no such revision of it.
    pub async fn rollout_view(&self, name: &str, revision: Option<u32>) -> Result<Option<Rollout>, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let Some(number) = revision.or(workload.published) else { return Ok(None) };
        if revision.is_some() && store::revision::get(&mut tx, workload.id, number).await?.is_none() {
            return Err(Error::not_found("revision", format!("{number} of {name}")));
        }
        self.rollout_of(&mut tx, workload.id, number).await
    }

    /// The rollout of a revision with its counts of now: what the loop wrote may be older than what clusters have said.
    pub(crate) async fn rollout_of(
        &self,
        tx: &mut Tx,
        workload: WorkloadId,
        number: u32,
    ) -> Result<Option<Rollout>, Error> {
        let mut found = store::rollout::get(tx, workload, number).await?;
        if let Some(rollout) = found.as_mut().filter(|rollout| rollout.state.is_active()) {
            let now = self.clock().now();
            let tallies = store::rollout::tallies(tx, rollout, now).await?;
            rollout.take(&tallies);
        }
        Ok(found)
    }

    /// Takes a person's word about the rollout of the published revision.
    ///
    /// # Errors
    /// That revision went everywhere at once, or its rollout is in another state than the word is for.
    pub async fn rollout_steer(
        &self,
        actor: &Actor,
        name: &str,
        verb: RolloutVerb,
    ) -> Result<Rollout, Error> {
        let mut tx = self.write().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let found = match workload.published {
            Some(number) => store::rollout::get(&mut tx, workload.id, number).await?,
            None => None,
        };
        let none = || WhyNot(format!("{name} has no rollout: nothing of it was published in waves."));
        let mut rollout = found.ok_or_else(none)?;
        let at = rollout.at_wave();
        rollout.steer(verb, &actor.name, self.clock().now())?;
        store::rollout::update(&mut tx, &rollout).await?;
        let message =
            format!("The rollout of {name} revision {} was {} at {at}.", rollout.revision, verb.done());
        let severity = if verb == RolloutVerb::Abort { Severity::Warning } else { Severity::Note };
        let event = NewEvent::new(EventKind::RolloutChanged, &actor.name, message)
            .workload(workload.id, name)
            .weighing(severity);
        let mut done = Done::with(event).answering(actor, 200, &rollout);
        done.rollouts.insert(workload.id);
        self.commit(tx, done).await?;
        Ok(rollout)
    }

    /// Refuses what would overtake a rollout that a person or its failures stopped: whoever publishes by the way would begin
    /// it anew.
    ///
    /// # Errors
    /// The published revision has a rollout that is not completed.
    pub(crate) async fn check_rollout_over(
        &self,
        tx: &mut Tx,
        name: &str,
        published: (WorkloadId, u32),
    ) -> Result<(), Error> {
        let (workload, number) = published;
        match store::rollout::get(tx, workload, number).await? {
            Some(rollout) if rollout.state != RolloutState::Completed => Err(WhyNot(format!(
                "The rollout of {name} revision {number} is {}. Save this in the draft and publish it, or let the rollout be completed first.",
                rollout.state.word().to_lowercase()
            ))
            .into()),
            _ => Ok(()),
        }
    }

    /// Something newer was published, or the workload is taken back: nothing more is let through.
    pub(crate) async fn end_rollout(&self, tx: &mut Tx, workload: WorkloadId) -> Result<(), Error> {
        if let Some(mut rollout) = store::rollout::active(tx, workload).await? {
            rollout.supersede(self.clock().now());
            store::rollout::update(tx, &rollout).await?;
        }
        Ok(())
    }
}
