//! A person refuses an agent.

use domain::event::{EventKind, NewEvent};
use domain::join::{Registration, RegistrationState};

use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Refuses the agent that waits under this name; its key needs a new token to ask again.
    pub async fn cluster_reject(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let found = store::registration::pending(&mut tx, name).await?;
        let found = found.ok_or_else(|| Error::not_found("waiting agent", name))?;
        let decided = Registration {
            state: RegistrationState::Rejected,
            decided_by: Some(actor.name.clone()),
            ..found
        };
        store::registration::decide(&mut tx, &decided, self.clock().now()).await?;
        let message = format!("The agent that asked to join as {name} was refused.");
        let event = NewEvent::new(EventKind::ClusterRejected, &actor.name, message);
        self.commit(tx, Done::with(event)).await
    }
}
