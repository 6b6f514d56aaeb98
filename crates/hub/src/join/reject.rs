//! Rejects an agent.

use domain::authorization::UserAction;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::join::{Registration, RegistrationState};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Rejects the pending agent with this name; its key needs a new token to request again.
    pub async fn reject_cluster(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        actor.authorize(UserAction::JoinCluster)?;
        let mut tx = self.write_as(actor, UserAction::JoinCluster).await?;
        let found = store::registration::get_pending(&mut tx, name).await?;
        let found = found.ok_or_else(|| Error::not_found("pending agent", name))?;
        let rejected = Registration {
            state: RegistrationState::Rejected,
            decided_by: Some(actor.name.clone()),
            ..found
        };
        let now = self.clock().now();
        store::registration::record_decision(&mut tx, &rejected, now).await?;
        let detail = EventDetail::JoinRejected { name: name.to_owned() };
        let event =
            NewEvent::from_detail(detail, &actor.name, EventSubject::object("pending agent", name), now);
        self.commit(tx, CommitEffects::with_event(event).with_empty_response(actor, 204)).await
    }
}
