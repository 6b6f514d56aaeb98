//! Limits of attempts to sign in, against guessing of passwords. They are counted in the database, so that all servers of
//! it share them, and before the password is verified, so that concurrent attempts do not pass the check together.
//!
//! No limit is a lock: after some attempts each further one has to wait, longer each time up to [`MAX_DELAY_MILLIS`], and an
//! attempt that comes too early is not counted. What others try does not make a user wait: delays are counted per name and
//! address, and on a device from which the user has signed in before (it sends the secret of [`NewSession::device`]) only the
//! attempts of that device. For a name that is attacked from many addresses every address has fewer attempts without delay.
//! The exception is an address that many users share: its attempts are slowed down together, except on known devices.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use domain::{Digest, Timestamp};
use store::{Tx, sign_in_attempt};

use super::setup::SETUP_TOKEN_NAME;
use crate::{Error, Hub};

/// Attempts with a name from an address, or on a known device, without delay.
const FREE_ATTEMPTS: u32 = 5;
/// The same from an unknown device while the name is attacked.
const FREE_ATTEMPTS_OF_ATTACKED_NAME: u32 = 1;
/// A name with more failures than this is attacked.
const MAX_FAILURES_OF_NAME: u32 = 20;
/// Attempts of an address without delay; more, because many people may share one.
const FREE_ATTEMPTS_OF_ADDRESS: u32 = 20;
/// The first delay, in milliseconds; each further attempt doubles it.
const FIRST_DELAY_MILLIS: i64 = 5_000;
/// The longest delay, in milliseconds.
const MAX_DELAY_MILLIS: i64 = 5 * 60_000;
/// The time from which on a subject without a delay may try again.
const NO_WAIT: Timestamp = Timestamp::from_millis(0);
/// A count is forgotten after this time without an attempt, in milliseconds.
const RETENTION_MILLIS: i64 = 3_600_000;
/// A device is forgotten after this time without a sign-in, in milliseconds.
const DEVICE_RETENTION_MILLIS: i64 = 90 * 86_400_000;

/// Where an attempt to sign in comes from.
#[derive(Debug, Clone)]
pub struct SignInClient {
    /// The network under which the client is counted: an IPv4 address or a /64 network of IPv6.
    pub network: IpAddr,
    /// The secret of the device, if it has one.
    pub device: Option<String>,
}

/// Attempts to sign in on this server since its start, by their result.
#[derive(Debug, Default)]
pub struct SignInStatistics {
    /// With the right credentials.
    pub succeeded: AtomicU64,
    /// With wrong ones.
    pub failed: AtomicU64,
    /// Too early after failed ones; not tried.
    pub rejected: AtomicU64,
}

/// An attempt that is counted as failed until [`SignInAttempt::succeed`].
pub(super) struct SignInAttempt {
    hub: Hub,
    subjects: AttemptSubjects,
}

struct AttemptSubjects {
    /// Hash of the secret of this device and the name.
    device: Option<Digest>,
    /// The name from this address.
    name_and_network: Digest,
    network: Digest,
    name: Digest,
}

impl AttemptSubjects {
    /// `name` is what the user is asked for: a name, or that of the set-up token. Wrong tokens have an own count of their address,
    /// so that they delay no sign-in.
    fn new(client: &SignInClient, name: &str) -> Self {
        let name = normalize_name(name);
        let network = client.network;
        let kind = if name == SETUP_TOKEN_NAME { "setupNetwork" } else { "network" };
        Self {
            device: client.device.as_ref().map(|secret| device_subject(secret, &name)),
            name_and_network: hash_subject("nameAndNetwork", &[&network.to_string(), &name]),
            network: hash_subject(kind, &[&network.to_string()]),
            name: hash_subject("name", &[&name]),
        }
    }

    /// Those that are counted.
    fn counted(&self, is_known_device: bool) -> BTreeSet<Digest> {
        match self.device.as_ref().filter(|_| is_known_device) {
            Some(device) => [device.clone()].into(),
            None => [&self.name_and_network, &self.network, &self.name].map(Clone::clone).into(),
        }
    }

    /// How many attempts of this subject have no delay; `None` if it never causes one.
    fn free_attempts(&self, subject: &Digest, is_attacked: bool) -> Option<u32> {
        if *subject == self.name {
            None
        } else if *subject == self.network {
            Some(FREE_ATTEMPTS_OF_ADDRESS)
        } else if *subject == self.name_and_network && is_attacked {
            Some(FREE_ATTEMPTS_OF_ATTACKED_NAME)
        } else {
            Some(FREE_ATTEMPTS)
        }
    }
}

/// Names have no upper-case letters and no spaces around them: other spellings are attempts at the same name.
fn normalize_name(name: &str) -> String {
    name.trim().to_lowercase()
}

fn device_subject(secret: &str, name: &str) -> Digest {
    hash_subject("device", &[secret, name])
}

/// The parts are separated by a character that no part contains before the last one.
fn hash_subject(kind: &str, parts: &[&str]) -> Digest {
    Digest::compute(format!("{kind}\n{}", parts.join("\n")).as_bytes())
}

/// The delay after this many failures, in milliseconds.
fn delay_millis(failures: u32, free: u32) -> i64 {
    match failures.checked_sub(free) {
        None => 0,
        Some(doublings) => FIRST_DELAY_MILLIS
            .checked_shl(doublings.min(30))
            .map_or(MAX_DELAY_MILLIS, |delay| delay.min(MAX_DELAY_MILLIS)),
    }
}

impl Hub {
    /// Counts an attempt before anything is verified.
    pub(super) async fn begin_attempt(
        &self,
        client: &SignInClient,
        name: &str,
    ) -> Result<SignInAttempt, Error> {
        let subjects = AttemptSubjects::new(client, name);
        let now = self.clock().now();
        let mut tx = self.write().await?;
        let is_known_device = match &subjects.device {
            Some(device) => sign_in_attempt::is_known(&mut tx, device, now).await?,
            None => false,
        };
        let mut counts =
            sign_in_attempt::lock_counts(&mut tx, &subjects.counted(is_known_device), now).await?;
        // The locks may have been waited for.
        let now = self.clock().now();
        let wait = counts.iter().map(|count| count.retry_at.millis_since(now)).max().unwrap_or(0);
        if wait > 0 {
            tx.rollback().await?;
            self.sign_in_statistics().rejected.fetch_add(1, Relaxed);
            tracing::info!(address = %client.network, "an attempt to sign in came too early after failed ones");
            return Err(too_many_attempts(wait));
        }
        let is_attacked = counts
            .iter()
            .any(|count| count.subject == subjects.name && count.failures >= MAX_FAILURES_OF_NAME);
        for count in &mut counts {
            count.failures = count.failures.saturating_add(1);
            let free = subjects.free_attempts(&count.subject, is_attacked);
            let delay = free.map_or(0, |free| delay_millis(count.failures, free));
            // Without a delay no time is stored, which a server whose clock is a little behind would wait for.
            count.retry_at = if delay > 0 { now.plus_millis(delay) } else { NO_WAIT };
            let end = now.plus_millis(RETENTION_MILLIS);
            count.expires_at = if is_known_device { count.expires_at.max(end) } else { end };
            sign_in_attempt::save(&mut tx, count).await?;
        }
        tx.commit().await?;
        Ok(SignInAttempt { hub: self.clone(), subjects })
    }
}

fn too_many_attempts(wait_millis: i64) -> Error {
    let seconds = u32::try_from(wait_millis.max(0)).unwrap_or(u32::MAX).div_ceil(1_000);
    Error::TooManyAttempts { retry_after_seconds: seconds.max(1) }
}

impl SignInAttempt {
    /// Logs that it failed; its count stays. `user` is the name of an existing user: what was typed as another name may be
    /// a password.
    pub(super) fn fail(self, client: &SignInClient, user: Option<&str>) {
        self.hub.sign_in_statistics().failed.fetch_add(1, Relaxed);
        tracing::warn!(address = %client.network, user = user.unwrap_or("(unknown)"), "an attempt to sign in failed");
    }

    /// Takes the count of this attempt back: it was successful. Returns the secret by which the device is known from now on.
    pub(super) async fn succeed(self, client: &SignInClient, name: &str) -> Result<String, Error> {
        let Self { hub, subjects } = self;
        let now = hub.clock().now();
        let mut tx = hub.write().await?;
        let known = match (&subjects.device, &client.device) {
            (Some(subject), Some(secret)) if sign_in_attempt::is_known(&mut tx, subject, now).await? => {
                Some(secret.clone())
            }
            _ => None,
        };
        let counts = sign_in_attempt::lock_counts(&mut tx, &subjects.counted(known.is_some()), now).await?;
        for mut count in counts {
            // Failures with other names, or of others with this name, are not forgotten.
            let is_shared = count.subject == subjects.network || count.subject == subjects.name;
            count.failures = if is_shared { count.failures.saturating_sub(1) } else { 0 };
            count.retry_at = NO_WAIT;
            sign_in_attempt::save(&mut tx, &count).await?;
        }
        let secret = known.unwrap_or_else(|| hub.ids().generate_secret());
        remember_device(&mut tx, &secret, name, now).await?;
        tx.commit().await?;
        hub.sign_in_statistics().succeeded.fetch_add(1, Relaxed);
        Ok(secret)
    }
}

/// Stores that the device with this secret is known for this name.
pub(super) async fn remember_device(
    tx: &mut Tx,
    secret: &str,
    name: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let device = device_subject(secret, &normalize_name(name));
    for mut count in sign_in_attempt::lock_counts(tx, &[device].into(), now).await? {
        count.expires_at = now.plus_millis(DEVICE_RETENTION_MILLIS);
        sign_in_attempt::save(tx, &count).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_from_5_seconds_to_5_minutes() {
        let delays: Vec<i64> = (4..=13).map(|failures| delay_millis(failures, 5) / 1_000).collect();
        assert_eq!(delays, [0, 5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(delay_millis(u32::MAX, 5), MAX_DELAY_MILLIS);
    }

    #[test]
    fn spellings_of_a_name_are_one_subject_and_other_names_and_addresses_are_not() {
        let client = |last| SignInClient { network: IpAddr::from([192, 0, 2, last]), device: None };
        let subject = |last, name: &str| AttemptSubjects::new(&client(last), name).name_and_network;
        assert_eq!(subject(1, "ada"), subject(1, " Ada "));
        assert_ne!(subject(1, "ada"), subject(1, "eve"));
        assert_ne!(subject(1, "ada"), subject(2, "ada"));
    }
}
