//! OCI artifacts as a source. They are read with the settings and credentials of the registries that charts come from, and from then on
//! are handled as commits: the digest of the manifest is pinned, and its content is stored.

use std::cmp::Reverse;

use domain::Finding;
use source::git::ArtifactFiles;
use source::repository::{Repository, RepositoryError, RepositoryErrorKind, RepositoryOptions};
use source::retained_memory::run_with_memory;

use super::fetch::{PathsRead, read_paths};
use super::{read_refs, rejected, waiting};
use crate::chart::RenderingFailure;
use crate::chart_repository::to_source;
use crate::fair_queue::QueuePlace;
use crate::{Error, Hub};

impl Hub {
    /// The digest of the manifest that a tag refers to now; an empty tag is `latest`.
    pub(super) async fn resolve_artifact_tag(
        &self,
        url: &str,
        tag: &str,
        place: QueuePlace,
    ) -> Result<Result<String, RenderingFailure>, Error> {
        let client = match self.repository_client() {
            Ok(client) => client,
            Err(failure) => return Ok(Err(waiting(failure.message, failure.hint))),
        };
        let repository = match self.find_artifact_repository(url).await? {
            Ok(repository) => repository,
            Err(failure) => return Ok(Err(failure)),
        };
        let tag = if tag.is_empty() { domain::remote::DEFAULT_TAG } else { tag };
        let resolved = read_refs(url, place, Box::pin(client.resolve_artifact(&repository, tag))).await;
        Ok(resolved.and_then(|resolved| match resolved {
            Ok(digest) => Ok(digest.to_string()),
            Err(error) => Err(to_failure(error)),
        }))
    }

    /// The artifact with this manifest at each of these paths.
    pub(super) async fn read_artifact(
        &self,
        url: &str,
        digest: &str,
        paths: &[String],
    ) -> Result<PathsRead, Error> {
        let client = match self.repository_client() {
            Ok(client) => client,
            Err(failure) => return Ok(Err(waiting(failure.message, failure.hint))),
        };
        let repository = match self.find_artifact_repository(url).await? {
            Ok(repository) => repository,
            Err(failure) => return Ok(Err(failure)),
        };
        let (fetched, memory) = match client.fetch_artifact(&repository, digest).await {
            Ok(fetched) => fetched,
            Err(error) => return Ok(Err(to_failure(error))),
        };
        let artifact = ArtifactFiles::from(fetched);
        let (details, archive) = (artifact.details().clone(), artifact.archive().to_string());
        // Ends with the artifact. What is copied waits for a renderer, where others reserve memory of the same budget.
        let mut read = run_with_memory(memory, read_paths(artifact, paths)).await?;
        for snapshot in read.iter_mut().filter_map(|(_, snapshot)| snapshot.as_mut().ok()) {
            snapshot.tree.clone_from(&archive);
        }
        Ok(Ok((details, read)))
    }

    /// The artifact with the credentials of the project's chart repository at the longest path above it; without credentials if there is
    /// none.
    async fn find_artifact_repository(
        &self,
        url: &str,
    ) -> Result<Result<Repository, RenderingFailure>, Error> {
        let mut tx = self.read().await?;
        let mut rows = store::chart_repository::list(&mut tx, self.project()).await?;
        drop(tx);
        rows.sort_by_key(|row| Reverse(row.url.len()));
        let mut known = rows.iter().filter_map(|row| {
            let repository = to_source(row).ok()?;
            Some((row, repository.identity(), repository.at_path_below(url)?))
        });
        if let Some((row, identity, repository)) = known.next() {
            let same_url = known.find(|(_, other, _)| *other == identity);
            return Ok(match same_url {
                Some((other, ..)) => Err(ambiguous(&row.name, &other.name, &row.url)),
                None => Ok(repository),
            });
        }
        let options = RepositoryOptions { url, ..RepositoryOptions::default() };
        Ok(Repository::new(options).map_err(|error| {
            let hint = "Write oci://REGISTRY/PATH of the artifact.";
            rejected(Finding::error("G121", error.to_string(), hint).with_path("/source/repository"))
        }))
    }
}

/// Earlier releases accepted several repositories with one URL: none of them decides which credentials are sent.
fn ambiguous(one: &str, other: &str, url: &str) -> RenderingFailure {
    let message = format!(
        "Chart repositories {one:?} and {other:?} both have the URL {url}, so its credentials are not known."
    );
    let hint = "Remove one of them: flotilla chart repo remove NAME, or page Charts.";
    rejected(Finding::error("G121", message, hint).with_path("/source/repository"))
}

fn to_failure(error: RepositoryError) -> RenderingFailure {
    let RepositoryError { kind, message, hint } = error;
    let is_temporary = matches!(
        kind,
        RepositoryErrorKind::Unreachable
            | RepositoryErrorKind::ServerBusy
            | RepositoryErrorKind::Unauthorized
            | RepositoryErrorKind::NotAllowed
    );
    if is_temporary {
        return waiting(message, format!("{hint} It is tried again."));
    }
    rejected(Finding::error("G121", message, hint).with_path("/source/repository"))
}
