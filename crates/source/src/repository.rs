//! Charts from repositories: HTTP servers with an `index.yaml`, and OCI registries.
//!
//! A repository is a server that a user chose, and so are the addresses that it names. Every request goes through [`egress`], which
//! decides by the connected address and binds credentials to their origin. What is fetched is bounded, compared with the digest
//! that the repository publishes, and returned only if it is an archive of the requested chart and version.
//!
//! Nothing is cached here: a fetched chart is stored by its digest, and an index is valid only at the moment of the request.

use std::time::Duration;

use domain::Digest;
pub use egress::{CacheValidators, EgressUnavailable};
use egress::{Credentials, EgressClient, EgressOptions, EgressPolicy, MinimumRate};

use crate::RemoteAccess;
use crate::archive::{self, ChartArchive, ChartMetadata};
use crate::client_shares::ClientReservation;

mod artifact;
mod error;
mod http;
mod index;
mod location;
mod oci;

pub use artifact::FetchedArtifact;
pub use error::{RepositoryError, RepositoryErrorKind};
pub use index::{RejectedEntry, RepositoryChart, RepositoryIndex, RepositoryVersion};
pub use location::{InvalidRepository, Login, Repository, RepositoryOptions};

/// Redirects that are followed for one file.
const MAX_REDIRECTS: usize = 3;

/// Fetches from repositories. Clones share connections.
#[derive(Debug, Clone)]
pub struct RepositoryClient {
    egress: EgressClient,
    policy: EgressPolicy,
}

/// A chart to fetch.
#[derive(Debug, Clone, Copy)]
pub struct ChartRequest<'a> {
    /// The name.
    pub name: &'a str,
    /// The version. Never a range: the newest version would change without a publish.
    pub version: &'a str,
    /// The digest that the archive must have, if it was fetched before.
    pub expected: Option<&'a Digest>,
}

/// A fetched chart.
#[derive(Debug)]
pub struct FetchedChart {
    /// The packed chart.
    pub archive: Vec<u8>,
    /// The memory that is reserved for it: retain it as long as the packed chart is in memory.
    pub received: ClientReservation,
    /// Its digest.
    pub digest: Digest,
    /// Whether the repository publishes this digest. If not, only TLS protects the content.
    pub is_digest_published: bool,
    /// What its `Chart.yaml` says.
    pub metadata: ChartMetadata,
}

impl RepositoryClient {
    /// A client without connections.
    ///
    /// # Errors
    /// There are no trusted root certificates.
    pub fn new(access: RemoteAccess) -> Result<Self, EgressUnavailable> {
        let egress = EgressClient::new(EgressOptions {
            user_agent: concat!("flotilla/", env!("CARGO_PKG_VERSION")),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            minimum_rate: MinimumRate::FILES,
            timeout: Duration::from_secs(120),
        })?;
        Ok(Self { egress, policy: access.policy() })
    }

    /// All charts of a repository.
    ///
    /// # Errors
    /// It is an OCI registry, which has no list of its charts; or the index can't be read completely.
    pub async fn fetch_index(&self, repository: &Repository) -> Result<RepositoryIndex, RepositoryError> {
        match &repository.location {
            location::Location::Http(url) => {
                Ok(self.fetch_http_index(url, self.scope(repository)).await?.into_index())
            }
            location::Location::Oci(_) => Err(RepositoryError::new(
                RepositoryErrorKind::Unsupported,
                format!("{repository} is an OCI registry, which has no list of its charts."),
                "Write the name of the chart.",
            )),
        }
    }

    /// All charts of a repository with the validators of the index; `None` if it is unchanged since the one with these
    /// validators.
    ///
    /// # Errors
    /// As [`Self::fetch_index`].
    pub async fn fetch_changed_index(
        &self,
        repository: &Repository,
        validators: Option<&CacheValidators>,
    ) -> Result<Option<(RepositoryIndex, CacheValidators)>, RepositoryError> {
        match &repository.location {
            location::Location::Http(url) => {
                let changed = self.fetch_changed_http_index(url, self.scope(repository), validators).await?;
                Ok(changed.map(|(index, validators)| (index.into_index(), validators)))
            }
            location::Location::Oci(_) => self.fetch_index(repository).await.map(|_| None),
        }
    }

    /// The versions of a chart, the newest first.
    ///
    /// # Errors
    /// The repository does not have the chart, or its list can't be read completely.
    pub async fn list_versions(
        &self,
        repository: &Repository,
        chart: &str,
    ) -> Result<Vec<RepositoryVersion>, RepositoryError> {
        match &repository.location {
            location::Location::Http(_) => {
                let index = self.fetch_index(repository).await?;
                Ok(index.versions(chart)?.to_vec())
            }
            location::Location::Oci(registry) => {
                let chart = registry.chart(chart, None)?;
                self.list_oci_versions(&chart, self.scope(repository)).await
            }
        }
    }

    /// Fetches one version of a chart and checks that it is this one.
    ///
    /// # Errors
    /// The repository does not have it, what it has is not this chart, or a digest differs.
    pub async fn fetch_chart(
        &self,
        repository: &Repository,
        request: ChartRequest<'_>,
    ) -> Result<FetchedChart, RepositoryError> {
        let scope = self.scope(repository);
        let fetched = match &repository.location {
            location::Location::Http(url) => self.fetch_http_chart(url, scope, &request).await?,
            location::Location::Oci(registry) => {
                let chart = registry.chart(request.name, Some(request.version))?;
                self.fetch_oci_chart(&chart, scope).await?
            }
        };
        fetched.check(request).await
    }

    /// The scope of a repository that a user chose.
    fn scope<'a>(&self, repository: &'a Repository) -> FetchScope<'a> {
        FetchScope { policy: self.policy, credentials: repository.credentials.as_ref() }
    }
}

/// A response that is said to be a chart.
struct FetchedArchive {
    archive: Vec<u8>,
    /// The memory that is reserved for it.
    received: ClientReservation,
    /// Where it is from, for messages.
    origin: String,
    /// The digest that the repository publishes for it.
    published: Option<Digest>,
}

impl FetchedArchive {
    async fn check(self, request: ChartRequest<'_>) -> Result<FetchedChart, RepositoryError> {
        let Self { archive, received, origin, published } = self;
        let memory = archive::reserve_memory(archive.len()).await?;
        let read = tokio::task::spawn_blocking(move || {
            let digest = Digest::compute(&archive);
            let metadata = ChartArchive::read(&archive).map(|chart| chart.metadata().clone());
            drop(memory);
            (archive, received, digest, metadata)
        });
        let (archive, received, digest, metadata) =
            read.await.map_err(|error| RepositoryError::from_task(&error))?;
        let claims = [
            ("the repository publishes", published.as_ref()),
            ("what was fetched before has", request.expected),
        ];
        for (claim, expected) in claims {
            if let Some(expected) = expected.filter(|expected| **expected != digest) {
                return Err(RepositoryError::new(
                    RepositoryErrorKind::DigestMismatch,
                    format!("{origin} has the digest {digest}, but {claim} {expected}."),
                    "A version must never change. Ask the maintainers of the repository what happened before you use it.",
                ));
            }
        }
        let metadata = metadata.map_err(|rejected| RepositoryError {
            kind: RepositoryErrorKind::RejectedArchive,
            message: format!("{origin}: {rejected}"),
            hint: rejected.hint.to_owned(),
        })?;
        if metadata.name != request.name || !index::is_same_version(&metadata.version, request.version) {
            return Err(RepositoryError::new(
                RepositoryErrorKind::InvalidResponse,
                format!(
                    "{origin} contains the chart {} {}, not {} {}.",
                    metadata.name, metadata.version, request.name, request.version
                ),
                "The repository names another file than it should. Tell its maintainers.",
            ));
        }
        Ok(FetchedChart { archive, received, digest, is_digest_published: published.is_some(), metadata })
    }
}

/// With what a server is requested.
#[derive(Debug, Clone, Copy)]
struct FetchScope<'a> {
    policy: EgressPolicy,
    credentials: Option<&'a Credentials>,
}

#[cfg(test)]
mod tests;
