//! Charts of the project: uploads, fetches from repositories, lists, and the renderings made by Helm.

use domain::Finding;
use domain::chart::{ChartRef, ChartSource, ChartVersion, LOCAL_REPOSITORY};
use domain::chart_repository::is_same_version;
use domain::nearest::find_nearest;
use domain::release::Reason;
use store::Tx;

use crate::manifests::RenderWait;
use crate::{Error, Hub};

mod byte_cache;
mod catalog;
mod delete;
mod describe;
mod failure;
mod fetch;
mod list;
mod pin;
mod rendering;
mod secret_marks;
mod upload;
mod values_check;

pub(crate) use fetch::ChartFetcher;
#[cfg(test)]
pub(crate) use rendering::store_rendering;
pub(crate) use rendering::{
    ChartRenderer, RenderingFailure, ReservedInputs, SharedRendering, accept_rendering, too_many_renderings,
};
pub(crate) use upload::{read_chart, rejected_archive};

/// A chart that the project has.
pub(crate) struct StoredChart {
    /// Which one.
    pub version: ChartVersion,
    /// Why its archive is not there any more. What was rendered from it before is still used.
    pub lost: Option<RenderingFailure>,
}

impl StoredChart {
    /// One whose archive is there.
    pub fn with_archive(version: ChartVersion) -> Self {
        Self { version, lost: None }
    }

    /// The chart, to read its archive.
    fn into_version(self) -> Result<ChartVersion, RenderingFailure> {
        self.lost.map_or(Ok(self.version), Err)
    }
}

impl Hub {
    /// The chart that a source names, fetched from its repository if its archive is not stored, or why that is not there.
    pub(crate) async fn load_source_chart(
        &self,
        source: &ChartSource,
        wait: RenderWait,
    ) -> Result<Result<ChartVersion, RenderingFailure>, Error> {
        Ok(self.find_source_chart(source, wait).await?.and_then(StoredChart::into_version))
    }

    /// The same; a chart whose archive is lost is there, too.
    pub(crate) async fn find_source_chart(
        &self,
        source: &ChartSource,
        wait: RenderWait,
    ) -> Result<Result<StoredChart, RenderingFailure>, Error> {
        let missing = |findings| RenderingFailure { findings, reason: Reason::RenderFailed };
        // The static checks report a missing reference or version.
        let Some(reference) = source.reference() else { return Ok(Err(missing(Vec::new()))) };
        if source.version.is_empty() {
            let unknown = self.find_unknown_chart(source).await?;
            return Ok(Err(missing(unknown.into_iter().collect())));
        }
        if let Some(chart) = self.find_stored_chart(reference, &source.version).await? {
            return Ok(Ok(self.restore_archive(chart, wait).await?));
        }
        if reference.repository != LOCAL_REPOSITORY
            && let Some(repository) = self.find_repository(reference.repository).await?
        {
            let fetched = self.fetch_within(&repository, reference.name, &source.version, wait).await;
            return Ok(fetched.map(StoredChart::with_archive));
        }
        let mut tx = self.read().await?;
        Ok(Err(missing(vec![self.missing_chart_finding(&mut tx, source).await?])))
    }

    /// Fetches the archive of a stored chart again if its bytes are lost and it has a repository.
    async fn restore_archive(&self, chart: ChartVersion, wait: RenderWait) -> Result<StoredChart, Error> {
        let mut tx = self.read().await?;
        if store::artifact::exists(&mut tx, &chart.digest).await? {
            return Ok(StoredChart::with_archive(chart));
        }
        drop(tx);
        let repository = match chart.repository.as_str() {
            LOCAL_REPOSITORY => None,
            name => self.find_repository(name).await?,
        };
        let fetched = match repository {
            Some(repository) => self.fetch_within(&repository, &chart.name, &chart.version, wait).await,
            None => Err(lost_archive(&chart)),
        };
        let failure = match fetched {
            Ok(fetched) => return Ok(StoredChart::with_archive(fetched)),
            Err(failure) => failure,
        };
        let why = failure.findings.first().map_or("", |finding| finding.message.as_str());
        tracing::warn!(
            chart = %chart.reference(),
            version = %chart.version,
            why,
            "the lost archive of a chart can't be fetched again"
        );
        Ok(StoredChart { version: chart, lost: Some(failure) })
    }

    /// Locks the chart of a source, or the repository that it is fetched from, until the transaction ends: call it before a workload is
    /// locked.
    ///
    /// # Errors
    /// Both were deleted.
    pub(crate) async fn lock_source_chart(&self, tx: &mut Tx, source: &ChartSource) -> Result<(), Error> {
        let Some(ChartRef { repository, name }) = source.reference() else { return Ok(()) };
        let has_repository = repository != LOCAL_REPOSITORY
            && store::chart_repository::share(tx, self.project(), repository).await?;
        let stored = store::chart::share_versions(tx, self.project(), repository, name).await?;
        if has_repository || stored.iter().any(|version| is_same_version(version, &source.version)) {
            return Ok(());
        }
        Err(Error::not_found("chart", format!("{} {}", source.chart, source.version)))
    }

    /// A version of a chart that is stored, with or without a leading `v`.
    pub(crate) async fn find_stored_chart(
        &self,
        reference: ChartRef<'_>,
        version: &str,
    ) -> Result<Option<ChartVersion>, Error> {
        let ChartRef { repository, name } = reference;
        let mut tx = self.read().await?;
        if let Some(chart) = store::chart::get(&mut tx, self.project(), repository, name, version).await? {
            return Ok(Some(chart));
        }
        let other = version.strip_prefix('v').map_or_else(|| format!("v{version}"), str::to_owned);
        Ok(store::chart::get(&mut tx, self.project(), repository, name, &other).await?)
    }

    /// G112: the project has no version of this chart, and no repository of it.
    async fn find_unknown_chart(&self, source: &ChartSource) -> Result<Option<Finding>, Error> {
        let repository = source.reference().map_or("", |reference| reference.repository);
        if repository != LOCAL_REPOSITORY && self.find_repository(repository).await?.is_some() {
            return Ok(None);
        }
        let mut tx = self.read().await?;
        let finding = self.missing_chart_finding(&mut tx, source).await?;
        Ok(Some(finding).filter(|finding| finding.path == "/source/chart"))
    }

    /// G112: the project does not have this version of this chart.
    async fn missing_chart_finding(&self, tx: &mut Tx, source: &ChartSource) -> Result<Finding, Error> {
        let charts = store::chart::list(tx, self.project(), None, 1_000).await?;
        let versions: Vec<&str> = charts
            .iter()
            .filter(|chart| chart.reference() == source.chart)
            .map(|chart| chart.version.as_str())
            .collect();
        let finding = if versions.is_empty() {
            let references: Vec<String> = charts.iter().map(ChartVersion::reference).collect();
            let hint = match find_nearest(&source.chart, references.iter().map(String::as_str)) {
                Some(near) => format!("Did you mean {near:?}?"),
                None => "Upload it with `flotilla chart push FILE.tgz`, or add its repository with `flotilla chart repo add`."
                    .to_owned(),
            };
            Finding::error("G112", format!("There is no chart {:?} in this project.", source.chart), hint)
                .with_path("/source/chart")
        } else {
            let message =
                format!("Chart {:?} has no version {:?} in this project.", source.chart, source.version);
            let shown: Vec<&str> = versions.iter().copied().take(5).collect();
            Finding::error("G112", message, format!("It has {}.", shown.join(", ")))
                .with_path("/source/version")
        };
        Ok(finding)
    }
}

/// The archive is lost, and no repository has it.
fn lost_archive(chart: &ChartVersion) -> RenderingFailure {
    let message = format!(
        "The server has lost the archive of {} {} ({}), and no repository to fetch it from.",
        chart.reference(),
        chart.version,
        chart.digest.short()
    );
    let hint = "Upload the same archive again, or restore its row of the table artifact from a backup. It is rendered within five minutes after that.";
    RenderingFailure {
        findings: vec![Finding::error("G112", message, hint).with_path("/source/version")],
        reason: Reason::WaitingForArtifact,
    }
}
