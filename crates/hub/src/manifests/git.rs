//! Manifests of Git sources: the stored content of the pinned commit, fetched again if it is not stored.

use domain::chart_values::ChartRelease;
use domain::remote::{GitContent, RemoteSource};
use domain::{Digest, Finding, Timestamp, manifest, manifest_work};
use source::archive::ChartArchive;

use super::chart::{RenderWait, unrendered};
use super::stored_files::StoredFiles;
use super::{ManifestSet, ManifestsQuery, SourceManifests};
use crate::blocking::run_blocking;
use crate::chart::{RenderingFailure, StoredChart, rejected_archive};
use crate::git::{mismatch, unpinned};
use crate::{Error, Hub};

/// The repository in the reference of a chart that is in Git. No repository of charts can have this name.
const GIT_REPOSITORY: &str = "git:";

impl Hub {
    /// The manifests of the pinned commit.
    pub(super) async fn load_git_manifests(
        &self,
        source: &RemoteSource,
        query: ManifestsQuery<'_>,
        wait: RenderWait,
    ) -> Result<SourceManifests, Error> {
        let Some(pinned) = &source.pinned else {
            return Ok(unrendered(query.clusters, unpinned()));
        };
        let loaded = self.load_git_snapshot(&source.repository, &source.path, &pinned.commit, wait).await?;
        let stored = match loaded {
            Ok(stored) if stored.digest == pinned.digest => stored,
            Ok(stored) => {
                return Ok(unrendered(query.clusters, mismatch(&source.repository, pinned, &stored)));
            }
            Err(failure) => return Ok(unrendered(query.clusters, failure)),
        };
        match stored.content {
            GitContent::Chart => self.load_git_chart(source, &stored.digest, query, wait).await,
            GitContent::Manifests | GitContent::Kustomize => {
                self.load_git_files(&stored.digest, query, wait).await
            }
        }
    }

    async fn load_git_files(
        &self,
        digest: &Digest,
        query: ManifestsQuery<'_>,
        wait: RenderWait,
    ) -> Result<SourceManifests, Error> {
        let digests = std::slice::from_ref(digest);
        let StoredFiles { texts, memory } = self.load_stored_files(digests, query.other_need(), wait).await?;
        let policies = query.spec.policies.clone();
        let parsed: Result<SourceManifests, serde_json::Error> = run_blocking(move || {
            let text = texts.first().map(Vec::as_slice).unwrap_or_default();
            let (files, left_out) = manifest::leave_out_data(serde_json::from_slice(text)?);
            let parsed = manifest::parse(&files);
            let is_explained = parsed.findings.iter().any(Finding::is_blocking);
            let empty = (parsed.manifests.is_empty() && !is_explained).then(|| {
                let message = "The files of the commit contain no Kubernetes object.";
                Finding::error(
                    "G109",
                    message,
                    "Correct the path, or unpublish the workload if nothing should run.",
                )
            });
            // Files over the limits are not searched.
            let ignored = if is_explained { None } else { manifest_work::check_fetched(&files, &policies) };
            let set = ManifestSet::new(parsed, None);
            Ok(SourceManifests {
                sets: vec![set],
                findings: empty.into_iter().chain(left_out).chain(ignored).collect(),
                memory,
                ..SourceManifests::default()
            })
        })
        .await?;
        parsed.map_err(|error| Error::Internal(Box::new(error)))
    }

    async fn load_git_chart(
        &self,
        source: &RemoteSource,
        digest: &Digest,
        query: ManifestsQuery<'_>,
        wait: RenderWait,
    ) -> Result<SourceManifests, Error> {
        // What is made of the chart must depend on the commit alone.
        let committed_at =
            source.pinned.as_ref().map_or(Timestamp::from_millis(0), |pinned| pinned.committed_at);
        let created_by = source.repository.clone();
        let read = self.read_stored_archive(digest, move |bytes| {
            crate::chart::read_chart(GIT_REPOSITORY, &bytes, created_by, committed_at)
        });
        let chart = match read.await? {
            Ok(chart) => StoredChart::with_archive(chart),
            Err(finding) => {
                let failure = RenderingFailure {
                    findings: vec![finding],
                    reason: domain::release::Reason::RenderFailed,
                };
                return Ok(unrendered(query.clusters, failure));
            }
        };
        let chart_source = source.to_chart_source();
        let release = ChartRelease {
            workload: query.workload,
            revision: query.revision,
            spec: query.spec,
            source: &chart_source,
            groups: query.groups,
            project: query.project,
            targets: query.targets,
            installed: &query.installed.revisions,
        };
        self.render_chart_manifests(&release, &chart, query, wait).await
    }

    /// The text of `values.yaml` of a chart in Git; empty without one.
    pub(crate) async fn get_git_default_values(&self, digest: &Digest) -> Result<String, Error> {
        let read = self.read_stored_archive(digest, |bytes| {
            ChartArchive::read(&bytes).map(|chart| chart.default_values().to_owned())
        });
        read.await?.map_err(|rejected| rejected_archive(&rejected))
    }
}
