//! Rejects an agent.

use domain::event::{EventKind, NewEvent};
use domain::join::{Registration, RegistrationState};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Rejects the pending agent with this name; its key needs a new token to request again.
    pub async fn reject_cluster(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let found = store::registration::get_pending(&mut tx, name).await?;
        let found = found.ok_or_else(|| Error::not_found("pending agent", name))?;
        let rejected = Registration {
            state: RegistrationState::Rejected,
            decided_by: Some(actor.name.clone()),
            ..found
        };
        store::registration::record_decision(&mut tx, &rejected, self.clock().now()).await?;
        let message = format!("The agent that requested to join as {name} was rejected.");
        let event = NewEvent::new(EventKind::ClusterRejected, &actor.name, message);
        self.commit(tx, CommitEffects::with_event(event)).await
    }
}
