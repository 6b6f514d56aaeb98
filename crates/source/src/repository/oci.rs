//! Charts in OCI registries: tags are versions, and a manifest names the archive by its digest. Other artifacts are read by
//! [`super::artifact`] with the same requests.
//!
//! Own code instead of oci-client, whose HTTP client can't be limited to permitted addresses and sizes
//! (`docs/decisions/0018-libraries-taken-and-refused.md`).

use std::collections::HashSet;

use domain::Digest;
use egress::header::{HeaderMap, LINK};
use egress::{EgressPolicy, FetchRequest, RegistrySession, ResponseStream, StatusCode, Url};

use super::error::{RepositoryError, RepositoryErrorKind, shorten};
use super::http::read_success;
use super::index::{RepositoryVersion, parse_version};
use super::location::OciReference;
use super::{FetchScope, FetchedArchive, MAX_REDIRECTS, RepositoryClient};
use crate::archive::MAX_ARCHIVE_BYTES;
use crate::client_shares::ClientReservation;

mod manifest;

use manifest::TagsPage;
pub(super) use manifest::{Descriptor, OciManifest};

/// Most tags of a chart; a longer list would be shown incompletely.
const MAX_TAGS: usize = 10_000;
/// Tags that are requested at once. Registries may return fewer.
const TAGS_PER_PAGE: usize = 1_000;
/// Most pages of tags.
const MAX_TAG_PAGES: usize = 200;
/// Most bytes of a page of tags.
const MAX_TAGS_BYTES: usize = 2 << 20;
/// Most bytes of a manifest, as the distribution specification recommends.
const MAX_MANIFEST_BYTES: usize = 4 << 20;

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE: &str = "application/vnd.cncf.helm.config.v1+json";
/// The media type of a packed chart.
pub(super) const ARCHIVE_TYPE: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
/// Header with the digest of the manifest.
const DIGEST_HEADER: &str = "docker-content-digest";

/// Requests about one chart or artifact.
pub(super) struct OciSession<'a> {
    reference: &'a OciReference,
    policy: EgressPolicy,
    session: RegistrySession<'a>,
}

impl RepositoryClient {
    pub(super) fn open_session<'a>(
        &'a self,
        reference: &'a OciReference,
        scope: FetchScope<'a>,
    ) -> OciSession<'a> {
        OciSession {
            reference,
            policy: scope.policy,
            session: RegistrySession::new(&self.egress, scope.credentials),
        }
    }

    /// The versions of a chart, the newest first. Tags that are no versions, such as those of signatures, are left out.
    pub(super) async fn list_oci_versions(
        &self,
        chart: &OciReference,
        scope: FetchScope<'_>,
    ) -> Result<Vec<RepositoryVersion>, RepositoryError> {
        let tags = self.open_session(chart, scope).list_tags().await?;
        let versions = tags.into_iter().map(|tag| tag.replace('_', "+"));
        let mut versions: Vec<_> =
            versions.filter_map(|version| Some((parse_version(&version)?, version))).collect();
        versions.sort_by(|(a, _), (b, _)| b.cmp(a));
        let version = |(_, version)| RepositoryVersion { version, ..RepositoryVersion::default() };
        Ok(versions.into_iter().map(version).collect())
    }

    /// The archive of a version.
    pub(super) async fn fetch_oci_chart(
        &self,
        chart: &OciReference,
        scope: FetchScope<'_>,
    ) -> Result<FetchedArchive, RepositoryError> {
        let mut session = self.open_session(chart, scope);
        let origin = format!("{}:{}", chart.shown, chart.tag);
        let (_, manifest) = session.fetch_manifest(&origin).await?;
        let layer = find_archive(manifest, &origin)?;
        let (digest, archive, received) = session.fetch_layer(&layer, &origin).await?;
        Ok(FetchedArchive { archive, received, origin, published: Some(digest) })
    }
}

impl OciSession<'_> {
    async fn open(
        &mut self,
        path: &str,
        accept: &str,
        max_bytes: usize,
    ) -> Result<ResponseStream, RepositoryError> {
        let url = self
            .reference
            .base
            .join(path)
            .map_err(|_| self.invalid(&format!("names {:?}, which is no path", shorten(path))))?;
        // What a registry names is at the registry itself; redirects to a store of blobs are decided by the client.
        if url.origin() != self.reference.base.origin() {
            return Err(self.invalid("names a page of its tags on another server"));
        }
        let policy = self.policy;
        let request = FetchRequest {
            url,
            policy,
            accept,
            credentials: None,
            validators: None,
            max_bytes,
            max_redirects: MAX_REDIRECTS,
            headers: Vec::new(),
            body: None,
        };
        Ok(self.session.open(request).await?)
    }

    fn invalid(&self, reason: &str) -> RepositoryError {
        RepositoryError::invalid(format!("The registry of {} {reason}.", self.reference.shown))
    }

    /// The body of a response, with the memory that is reserved for it.
    async fn read(
        &self,
        response: ResponseStream,
        what: &str,
    ) -> Result<(Vec<u8>, ClientReservation), RepositoryError> {
        read_success(response, &format!("{what} of {}", self.reference.shown)).await
    }

    /// All tags. A list that is not complete is an error.
    async fn list_tags(&mut self) -> Result<HashSet<String>, RepositoryError> {
        let mut tags = HashSet::new();
        let mut next = format!("tags/list?n={TAGS_PER_PAGE}");
        for _ in 0..MAX_TAG_PAGES {
            let response = self.open(&next, "", MAX_TAGS_BYTES).await?;
            if response.status() == StatusCode::NOT_FOUND {
                return Err(not_found(&self.reference.shown));
            }
            let (url, link) = (response.url().clone(), next_page(response.headers()).map(str::to_owned));
            let (body, received) = self.read(response, "the tags").await?;
            let page: Option<TagsPage> = serde_json::from_slice(&body).ok();
            drop((body, received));
            let page =
                page.ok_or_else(|| self.invalid("responds with something else than a list of tags"))?;
            tags.extend(page.tags);
            if tags.len() > MAX_TAGS {
                break;
            }
            match link {
                Some(link) => next = self.resolve_link(&url, &link)?,
                None => return Ok(tags),
            }
        }
        let message =
            format!("{} has more than {MAX_TAGS} tags, too many to list them.", self.reference.shown);
        Err(RepositoryError::new(RepositoryErrorKind::TooLarge, message, "Write the version."))
    }

    fn resolve_link(&self, page: &Url, link: &str) -> Result<String, RepositoryError> {
        let url =
            page.join(link).map_err(|_| self.invalid("names a next page of its tags that is no URL"))?;
        Ok(url.into())
    }

    /// The manifest that the tag or digest refers to, with its digest.
    pub(super) async fn fetch_manifest(
        &mut self,
        origin: &str,
    ) -> Result<(Digest, OciManifest), RepositoryError> {
        let path = format!("manifests/{}", self.reference.tag);
        let response = self.open(&path, MANIFEST_TYPE, MAX_MANIFEST_BYTES).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Err(not_found(origin));
        }
        let announced = response.headers().get(DIGEST_HEADER).and_then(|value| value.to_str().ok());
        let announced = announced.map(str::to_owned);
        let (body, received) = self.read(response, "the manifest").await?;
        let read = tokio::task::spawn_blocking(move || {
            let read: (Digest, Option<OciManifest>) =
                (Digest::compute(&body), serde_json::from_slice(&body).ok());
            drop((body, received));
            read
        });
        let (digest, manifest) = read.await.map_err(|error| RepositoryError::from_task(&error))?;
        let requested = Some(&*self.reference.tag);
        let mut claims = [announced.as_deref(), requested].into_iter().flatten();
        if claims.any(|claim| claim.starts_with("sha256:") && claim != digest.as_str()) {
            let message = format!(
                "The manifest of {origin} has the digest {digest}, but the registry announces another one."
            );
            return Err(RepositoryError::new(
                RepositoryErrorKind::DigestMismatch,
                message,
                "Try again; if it fails again, tell the maintainers of the registry.",
            ));
        }
        let manifest = manifest.ok_or_else(|| {
            RepositoryError::invalid(format!("{origin} has no manifest of a single artifact."))
        })?;
        Ok((digest, manifest))
    }

    /// The digest and the bytes of a layer, with the memory that is reserved for them. The caller compares them.
    pub(super) async fn fetch_layer(
        &mut self,
        layer: &Descriptor,
        origin: &str,
    ) -> Result<(Digest, Vec<u8>, ClientReservation), RepositoryError> {
        let digest: Digest = layer.digest.parse().map_err(|_| {
            RepositoryError::invalid(format!(
                "{origin} names its archive {:?}, which is no SHA-256 digest.",
                shorten(&layer.digest)
            ))
        })?;
        if layer.size > MAX_ARCHIVE_BYTES as u64 {
            let message =
                format!("{origin} has {} bytes; at most {MAX_ARCHIVE_BYTES} are allowed.", layer.size);
            return Err(RepositoryError::new(
                RepositoryErrorKind::TooLarge,
                message,
                "Use a smaller chart or artifact.",
            ));
        }
        let response = self.open(&format!("blobs/{digest}"), "", MAX_ARCHIVE_BYTES).await?;
        let (archive, received) = self.read(response, "the archive").await?;
        Ok((digest, archive, received))
    }
}

/// The layer of the manifest with the packed chart.
fn find_archive(manifest: OciManifest, origin: &str) -> Result<Descriptor, RepositoryError> {
    let is_chart = manifest.config.media_type == CONFIG_TYPE;
    let mut layers = manifest.layers.into_iter().filter(|_| is_chart);
    layers.find(|layer| layer.media_type == ARCHIVE_TYPE).ok_or_else(|| {
        let message = format!("{origin} is no chart: its manifest names no packed chart of Helm.");
        RepositoryError::new(
            RepositoryErrorKind::InvalidResponse,
            message,
            "Push the chart with `helm push`, or name another one.",
        )
    })
}

/// Registries respond the same to names that do not exist and to those that need credentials.
fn not_found(origin: &str) -> RepositoryError {
    let message = format!("The registry has no {origin}, or it is not public.");
    RepositoryError::new(
        RepositoryErrorKind::NotFound,
        message,
        "Check the name and the version or tag; credentials of the registry are added with: flotilla chart repo add, or page Charts.",
    )
}

/// The reference to the next page: `<URL>; rel="next"`.
fn next_page(headers: &HeaderMap) -> Option<&str> {
    let links = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
    let mut next = links.filter(|link| link.contains("rel=\"next\"") || link.contains("rel=next"));
    let (_, rest) = next.next()?.split_once('<')?;
    rest.split_once('>').map(|(url, _)| url)
}
