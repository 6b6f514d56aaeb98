//! OCI artifacts with manifests, a chart or a kustomization: one archive, pushed by `oras push`, `flux push artifact` or `helm push`.

use std::collections::BTreeMap;

use domain::Digest;

use super::RepositoryClient;
use super::error::{RepositoryError, RepositoryErrorKind, shorten};
use super::location::{Location, Repository};
use super::oci::{ARCHIVE_TYPE, Descriptor, OciManifest};
use crate::archive::{read_files, reserve_memory};
use crate::client_shares::ClientReservation;

/// Media types of the layer with the archive: of Helm, of Flux, and of an image layer, which `oras push` gives to a folder.
const LAYER_TYPES: [&str; 4] = [
    ARCHIVE_TYPE,
    "application/vnd.cncf.flux.content.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/tar+gzip",
];

/// A fetched artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedArtifact {
    /// The digest of its manifest, by which the artifact is pinned.
    pub digest: Digest,
    /// The digest of its archive.
    pub archive: Digest,
    /// The annotations of its manifest that describe an image, cut.
    pub annotations: BTreeMap<String, String>,
    /// The files by their path; those of a packed chart below its folder.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl RepositoryClient {
    /// The digest of the manifest that a tag refers to now.
    ///
    /// # Errors
    /// The registry can't be read, or has no such tag.
    pub async fn resolve_artifact(
        &self,
        repository: &Repository,
        reference: &str,
    ) -> Result<Digest, RepositoryError> {
        let found = locate(repository, reference)?;
        let origin = shown(&found.shown, reference);
        let (digest, _) = self.open_session(&found, self.scope(repository)).fetch_manifest(&origin).await?;
        Ok(digest)
    }

    /// The files of an artifact, with the memory that is reserved for them: retain it until the files at the paths are copied from them, and
    /// not longer. The copies wait for a renderer, and what renders a chart reserves memory of the same budget.
    ///
    /// # Errors
    /// The registry does not have it, a digest differs, it has not exactly one archive, or the archive is refused, with the entry named.
    pub async fn fetch_artifact(
        &self,
        repository: &Repository,
        reference: &str,
    ) -> Result<(FetchedArtifact, ClientReservation), RepositoryError> {
        let found = locate(repository, reference)?;
        let origin = shown(&found.shown, reference);
        let mut session = self.open_session(&found, self.scope(repository));
        let (digest, OciManifest { layers, annotations, .. }) = session.fetch_manifest(&origin).await?;
        let layer = find_layer(layers, &origin)?;
        let (published, archive, received) = session.fetch_layer(&layer, &origin).await?;
        let memory = reserve_memory(archive.len()).await?;
        let expected = published.clone();
        let read = tokio::task::spawn_blocking(move || {
            let computed = Digest::compute(&archive);
            // Another archive than the one that is named is not read.
            let files = (computed == expected).then(|| read_files(&archive));
            drop((archive, received));
            (computed, files, memory)
        });
        let (computed, files, memory) = read.await.map_err(|error| RepositoryError::from_task(&error))?;
        let Some(files) = files else {
            return Err(RepositoryError::new(
                RepositoryErrorKind::DigestMismatch,
                format!(
                    "The archive of {origin} has the digest {computed}, but its manifest names {published}."
                ),
                "Try again; if it fails again, tell the maintainers of the registry.",
            ));
        };
        let files = files.map_err(|rejected| RepositoryError {
            kind: RepositoryErrorKind::RejectedArchive,
            message: format!("{origin}: {rejected}"),
            hint: "Push plain files, for example: oras push REGISTRY/PATH:TAG FOLDER/".to_owned(),
        })?;
        Ok((FetchedArtifact { digest, archive: published, annotations, files }, memory))
    }
}

fn locate(
    repository: &Repository,
    reference: &str,
) -> Result<super::location::OciReference, RepositoryError> {
    let unusable = |message: String| {
        let hint = "Write oci://REGISTRY/PATH of the artifact.";
        RepositoryError::new(RepositoryErrorKind::Unsupported, message, hint)
    };
    match &repository.location {
        Location::Oci(registry) => registry.artifact(reference).map_err(|error| unusable(error.to_string())),
        Location::Http(url) => Err(unusable(format!("{url} is no registry of OCI artifacts."))),
    }
}

/// The artifact for messages.
fn shown(repository: &str, reference: &str) -> String {
    let separator = if reference.contains(':') { '@' } else { ':' };
    format!("{repository}{separator}{reference}")
}

/// The layer with the archive. Several layers would depend on their order.
fn find_layer(layers: Vec<Descriptor>, origin: &str) -> Result<Descriptor, RepositoryError> {
    let is_archive = |layer: &Descriptor| LAYER_TYPES.contains(&&*layer.media_type);
    let (mut archives, others): (Vec<_>, Vec<_>) = layers.into_iter().partition(is_archive);
    let found = match (archives.pop(), archives.is_empty()) {
        (Some(layer), true) => return Ok(layer),
        (Some(_), false) => "several archives".to_owned(),
        (None, _) if others.is_empty() => "no layer".to_owned(),
        (None, _) => {
            let types: Vec<&str> = others.iter().map(|layer| &*layer.media_type).collect();
            format!("only layers of the types {:?}", shorten(&types.join(", ")))
        }
    };
    Err(RepositoryError::new(
        RepositoryErrorKind::InvalidResponse,
        format!("{origin} has {found}, and not one packed folder."),
        "Push one folder, for example: oras push REGISTRY/PATH:TAG FOLDER/, flux push artifact, or helm push.",
    ))
}
