//! Waits for the decision on a registration, so that an accepted agent connects at once.

use std::time::Duration;

use domain::join::RegistrationState;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{JoinRequest, RegistrationResult};
use crate::{Authority, Error, Hub};

/// Pause between two reads of a pending registration: every event of the fleet wakes those that wait.
const READ_PAUSE: Duration = Duration::from_millis(300);

impl Hub {
    /// Registers an agent like [`Hub::register_agent`]. While the registration is pending, the result is delayed until a
    /// person has decided, for at most `wait`.
    pub async fn register_agent_and_wait(
        &self,
        authority: &Authority,
        join: JoinRequest,
        wait: Duration,
    ) -> Result<RegistrationResult, Error> {
        let deadline = Instant::now() + wait;
        // Before the first read, so that no decision is missed.
        let mut events = self.live().subscribe_events();
        let result = self.register_agent(authority, join.clone()).await?;
        let RegistrationResult::Pending { fingerprint } = &result else { return Ok(result) };
        while let Ok(Ok(())) = timeout_at(deadline, events.changed()).await {
            let mut tx = self.read().await?;
            let state = store::registration::get_state(&mut tx, fingerprint).await?;
            drop(tx);
            if state != Some(RegistrationState::Pending) {
                return self.register_agent(authority, join).await;
            }
            sleep_until(deadline.min(Instant::now() + READ_PAUSE)).await;
        }
        Ok(result)
    }
}
