//! The certificate is renewed after two thirds of its life, each agent's at another moment.

use std::time::Duration;

use domain::Timestamp;
use rand::Rng as _;
use tokio::sync::watch;
use wire::AgentClient;
use wire::agent::Renew;

use crate::connect::Backoff;
use crate::identity::{Identity, JoinError};
use crate::keep::Keeper;
use crate::run::Options;

/// The clock is looked at so often at least: it may have been set, or the machine may have slept.
const LOOK_AGAIN: Duration = Duration::from_secs(3_600);
const SHORTEST: Duration = Duration::from_millis(50);

/// Renews for ever; the newest client is told to whoever holds `newest`.
pub(crate) async fn run(
    mut identity: Identity,
    keeper: Keeper,
    options: Options,
    newest: watch::Sender<AgentClient>,
) {
    while let Some((since, until)) = identity.life() {
        wait_until(due(since, until), &options).await;
        let mut backoff = Backoff::new(&options);
        identity = loop {
            match renewed(&identity, &keeper, &options).await {
                Ok((renewed, client)) => {
                    newest.send_replace(client);
                    break renewed;
                }
                Err(why) => {
                    let delay = backoff.delay();
                    tracing::warn!(why, retry_in = ?delay, ends = %until, "the certificate can't be renewed");
                    tokio::time::sleep(delay).await;
                }
            }
        };
        tracing::info!("the certificate was renewed");
    }
}

/// Two thirds of the life, a twentieth of it earlier or later.
fn due(since: Timestamp, until: Timestamp) -> Timestamp {
    let life = until.since(since);
    if life == 0 {
        // Our clock is past the end of a certificate that was just given: it says nothing about when to renew (P10).
        return since.plus_millis(i64::try_from(LOOK_AGAIN.as_millis()).unwrap_or(i64::MAX));
    }
    let jitter = life / 20;
    since.plus_millis(life * 2 / 3 + rand::rng().random_range(-jitter..=jitter))
}

async fn wait_until(due: Timestamp, options: &Options) {
    loop {
        let left = due.since((options.engine.clock)());
        if left == 0 {
            return;
        }
        let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
        tokio::time::sleep(left.clamp(SHORTEST, LOOK_AGAIN)).await;
    }
}

/// A new key and its certificate, kept before they are used.
async fn renewed(
    identity: &Identity,
    keeper: &Keeper,
    options: &Options,
) -> Result<(Identity, AgentClient), String> {
    let why = |error: JoinError| error.to_string();
    let (next, csr) = identity.successor().map_err(why)?;
    let client = identity.client().map_err(why)?;
    let issued = client.renew(&Renew { csr }).await.map_err(|error| error.to_string())?;
    let next = next.given(issued, (options.engine.clock)());
    let client = next.client().map_err(why)?;
    next.save(keeper).await.map_err(|error| error.to_string())?;
    Ok((next, client))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_renewed_around_two_thirds_of_its_life() {
        let at = Timestamp::from_millis;
        for _ in 0..100 {
            let due = due(at(1_000_000), at(1_060_000)).millis();
            assert!((1_037_000..=1_043_000).contains(&due), "{due}");
        }
    }

    #[test]
    fn p10_a_clock_that_is_past_the_end_of_a_new_certificate_does_not_renew_without_a_pause() {
        let at = Timestamp::from_millis;
        assert_eq!(due(at(90_000_000), at(1_060_000)), at(93_600_000));
    }
}
