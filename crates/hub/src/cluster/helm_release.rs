//! Installed Helm releases: read on a cluster by its agent, and adopted by a new workload with the same chart and values.

use std::time::Duration;

use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::chart::ChartSource;
use domain::cluster::Connectivity;
use domain::helm_release::{
    HelmReleaseAdoption, HelmReleaseDetails, HelmReleaseReading, HelmReleaseRequest, InstalledHelmRelease,
};
use domain::placement::{Placement, Predicate};
use domain::policy::{HelmReleasePolicy, Policies};
use domain::workload::{NewWorkload, Source, Workload, WorkloadSpec};
use domain::{ClusterId, Finding};
use store::Tx;

use super::load_cluster;
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

/// How long a request waits for the agent.
const ANSWER_WAIT: Duration = Duration::from_secs(20);
/// How long a release is requested, also after reconnects, in milliseconds.
const REQUEST_MILLIS: i64 = 30_000;
/// Pause between two looks for an answer that another server may have received.
const POLL_PAUSE: Duration = Duration::from_millis(500);

impl Hub {
    /// What a cluster has of a Helm release, read by its agent now, and the charts of the project that it may be.
    ///
    /// # Errors
    /// There is no such cluster or release; the cluster is not connected or does not answer, so the release is unknown; or its record can't
    /// be read.
    pub async fn read_helm_release(
        &self,
        actor: &Actor,
        cluster: &str,
        namespace: &str,
        name: &str,
    ) -> Result<HelmReleaseDetails, Error> {
        actor.authorize(UserAction::AdoptHelmRelease)?;
        let installed = self.request_helm_release(cluster, namespace, name).await?;
        let charts = self.list_charts_with_version(&installed.chart.name, &installed.chart.version).await?;
        Ok(HelmReleaseDetails {
            cluster: cluster.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            revision: installed.revision,
            status: installed.status.clone(),
            chart_name: installed.chart.name.clone(),
            chart_version: installed.chart.version.clone(),
            values: format_values(&installed),
            charts,
        })
    }

    /// Creates the draft of a workload that continues an installed release: its chart, version and values, its namespace and name, placed on
    /// its cluster, with the policy to adopt it. Nothing changes on the cluster until the draft is published.
    ///
    /// # Errors
    /// As [`Hub::read_helm_release`]; it is not clear which chart of the project is meant, or the name of the workload is taken.
    pub async fn adopt_helm_release(
        &self,
        actor: &Actor,
        (cluster, namespace, name): (&str, &str, &str),
        adoption: HelmReleaseAdoption,
    ) -> Result<Workload, Error> {
        actor.authorize(UserAction::AdoptHelmRelease)?;
        let details = self.read_helm_release(actor, cluster, namespace, name).await?;
        let chart = choose_chart(&details, adoption.chart.trim())?;
        let workload = adoption.workload.trim();
        let source = ChartSource {
            chart,
            version: details.chart_version,
            release_name: details.name.clone(),
            values: details.values,
        };
        let spec = WorkloadSpec {
            namespace: details.namespace,
            source: Source::Chart(source),
            placement: Placement {
                predicates: vec![Predicate { names: vec![details.cluster], ..Predicate::default() }],
                ..Placement::default()
            },
            policies: Policies { helm_release: HelmReleasePolicy::Adopt, ..Policies::default() },
            ..WorkloadSpec::default()
        };
        let name = if workload.is_empty() { details.name } else { workload.to_owned() };
        self.create_workload(actor, NewWorkload { name, spec, ..NewWorkload::default() }).await
    }

    /// Stores what an agent found of a requested release.
    ///
    /// # Errors
    /// There is no such open request ([`Error::NotFound`]).
    pub async fn record_helm_release(
        &self,
        cluster: ClusterId,
        request: &HelmReleaseRequest,
        reading: HelmReleaseReading,
    ) -> Result<(), Error> {
        let mut tx = self.write().await?;
        if !store::helm_release_request::answer(&mut tx, cluster, request, &reading).await? {
            return Err(Error::not_found("request for a Helm release", &request.name));
        }
        self.commit(tx, CommitEffects::default()).await?;
        self.live().notify_answer();
        Ok(())
    }

    /// The open requests of a cluster, part of its desired state.
    pub(crate) async fn helm_release_requests(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
    ) -> Result<Vec<HelmReleaseRequest>, Error> {
        let since = self.clock().now().plus_millis(-REQUEST_MILLIS);
        Ok(store::helm_release_request::list_open(tx, cluster, since).await?)
    }

    async fn request_helm_release(
        &self,
        cluster_name: &str,
        namespace: &str,
        name: &str,
    ) -> Result<InstalledHelmRelease, Error> {
        if !domain::name::is_label(namespace) || !domain::name::is_subdomain(name) {
            return Err(Error::not_found("Helm release", format!("{namespace}/{name}")));
        }
        let mut tx = self.write().await?;
        let cluster = load_cluster(&mut tx, cluster_name).await?;
        if cluster.release_connectivity() != Connectivity::Online {
            let why = format!(
                "{cluster_name} is not online, so its Helm releases can't be read. Try again when it is."
            );
            return Err(ActionUnavailable(why).into());
        }
        let request = HelmReleaseRequest {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            requested_at: self.clock().now(),
        };
        store::helm_release_request::put(&mut tx, cluster.id, &request).await?;
        let effects = CommitEffects { changed_clusters: vec![cluster.id], ..CommitEffects::default() };
        self.commit(tx, effects).await?;
        let reading = self.wait_for_helm_release(cluster.id, &request).await;
        // The values can contain passwords: the answer is not kept.
        let mut tx = self.write().await?;
        store::helm_release_request::delete(&mut tx, cluster.id, &request).await?;
        self.commit(tx, CommitEffects::default()).await?;
        let unavailable = |why: String| Err(ActionUnavailable(why).into());
        match reading? {
            Some(HelmReleaseReading::Found(installed)) => Ok(installed),
            Some(HelmReleaseReading::Missing) => {
                Err(Error::not_found("Helm release", format!("{namespace}/{name} on {cluster_name}")))
            }
            Some(HelmReleaseReading::Unreadable { message }) => unavailable(format!(
                "Helm release {namespace}/{name} on {cluster_name} can't be read. {message}"
            )),
            None => unavailable(format!(
                "The agent of {cluster_name} did not answer within {} s, so Helm release {namespace}/{name} is unknown. Try again; an agent \
                 that is older than the server has to be updated first.",
                ANSWER_WAIT.as_secs()
            )),
        }
    }

    async fn wait_for_helm_release(
        &self,
        cluster: ClusterId,
        request: &HelmReleaseRequest,
    ) -> Result<Option<HelmReleaseReading>, Error> {
        let deadline = tokio::time::Instant::now() + ANSWER_WAIT;
        // Subscribed before the first read, so an answer between read and wait is not missed.
        let mut answers = self.live().subscribe_answers();
        loop {
            answers.borrow_and_update();
            let mut tx = self.read().await?;
            let found = store::helm_release_request::get_reading(&mut tx, cluster, request).await?;
            drop(tx);
            if found.is_some() || tokio::time::Instant::now() >= deadline {
                return Ok(found);
            }
            let _ = tokio::time::timeout(POLL_PAUSE, answers.changed()).await;
        }
    }
}

/// The values as YAML; empty without any.
fn format_values(installed: &InstalledHelmRelease) -> String {
    let has_values = installed.values.as_object().is_some_and(|values| !values.is_empty());
    if has_values { domain::manifest::yaml_value::write(&installed.values) } else { String::new() }
}

/// The chart that a user names, or the only one with the name and version of the release.
fn choose_chart(details: &HelmReleaseDetails, named: &str) -> Result<String, Error> {
    if !named.is_empty() {
        return Ok(named.to_owned());
    }
    let HelmReleaseDetails { chart_name, chart_version, charts, .. } = details;
    let refuse = |message: String, hint: String| {
        Err(Error::Invalid(vec![Finding::error("G112", message, hint).with_path("/chart")]))
    };
    match &charts[..] {
        [only] => Ok(only.clone()),
        [] => refuse(
            format!(
                "The project has no chart {chart_name} {chart_version}, which the release was installed from."
            ),
            "Add its repository or upload it on the page Charts, or name the chart.".to_owned(),
        ),
        several => refuse(
            format!("Several charts of the project are named {chart_name} and have version {chart_version}."),
            format!("Name one of {}.", several.join(", ")),
        ),
    }
}
