//! Two clients that send requests at once of which a rule over several rows allows one (`docs/consistency.md`), while servers are killed
//! and suspended and the database is cut off. A request without a response is repeated with the same `Idempotency-Key`, to any server.
//!
//! The rules are those of cluster groups: they cause no release, so that what is checked about releases stays what the publishers do.

use std::time::Duration;

use domain::placement::ClusterGroup;
use rand::Rng as _;
use rand::rngs::StdRng;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wire::{Client, ClusterGroupPut, Error};

/// Pause after a failed read.
const RETRY_PAUSE: Duration = Duration::from_millis(300);
/// The largest delay of a second request, in milliseconds.
const MAX_DELAY_MILLIS: u64 = 40;

/// What a client knows about its request at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RivalOutcome {
    /// It had its effect.
    Accepted,
    /// It had none, because of the other request.
    Refused,
    /// The client has given up; it may be executed later.
    Unknown,
}

/// What the clients have received.
#[derive(Debug, Default)]
pub struct RivalResults {
    rounds: usize,
    accepted: usize,
    refused: usize,
    unknown: usize,
    /// The rules that did not hold.
    pub violations: Vec<String>,
}

impl RivalResults {
    /// One line.
    pub fn summary(&self) -> String {
        let Self { rounds, accepted, refused, unknown, .. } = self;
        format!(
            "{rounds} rounds of rival requests: {accepted} accepted, {refused} refused, {unknown} with unknown outcome"
        )
    }

    /// Counts both outcomes, of which at most one is accepted, and not both are refused. Returns whether one is accepted for certain.
    fn check_rivals(&mut self, what: &str, outcomes: [RivalOutcome; 2]) -> bool {
        for outcome in outcomes {
            match outcome {
                RivalOutcome::Accepted => self.accepted += 1,
                RivalOutcome::Refused => self.refused += 1,
                RivalOutcome::Unknown => self.unknown += 1,
            }
        }
        match outcomes {
            [RivalOutcome::Accepted, RivalOutcome::Accepted] => {
                self.violations.push(format!("{what}: both requests were accepted"));
            }
            [RivalOutcome::Refused, RivalOutcome::Refused] => {
                self.violations.push(format!("{what}: both requests were refused"));
            }
            _ => {}
        }
        outcomes.contains(&RivalOutcome::Accepted)
    }

    fn check(&mut self, holds: bool, violation: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(violation());
        }
    }
}

/// Both clients.
struct RivalClients {
    client: Client,
    delay: Duration,
    results: RivalResults,
}

/// Sends requests until it is stopped; those of the last round are completed.
pub async fn run(client: Client, mut random: StdRng, stop: CancellationToken) -> RivalResults {
    let mut rivals = RivalClients { client, delay: Duration::ZERO, results: RivalResults::default() };
    while !stop.is_cancelled() {
        rivals.results.rounds += 1;
        rivals.delay = Duration::from_millis(random.random_range(0..=MAX_DELAY_MILLIS));
        if let Err(error) = Box::pin(rivals.run_round()).await {
            rivals.results.violations.push(format!("round {}: {error:#}", rivals.results.rounds));
        }
        let pause = Duration::from_millis(random.random_range(50..500));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => {}
        }
    }
    rivals.results
}

impl RivalClients {
    /// Creates, changes and deletes groups, each twice at once.
    ///
    /// # Errors
    /// A group can't be read for a long time.
    async fn run_round(&mut self) -> anyhow::Result<()> {
        let name = format!("rival-{}", self.results.rounds);
        if let Some(revision) = self.create_group_twice(&name).await? {
            self.change_group_twice(&name, revision).await?;
            self.delete_group_twice(&name).await?;
        }
        self.create_exclusive_groups(&name).await
    }

    /// A name is used once. Returns the revision of the group. `None` if an outcome is unknown: a suspended server may execute that creation
    /// later, also after a deletion of the group.
    async fn create_group_twice(&mut self, name: &str) -> anyhow::Result<Option<i64>> {
        let group = |member: &str| ClusterGroup {
            name: name.to_owned(),
            members: vec![member.to_owned()],
            ..ClusterGroup::default()
        };
        let (first, second) = (group("first"), group("second"));
        let both = self.send_both(self.client.create_group(&first), self.client.create_group(&second)).await;
        let refusal = "AlreadyExists";
        let is_accepted = self.check_outcomes(&format!("creations of group {name}"), &both, refusal);
        let outcomes = [to_outcome(&both.0, refusal), to_outcome(&both.1, refusal)];
        let stored = self.read_group(name).await?;
        self.results.check(stored.is_some() || !is_accepted, || {
            format!("group {name} was created and does not exist")
        });
        for (created, sent) in [(both.0, first), (both.1, second)] {
            let is_stored = stored.as_ref().is_some_and(|stored| stored.members == sent.members);
            self.results.check(created.is_err() || is_stored, || {
                format!("group {name} was created with {:?}, and is {stored:?}", sent.members)
            });
        }
        if outcomes.contains(&RivalOutcome::Unknown) {
            self.delete_group(name).await?;
            return Ok(None);
        }
        Ok(stored.map(|stored| stored.revision))
    }

    /// Of two changes of one revision one is refused, and there is one further revision at most.
    async fn change_group_twice(&mut self, name: &str, revision: i64) -> anyhow::Result<()> {
        let put =
            |member: &str| ClusterGroupPut { members: vec![member.to_owned()], ..ClusterGroupPut::default() };
        let (first, second) = (put("third"), put("fourth"));
        let both = self
            .send_both(
                self.client.put_group(name, &first, revision),
                self.client.put_group(name, &second, revision),
            )
            .await;
        let is_accepted = self.check_outcomes(&format!("changes of group {name}"), &both, "RevisionConflict");
        let stored = self.read_group(name).await?.map(|stored| stored.revision);
        let is_expected = stored == Some(revision + 1) || (!is_accepted && stored == Some(revision));
        self.results.check(is_expected, || {
            format!("group {name} had revision {revision} and has {stored:?}, accepted: {is_accepted}")
        });
        Ok(())
    }

    /// Of two deletions the second one finds that the group is gone.
    async fn delete_group_twice(&mut self, name: &str) -> anyhow::Result<()> {
        let both = self.send_both(self.client.delete_group(name), self.client.delete_group(name)).await;
        let is_accepted = self.check_outcomes(&format!("deletions of group {name}"), &both, "NotFound");
        let stored = self.read_group(name).await?;
        self.results
            .check(stored.is_none() || !is_accepted, || format!("group {name} was deleted and exists"));
        self.delete_group(name).await
    }

    /// Of two exclusive groups with one member one is refused (G502).
    async fn create_exclusive_groups(&mut self, name: &str) -> anyhow::Result<()> {
        let group = |end: &str| ClusterGroup {
            name: format!("{name}-{end}"),
            members: vec![format!("{name}-member")],
            exclusive: true,
            ..ClusterGroup::default()
        };
        let (first, second) = (group("a"), group("b"));
        let both = self.send_both(self.client.create_group(&first), self.client.create_group(&second)).await;
        self.check_outcomes(&format!("exclusive groups {name}"), &both, "Invalid");
        let stored = (self.read_group(&first.name).await?, self.read_group(&second.name).await?);
        self.results.check(stored.0.is_none() || stored.1.is_none(), || {
            format!("{} has two exclusive groups: {} and {}", first.members[0], first.name, second.name)
        });
        self.delete_group(&first.name).await?;
        self.delete_group(&second.name).await
    }

    /// Sends two requests at once, the second one with the delay of this round.
    fn send_both<A, B>(
        &self,
        first: impl Future<Output = Result<A, Error>>,
        second: impl Future<Output = Result<B, Error>>,
    ) -> impl Future<Output = (Result<A, Error>, Result<B, Error>)> {
        let (first, second, delay) = (Box::pin(first), Box::pin(second), self.delay);
        async move {
            let delayed = async {
                tokio::time::sleep(delay).await;
                second.await
            };
            tokio::join!(first, delayed)
        }
    }

    /// Counts and checks both outcomes, and that none was refused for another reason than the other request; returns whether one is accepted
    /// for certain.
    fn check_outcomes<A, B>(
        &mut self,
        what: &str,
        (first, second): &(Result<A, Error>, Result<B, Error>),
        refusal: &str,
    ) -> bool {
        for error in [first.as_ref().err(), second.as_ref().err()].into_iter().flatten() {
            self.results.check(!is_refused_otherwise(error, refusal), || format!("{what}: {error}"));
        }
        self.results.check_rivals(what, [to_outcome(first, refusal), to_outcome(second, refusal)])
    }

    /// The stored group, read until a server answers.
    async fn read_group(&self, name: &str) -> anyhow::Result<Option<ClusterGroup>> {
        let begun = Instant::now();
        loop {
            match self.client.get_group(name).await {
                Ok(view) => return Ok(Some(view.group)),
                Err(error) if error.is_not_found() => return Ok(None),
                Err(error) => {
                    let is_late = begun.elapsed() > testkit::patience();
                    anyhow::ensure!(!is_late, "group {name} can't be read: {error}");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    /// Deletes a group that may exist, so that their number stays small.
    async fn delete_group(&self, name: &str) -> anyhow::Result<()> {
        let begun = Instant::now();
        while self.read_group(name).await?.is_some() {
            // What was not deleted is read again.
            if let Err(error) = self.client.delete_group(name).await {
                let is_late = begun.elapsed() > testkit::patience();
                anyhow::ensure!(!is_late, "group {name} can't be deleted: {error}");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
        Ok(())
    }
}

fn to_outcome<T>(result: &Result<T, Error>, refusal: &str) -> RivalOutcome {
    match result {
        Ok(_) => RivalOutcome::Accepted,
        Err(error) if error.code() == refusal => RivalOutcome::Refused,
        Err(_) => RivalOutcome::Unknown,
    }
}

/// Whether a server has refused a request for certain, and for another reason than the other request. What is refused for a moment is not.
fn is_refused_otherwise(error: &Error, refusal: &str) -> bool {
    let is_final = |status: u16| (400..500).contains(&status) && !matches!(status, 408 | 429);
    let is_awaited = error.code() == "RequestInProgress";
    error.code() != refusal && !is_awaited && error.problem().is_some_and(|problem| is_final(problem.status))
}

#[cfg(test)]
mod tests {
    use wire::{Error, Problem};

    use super::{RivalOutcome, RivalResults, is_refused_otherwise};

    #[test]
    fn a_refusal_for_another_reason_than_the_other_request_violates_the_rule() {
        for (status, code, is_otherwise) in [
            (409, "AlreadyExists", false),
            (409, "RequestInProgress", false),
            (408, "Timeout", false),
            (429, "RateLimited", false),
            (503, "DatabaseUnavailable", false),
            (422, "Invalid", true),
            (403, "Forbidden", true),
        ] {
            let error = Error::Rejected(Box::new(Problem::new(status, code, "t", "d")));
            assert_eq!(is_refused_otherwise(&error, "AlreadyExists"), is_otherwise, "{code}");
        }
    }

    #[test]
    fn two_rivals_that_are_both_accepted_or_both_refused_violate_the_rule() {
        use RivalOutcome::{Accepted, Refused, Unknown};
        for (outcomes, holds) in [
            ([Accepted, Refused], true),
            ([Refused, Accepted], true),
            ([Accepted, Unknown], true),
            ([Refused, Unknown], true),
            ([Unknown, Unknown], true),
            ([Accepted, Accepted], false),
            ([Refused, Refused], false),
        ] {
            let mut results = RivalResults::default();
            let is_accepted = results.check_rivals("names", outcomes);
            assert_eq!(results.violations.is_empty(), holds, "{outcomes:?}");
            assert_eq!(is_accepted, outcomes.contains(&Accepted), "{outcomes:?}");
        }
    }
}
