//! One run of a scenario: its servers, its names, and the outcomes of its requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use domain::cluster::{Cluster, ClusterKind};
use domain::placement::{ClusterGroup, Placement, Predicate};
use domain::request::RemovalOptions;
use domain::workload::{NewWorkload, Source, SourceFile, Workload, WorkloadSpec};
use hub::{Actor, Authority, Error, Hub, NewCluster};
use parking_lot::Mutex;

/// How often a scenario looks whether the loops have done what it waits for.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How many requests had each outcome, by scenario and code of the error. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub struct Outcomes(Arc<Mutex<OutcomeCounts>>);

#[derive(Debug, Default)]
struct OutcomeCounts {
    counts: BTreeMap<(&'static str, &'static str), u64>,
    server_errors: Vec<String>,
}

impl Outcomes {
    /// Counts the outcome of a request.
    pub fn count<T>(&self, scenario: &'static str, result: &Result<T, Error>) {
        let mut outcomes = self.0.lock();
        let code = result.as_ref().map_or_else(Error::code, |_| "Accepted");
        *outcomes.counts.entry((scenario, code)).or_default() += 1;
        if let Err(error) = result
            && is_server_error(error)
        {
            outcomes.server_errors.push(format!("{scenario}: {error:?}"));
        }
    }

    /// One line per scenario.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: BTreeMap<&'static str, String> = BTreeMap::new();
        for ((scenario, code), count) in &self.0.lock().counts {
            let line = lines.entry(*scenario).or_insert_with(|| format!("{scenario:<24}"));
            line.push_str(&format!(" {code} {count}"));
        }
        lines.into_values().collect()
    }

    /// What the REST API would have answered with a status of 500 or above.
    pub fn server_errors(&self) -> Vec<String> {
        self.0.lock().server_errors.clone()
    }
}

/// Whether the REST API answers this with a status of 500 or above (`server/src/problem.rs`).
const fn is_server_error(error: &Error) -> bool {
    matches!(
        error,
        Error::ServerBusy { .. }
            | Error::BeingRestored { .. }
            | Error::DatabaseUnavailable(..)
            | Error::CommitOutcomeUnknown(_)
            | Error::Unreadable { .. }
            | Error::Internal(_)
    )
}

/// One run of a scenario. Its names are its own, so that scenarios run beside each other.
pub struct Race {
    /// The server of the first request.
    pub one: Hub,
    /// The server of the second request; the same one if there is one server.
    pub other: Hub,
    /// Who sends the requests.
    pub actor: Actor,
    /// Issues the certificates of agents.
    pub authority: Arc<Authority>,
    /// Name of the scenario.
    pub scenario: &'static str,
    /// Number of the round, from 0.
    pub round: usize,
    /// How much later the second request begins.
    pub delay: Duration,
    /// The counts of the whole run.
    pub outcomes: Outcomes,
}

impl Race {
    /// A name that no other scenario and no other round uses.
    pub fn name(&self, part: &str) -> String {
        format!("{part}-{}-{}", self.scenario, self.round)
    }

    /// Sends two requests at once, the second one with the delay of this round, and counts their outcomes.
    pub fn send_both<A, B>(
        &self,
        first: impl Future<Output = Result<A, Error>>,
        second: impl Future<Output = Result<B, Error>>,
    ) -> impl Future<Output = (Result<A, Error>, Result<B, Error>)> {
        let (first, second) = (Box::pin(first), Box::pin(second));
        async move {
            let delayed = async {
                tokio::time::sleep(self.delay).await;
                second.await
            };
            let (first, second) = tokio::join!(first, delayed);
            self.outcomes.count(self.scenario, &first);
            self.outcomes.count(self.scenario, &second);
            (first, second)
        }
    }

    /// Sends two requests of which one is accepted; returns the error of the other one.
    pub fn send_rivals<A, B>(
        &self,
        first: impl Future<Output = Result<A, Error>>,
        second: impl Future<Output = Result<B, Error>>,
    ) -> impl Future<Output = anyhow::Result<Error>> {
        let sent = Box::pin(self.send_both(first, second));
        async move {
            match sent.await {
                (Ok(_), Err(refused)) | (Err(refused), Ok(_)) => Ok(refused),
                (Ok(_), Ok(_)) => bail!("both requests were accepted"),
                (Err(first), Err(second)) => bail!("both requests were refused: {first:?}; {second:?}"),
            }
        }
    }

    /// A cluster without an agent.
    pub async fn create_cluster(&self, part: &str) -> anyhow::Result<Cluster> {
        let new = NewCluster { lease_seconds: 600, ..NewCluster::new(&self.name(part), ClusterKind::Agent) };
        Ok(self.one.register_cluster(&self.actor, new).await?)
    }

    /// A group with this cluster.
    pub async fn create_group(&self, part: &str, member: &str) -> anyhow::Result<ClusterGroup> {
        let members = vec![member.to_owned()];
        let group = ClusterGroup { name: self.name(part), members, ..ClusterGroup::default() };
        Ok(self.one.create_group(&self.actor, group).await?)
    }

    /// The draft of a workload on this cluster.
    pub async fn create_draft(&self, part: &str, text: String, cluster: &str) -> anyhow::Result<Workload> {
        let new = NewWorkload {
            name: self.name(part),
            spec: spec_on_cluster(text, cluster),
            ..NewWorkload::default()
        };
        Ok(self.one.create_workload(&self.actor, new).await?)
    }

    /// Waits until the loops have done something.
    pub async fn wait_until(
        &self,
        what: &str,
        is_done: impl AsyncFn() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let begun = tokio::time::Instant::now();
        while !is_done().await.with_context(|| what.to_owned())? {
            anyhow::ensure!(begun.elapsed() < testkit::patience(), "timed out: {what}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Deletes what a round has created, so that the placer has the same work in each. The deletions race with the loops too.
    ///
    /// # Errors
    /// Something is left.
    pub async fn clean_up(&self, workloads: &[&str], clusters: &[&str]) -> anyhow::Result<()> {
        let removal = RemovalOptions { force: true, ..RemovalOptions::default() };
        for part in workloads {
            let name = self.name(part);
            let delete =
                async || Box::pin(self.other.delete_workload(&self.actor, &name, removal)).await.map(drop);
            self.delete(&name, delete).await?;
        }
        for part in clusters {
            let name = self.name(part);
            let delete = async || Box::pin(self.one.delete_cluster(&self.actor, &name, true)).await;
            self.delete(&name, delete).await?;
        }
        Ok(())
    }

    /// Deletes groups once nothing uses them: the placer deletes the workloads of [`Race::clean_up`] first.
    ///
    /// # Errors
    /// One is left.
    pub async fn clean_up_groups(&self, groups: &[&str]) -> anyhow::Result<()> {
        for part in groups {
            let name = self.name(part);
            self.delete(&name, async || Box::pin(self.one.delete_group(&self.actor, &name)).await).await?;
        }
        Ok(())
    }

    /// Deletes something, and repeats that while something that the loops delete uses it. What does not exist was deleted by the scenario,
    /// or was never created.
    ///
    /// # Errors
    /// It is left.
    pub async fn delete(
        &self,
        name: &str,
        delete: impl AsyncFn() -> Result<(), Error>,
    ) -> anyhow::Result<()> {
        let begun = tokio::time::Instant::now();
        let mut deleted = delete().await;
        while matches!(deleted, Err(Error::FailedPrecondition(_))) && begun.elapsed() < testkit::patience() {
            tokio::time::sleep(POLL_INTERVAL).await;
            deleted = delete().await;
        }
        self.outcomes.count("clean-up", &deleted);
        match deleted {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("{name} was not deleted")),
        }
    }
}

/// A workload with these manifests on one cluster.
pub fn spec_on_cluster(text: String, cluster: &str) -> WorkloadSpec {
    let predicate = Predicate { names: vec![cluster.to_owned()], ..Predicate::default() };
    WorkloadSpec {
        namespace: "shop".to_owned(),
        source: Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text }] },
        placement: Placement { predicates: vec![predicate], ..Placement::default() },
        ..WorkloadSpec::default()
    }
}

/// A ConfigMap of this name.
pub fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

#[cfg(test)]
mod tests {
    use hub::Error;

    use super::Outcomes;

    #[test]
    fn errors_of_the_server_are_listed_and_refusals_are_only_counted() {
        let outcomes = Outcomes::default();
        outcomes.count("names", &Ok::<_, Error>(()));
        outcomes.count("names", &Err::<(), _>(Error::AlreadyExists("web exists.".to_owned())));
        assert_eq!(outcomes.server_errors(), Vec::<String>::new());
        outcomes.count("names", &Err::<(), _>(Error::Internal("lost".into())));
        assert_eq!(outcomes.server_errors().len(), 1);
        let line = format!("{:<24} Accepted 1 AlreadyExists 1 Internal 1", "names");
        assert_eq!(outcomes.lines(), [line]);
    }
}
