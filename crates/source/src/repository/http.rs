//! Repositories on HTTP servers: `index.yaml`, and archives at the URLs that it names.

use egress::{CacheValidators, EgressPolicy, FetchRequest, ResponseStream, StatusCode, Url};

use super::error::{RepositoryError, RepositoryErrorKind, shorten};
use super::index::{MAX_INDEX_BYTES, RepositoryIndex, RepositoryVersion, estimate_memory};
use super::location::OciRegistry;
use super::{ChartRequest, FetchScope, FetchedArchive, MAX_REDIRECTS, RepositoryClient};
use crate::archive::MAX_ARCHIVE_BYTES;
use crate::client_shares::{ClientReservation, FILES_OF_USERS, INDEXES_OF_USERS};
use crate::requester::current_turn;
use crate::reserved_body::read_reserved;

impl RepositoryClient {
    pub(super) async fn fetch_http_index(
        &self,
        repository: &Url,
        scope: FetchScope<'_>,
    ) -> Result<ReservedIndex, RepositoryError> {
        match self.fetch_changed_http_index(repository, scope, None).await? {
            Some((index, _)) => Ok(index),
            None => Err(RepositoryError::invalid(format!(
                "{repository}index.yaml responds that it is unchanged."
            ))),
        }
    }

    /// The index with its validators; `None` if it is the one with these validators.
    pub(super) async fn fetch_changed_http_index(
        &self,
        repository: &Url,
        scope: FetchScope<'_>,
        validators: Option<&CacheValidators>,
    ) -> Result<Option<(ReservedIndex, CacheValidators)>, RepositoryError> {
        let url = join(repository, "index.yaml")?;
        let request = FetchRequest {
            url,
            policy: scope.policy,
            accept: "",
            credentials: scope.credentials,
            validators,
            max_bytes: MAX_INDEX_BYTES,
            max_redirects: MAX_REDIRECTS,
            headers: Vec::new(),
            body: None,
        };
        let response = self.egress.open(request).await?;
        if response.status() == StatusCode::NOT_MODIFIED && validators.is_some() {
            return Ok(None);
        }
        let validators = CacheValidators::from_headers(response.headers());
        let (repository, policy) = (repository.clone(), response.policy());
        let (body, received) = read_success(response, "the index").await?;
        let memory = INDEXES_OF_USERS.reserve_in_full(current_turn(), estimate_memory(&body)).await?;
        let parsed = tokio::task::spawn_blocking(move || {
            let index = RepositoryIndex::parse(&body, repository, policy);
            drop((body, received));
            index.map(|index| ReservedIndex { index, memory })
        });
        let index = parsed.await.map_err(|error| RepositoryError::from_task(&error))??;
        Ok(Some((index, validators)))
    }

    pub(super) async fn fetch_http_chart(
        &self,
        repository: &Url,
        scope: FetchScope<'_>,
        chart: &ChartRequest<'_>,
    ) -> Result<FetchedArchive, RepositoryError> {
        // Neither the index is in memory while the archive arrives, nor is memory reserved for it.
        let (version, index) = self.fetch_http_index(repository, scope).await?.take_version(chart)?;
        if let Some(rest) = version.location.strip_prefix("oci://") {
            return self.fetch_indexed_oci_chart(&index, &version, rest).await;
        }
        let url = join(&index.url, &version.location)?;
        // The query of a URL can contain a signature.
        let origin = shorten(url.as_str().split(['?', '#']).next().unwrap_or_default());
        let request = FetchRequest {
            // The user trusts the origin of the repository; other URLs were chosen by it.
            policy: if url.origin() == index.url.origin() { scope.policy } else { index.policy },
            url,
            accept: "",
            credentials: scope.credentials,
            validators: None,
            max_bytes: MAX_ARCHIVE_BYTES,
            max_redirects: MAX_REDIRECTS,
            headers: Vec::new(),
            body: None,
        };
        let response = self.egress.open(request).await?;
        let (archive, received) = read_success(response, "the chart").await?;
        Ok(FetchedArchive { archive, received, origin, published: version.digest })
    }

    /// An archive that the index names in a registry. The credentials of the repository are not for that registry.
    async fn fetch_indexed_oci_chart(
        &self,
        index: &IndexOrigin,
        version: &RepositoryVersion,
        reference: &str,
    ) -> Result<FetchedArchive, RepositoryError> {
        let invalid = || {
            RepositoryError::invalid(format!(
                "The index names an archive oci://{}, which is not valid.",
                shorten(reference)
            ))
        };
        // The tag is that of the version: it is at the end, after the name of the chart.
        let (path, name) = reference.rsplit_once('/').ok_or_else(invalid)?;
        let name = name.split(':').next().unwrap_or_default();
        let registry = OciRegistry::parse(path, index.url.scheme() == "http").map_err(|_| invalid())?;
        let chart = registry.chart(name, Some(version.version.as_str()))?;
        let fetched =
            self.fetch_oci_chart(&chart, FetchScope { policy: index.policy, credentials: None }).await?;
        Ok(FetchedArchive { published: version.digest.clone().or(fetched.published), ..fetched })
    }
}

/// An index with the memory that is reserved for it as long as it is needed.
pub(super) struct ReservedIndex {
    index: RepositoryIndex,
    memory: ClientReservation,
}

impl ReservedIndex {
    /// The index, without its memory: for what uses it at once and waits for nothing meanwhile.
    pub(super) fn into_index(self) -> RepositoryIndex {
        drop(self.memory);
        self.index
    }

    /// One version of a chart; of the index remains where it is from.
    fn take_version(
        self,
        chart: &ChartRequest<'_>,
    ) -> Result<(RepositoryVersion, IndexOrigin), RepositoryError> {
        let Self { index, memory: _memory } = self;
        let version = index.find(chart.name, chart.version)?.clone();
        Ok((version, IndexOrigin { url: index.url, policy: index.policy }))
    }
}

/// Where an index is from, and the policy for the URLs in it.
struct IndexOrigin {
    url: Url,
    policy: EgressPolicy,
}

/// The body of a response, with the memory that is reserved for it while it arrives. `what` names it. Nothing is received of an error: it
/// needs no body, and a server that sends it slowly would hide the status.
pub(super) async fn read_success(
    mut response: ResponseStream,
    what: &str,
) -> Result<(Vec<u8>, ClientReservation), RepositoryError> {
    if !response.status().is_success() {
        return Err(RepositoryError::from_status(response.status(), response.url(), what));
    }
    read_reserved(&mut response, &FILES_OF_USERS).await
}

/// A URL relative to the repository.
fn join(repository: &Url, location: &str) -> Result<Url, RepositoryError> {
    repository.join(location.trim()).map_err(|_| {
        let message = format!("The index names {:?}, which is no URL.", shorten(location));
        RepositoryError::new(
            RepositoryErrorKind::InvalidResponse,
            message,
            "Tell the maintainers of the repository.",
        )
    })
}
