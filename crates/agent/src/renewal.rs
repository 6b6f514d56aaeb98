//! Renewal of the certificate after two thirds of its lifetime, with jitter.

use std::time::Duration;

use domain::Timestamp;
use domain::join::certificate_renewal_at;
use rand::Rng as _;
use tokio::sync::watch;
use wire::AgentClient;
use wire::agent::RenewRequest;

use crate::backoff::Backoff;
use crate::cache::SharedCache;
use crate::identity::{AgentIdentity, JoinError};
use crate::options::AgentOptions;

/// Longest sleep between readings of the clock: it may have been set, or the machine may have been suspended.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(3_600);
const MIN_SLEEP: Duration = Duration::from_millis(50);

/// Renews the certificate whenever it is due, and publishes each new client through `newest`.
pub(crate) async fn run(
    mut identity: AgentIdentity,
    cache: SharedCache,
    options: AgentOptions,
    newest: watch::Sender<AgentClient>,
) {
    while let Some((since, until)) = identity.validity() {
        wait_until(renewal_due_at(since, until), &options).await;
        let mut backoff = Backoff::new(&options);
        identity = loop {
            match renew_certificate(&identity, &cache, &options).await {
                Ok((next, client)) => {
                    newest.send_replace(client);
                    break next;
                }
                Err(error) => {
                    let delay = backoff.next_delay();
                    tracing::warn!(error, retry_in = ?delay, expires = %until, "the certificate can't be renewed");
                    tokio::time::sleep(delay).await;
                }
            }
        };
        tracing::info!("the certificate was renewed");
    }
}

/// After two thirds of the lifetime, ±5 % of it.
fn renewal_due_at(since: Timestamp, until: Timestamp) -> Timestamp {
    let life = until.millis_since(since);
    if life == 0 {
        // The local clock is past the end of a certificate that was just issued, so it can't schedule the renewal (P10).
        return since.plus_millis(i64::try_from(CLOCK_CHECK_INTERVAL.as_millis()).unwrap_or(i64::MAX));
    }
    let jitter = life / 20;
    certificate_renewal_at(since, until).plus_millis(rand::rng().random_range(-jitter..=jitter))
}

async fn wait_until(due: Timestamp, options: &AgentOptions) {
    loop {
        let left = due.millis_since((options.engine.clock)());
        if left == 0 {
            return;
        }
        let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
        tokio::time::sleep(left.clamp(MIN_SLEEP, CLOCK_CHECK_INTERVAL)).await;
    }
}

/// Requests a certificate for a new key; both are stored before they are used.
async fn renew_certificate(
    identity: &AgentIdentity,
    cache: &SharedCache,
    options: &AgentOptions,
) -> Result<(AgentIdentity, AgentClient), String> {
    let text = |error: JoinError| error.to_string();
    let (next, csr) = identity.rotate_key().map_err(text)?;
    let client = identity.client().map_err(text)?;
    let issued = client.renew_certificate(&RenewRequest { csr }).await.map_err(|error| error.to_string())?;
    let next = next.with_certificate(issued, (options.engine.clock)());
    let client = next.client().map_err(text)?;
    next.save(cache).await.map_err(|error| error.to_string())?;
    Ok((next, client))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_renewed_after_about_two_thirds_of_its_lifetime() {
        let at = Timestamp::from_millis;
        for _ in 0..100 {
            let due = renewal_due_at(at(1_000_000), at(1_060_000)).millis();
            assert!((1_037_000..=1_043_000).contains(&due), "{due}");
        }
    }

    #[test]
    fn p10_a_clock_past_the_end_of_a_new_certificate_causes_no_renewal_loop() {
        let at = Timestamp::from_millis;
        assert_eq!(renewal_due_at(at(90_000_000), at(1_060_000)), at(93_600_000));
    }
}
