//! Renderings: one run of Helm for each distinct set of inputs, whoever requests it and however often.
//!
//! They are done in turns ([`crate::fair_queue`]), so that no user waits for all renderings of another one. A rendering that nobody awaits
//! any more leaves the queue, and its process is killed.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use domain::chart::ChartInputs;
use domain::generated_values::GeneratedFields;
use domain::manifest;
use domain::name_list::join_first;
use domain::release::Reason;
use domain::server_status::RendererSandbox;
use domain::{Digest, Finding};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;
use source::client_shares::ClientReservation;
use source::helm::{Helm, PARSED_RENDERINGS, PreparedChart, RenderedChart};
use source::request_context::RequestContext;
use source::sandbox::{Sandbox, max_processes};
use store::chart::ChartRendering;
use tokio_util::task::AbortOnDropHandle;

use super::failure::explain_failure;
use super::secret_marks::{SecretMarksCache, explain_unread_schema};
use super::values_check::KnownValuesCache;
use crate::blocking::run_blocking;
use crate::fair_queue::{FairQueue, QueueFull, QueueKey, QueueLimits, QueuePosition};
use crate::manifests::record_need;
use crate::{Error, Hub};

/// What a rendering results in.
type RenderingFuture = BoxFuture<'static, Result<ChartRendering, RenderingFailure>>;

/// A rendering that waits or runs; every requester awaits the same one. It starts when it is awaited, and ends when all of them are
/// dropped.
pub(crate) type SharedRendering = Shared<RenderingFuture>;

/// Renderings that wait for a process.
const MAX_WAITING: usize = 10_000;
/// Those of one user.
const MAX_WAITING_OF_USER: usize = 4_000;
/// Those of one workload: twice what one publish may need.
const MAX_WAITING_OF_WORKLOAD: usize = 2_000;
/// When a request that was refused because too many renderings wait may be repeated, in seconds.
const RETRY_AFTER_SECONDS: u32 = 30;

/// The limits for this number of processes, of which one user has three quarters.
fn limits(processes: usize) -> QueueLimits {
    QueueLimits {
        running: processes,
        running_of_group: processes.saturating_sub(processes.div_ceil(4)).max(1),
        running_of_key: processes,
        waiting: MAX_WAITING,
        waiting_of_group: MAX_WAITING_OF_USER,
        waiting_of_key: MAX_WAITING_OF_WORKLOAD,
    }
}

/// The error of a request whose renderings are not accepted.
pub(crate) fn too_many_renderings(full: QueueFull) -> Error {
    let message = format!("The renderings of this request are not accepted, because {full}.");
    Error::ServerBusy { message, retry_after_seconds: RETRY_AFTER_SECONDS }
}

/// Why there is no rendering.
#[derive(Debug, Clone)]
pub(crate) struct RenderingFailure {
    /// What is wrong. Never empty.
    pub findings: Vec<Finding>,
    /// Why the release has no manifests. With `WaitingForArtifact` it waits, and the rendering is tried again; otherwise the
    /// same inputs fail again.
    pub reason: Reason,
}

impl RenderingFailure {
    /// It still runs.
    pub(crate) fn in_progress() -> Self {
        let message = "The chart is still being rendered for these values.";
        Self::retried(message, "Wait a moment and try again; the rendering goes on.")
    }

    /// Too many wait.
    pub(crate) fn not_accepted(full: QueueFull) -> Self {
        let message = format!("The chart is not rendered now, because {full}.");
        Self::retried(message, "Wait a moment; it is tried again.")
    }

    /// The server has no Helm.
    pub(super) fn without_helm() -> Self {
        Self::retried(
            "Helm is not available on the server, so charts can't be rendered.",
            "Install helm 4.2.4 or newer on the server, or set --helm; `cargo xtask setup` installs it.",
        )
    }

    pub(super) fn retried(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { findings: vec![Finding::error("G117", message, hint)], reason: Reason::WaitingForArtifact }
    }
}

/// Renders charts on this server.
pub(crate) struct ChartRenderer {
    /// Helm, once it was found.
    helm: OnceLock<Helm>,
    /// The sandbox of Helm and kustomize, once it was measured.
    sandbox: OnceLock<Sandbox>,
    /// Who waits for a process of Helm or kustomize.
    queue: FairQueue,
    /// The renderings that somebody awaits, by their inputs.
    requested: Mutex<HashMap<Digest, RequestedRendering>>,
    last_id: AtomicU64,
    /// Renderings started since the start of the server.
    started: AtomicU64,
    pub(super) known_values: KnownValuesCache,
    pub(super) secret_marks: SecretMarksCache,
}

impl Default for ChartRenderer {
    fn default() -> Self {
        Self {
            helm: OnceLock::new(),
            sandbox: OnceLock::new(),
            queue: FairQueue::new(limits(max_processes())),
            requested: Mutex::default(),
            last_id: AtomicU64::new(0),
            started: AtomicU64::new(0),
            known_values: KnownValuesCache::default(),
            secret_marks: SecretMarksCache::default(),
        }
    }
}

impl ChartRenderer {
    /// The queue for a process of Helm or kustomize.
    pub fn queue(&self) -> &FairQueue {
        &self.queue
    }
}

/// Inputs of a rendering, and what is reserved for them and for others of the same request, until the last of these renderings has ended.
pub(crate) struct ReservedInputs {
    /// The inputs.
    pub inputs: ChartInputs,
    /// The memory.
    pub memory: Arc<ClientReservation>,
}

/// A rendering that somebody awaits. Only those who do keep it alive.
struct RequestedRendering {
    id: u64,
    rendering: WeakShared<RenderingFuture>,
}

/// Removes a rendering from the requested ones when it has ended or is dropped.
struct RequestedEntry {
    hub: Hub,
    inputs: Digest,
    id: u64,
}

impl Drop for RequestedEntry {
    fn drop(&mut self) {
        let mut requested = self.hub.chart_renderer().requested.lock();
        // Another one may have been requested since everybody dropped this one.
        if requested.get(&self.inputs).is_some_and(|one| one.id == self.id) {
            requested.remove(&self.inputs);
        }
    }
}

impl Hub {
    /// Sets the program that renders charts. Without one, workloads with charts wait and everything else works.
    pub fn set_helm(&self, helm: Helm) {
        if self.chart_renderer().helm.set(helm).is_err() {
            tracing::warn!("Helm was set before; the first one is used");
        }
    }

    /// Sets the sandbox of Helm and kustomize, to report its state.
    pub fn set_renderer_sandbox(&self, sandbox: Sandbox) {
        if self.chart_renderer().sandbox.set(sandbox).is_err() {
            tracing::warn!("the sandbox of renderers was set before; the first one is reported");
        }
    }

    /// The state of the sandbox of Helm and kustomize; `None` before it is set.
    pub fn renderer_sandbox(&self) -> Option<RendererSandbox> {
        self.chart_renderer().sandbox.get().map(Sandbox::status)
    }

    /// The version of Helm; `None` if it is not available.
    pub fn helm_version(&self) -> Option<&str> {
        self.helm().map(Helm::version)
    }

    /// Helm, if it is available.
    pub(super) fn helm(&self) -> Option<&Helm> {
        self.chart_renderer().helm.get()
    }

    /// The renderings that this server has started; stored ones are not made again.
    pub fn count_renderings(&self) -> u64 {
        self.chart_renderer().started.load(Relaxed)
    }

    /// Requests the rendering of these inputs in the turn of this key, or joins the one that is requested already. It goes on as long as
    /// somebody awaits it.
    ///
    /// # Errors
    /// Too many renderings wait already.
    pub(crate) fn request_rendering(
        &self,
        digest: &Digest,
        inputs: ReservedInputs,
        key: &QueueKey,
    ) -> Result<SharedRendering, QueueFull> {
        let renderer = self.chart_renderer();
        let mut requested = renderer.requested.lock();
        if let Some(found) = requested.get(digest).and_then(|one| one.rendering.upgrade()) {
            return Ok(found);
        }
        let position = renderer.queue.enqueue(key)?;
        let id = renderer.last_id.fetch_add(1, Relaxed);
        let entry = RequestedEntry { hub: self.clone(), inputs: digest.clone(), id };
        let rendering = render_in_turn(entry, inputs, position, RequestContext::current().with_own_wait());
        let rendering = rendering.boxed().shared();
        if let Some(weak) = rendering.downgrade() {
            requested.insert(digest.clone(), RequestedRendering { id, rendering: weak });
        }
        Ok(rendering)
    }

    /// What Helm needs of the stored chart of these inputs, or why there is nothing to render. The archive is in memory only while it is read,
    /// within the memory for archives.
    pub(super) async fn prepare_chart(
        &self,
        inputs: &ChartInputs,
    ) -> Result<Result<PreparedChart, RenderingFailure>, Error> {
        let of_chart = inputs.clone();
        let read = self.read_stored_archive(&inputs.chart, move |archive| {
            let found = Digest::compute(&archive);
            if found == of_chart.chart { Ok(PreparedChart::read(&archive, &of_chart)) } else { Err(found) }
        });
        match read.await? {
            Ok(Ok(chart)) => Ok(Ok(chart)),
            // It is no chart, so no schema tells which values are secrets.
            Ok(Err(failed)) => Ok(Err(explain_failure(failed, inputs, String::new()).await?)),
            Err(found) => Ok(Err(archive_mismatch(&inputs.chart, &found))),
        }
    }
}

/// Renders in a task of its own, so that each goes on whatever else its requesters await; dropped, it ends the task and with it the process.
/// `context` is that of the first of them: the chart is read in the share of its user.
async fn render_in_turn(
    entry: RequestedEntry,
    ReservedInputs { inputs, memory }: ReservedInputs,
    position: QueuePosition,
    context: RequestContext,
) -> Result<ChartRendering, RenderingFailure> {
    let rendering = Box::pin(async move {
        let _place = position.wait().await;
        entry.hub.chart_renderer().started.fetch_add(1, Relaxed);
        let rendered = render(&entry.hub, &entry.inputs, inputs).await;
        drop(memory);
        rendered
    });
    let task = AbortOnDropHandle::new(context.spawn(rendering));
    task.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a rendering ended unexpectedly");
        Err(RenderingFailure::retried(
            "The rendering of the chart ended unexpectedly.",
            "It is tried again; the log has the details.",
        ))
    })
}

async fn render(hub: &Hub, digest: &Digest, inputs: ChartInputs) -> Result<ChartRendering, RenderingFailure> {
    let Some(helm) = hub.helm() else {
        return Err(RenderingFailure::without_helm());
    };
    render_and_store(hub, helm, digest, inputs).await.unwrap_or_else(|error| {
        tracing::warn!(%error, inputs = %digest, "a chart could not be rendered");
        Err(RenderingFailure::retried(
            format!("The chart could not be rendered: {error}"),
            "It is tried again.",
        ))
    })
}

async fn render_and_store(
    hub: &Hub,
    helm: &Helm,
    digest: &Digest,
    inputs: ChartInputs,
) -> Result<Result<ChartRendering, RenderingFailure>, Error> {
    let mut chart = match hub.prepare_chart(&inputs).await? {
        Ok(chart) => chart,
        Err(failure) => return Ok(Err(failure)),
    };
    let schema = chart.take_values_schema();
    let rendered = match helm.render(chart, &inputs).await {
        Ok(rendered) => rendered,
        Err(failed) => return Ok(Err(explain_failure(failed, &inputs, schema).await?)),
    };
    let alone = PARSED_RENDERINGS.acquire().await;
    let bounded = run_blocking(move || {
        let bounded = discard_unusable(rendered);
        drop(alone);
        bounded
    });
    let (rendered, findings) = bounded.await?;
    let files = serde_json::to_vec(&rendered.files).map_err(|error| Error::Internal(Box::new(error)))?;
    let rendering = ChartRendering {
        inputs: digest.clone(),
        chart: inputs.chart,
        files: Digest::compute(&files),
        helm_version: helm.version().to_owned(),
        findings,
        generated: rendered.generated,
    };
    Ok(accept_rendering(store_rendering(hub, &rendering, &files).await?))
}

/// Stores a rendering with its files, unless its inputs have one already. Returns the stored one.
pub(crate) async fn store_rendering(
    hub: &Hub,
    rendering: &ChartRendering,
    files: &[u8],
) -> Result<ChartRendering, Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    store::artifact::put(&mut tx, &rendering.files, files, now).await?;
    let stored = store::chart::put_rendering(&mut tx, rendering, now).await?;
    tx.commit().await?;
    record_need(&rendering.files, files);
    Ok(stored)
}

/// The rendering with what a person should know about it. Of one that exceeds the limits of every workload only these errors remain:
/// nobody could use its files, and they would be stored for every set of values that somebody tries.
fn discard_unusable(rendered: RenderedChart) -> (RenderedChart, Vec<Finding>) {
    let exceeded = manifest::parse(&rendered.files).findings.into_iter();
    let exceeded: Vec<Finding> = exceeded
        .filter(|found| found.code == manifest::LIMIT_EXCEEDED && found.is_blocking())
        .take(MAX_EXCEEDED)
        .collect();
    if exceeded.is_empty() {
        let findings = rendering_findings(&rendered);
        return (rendered, findings);
    }
    let empty = RenderedChart { files: Vec::new(), generated: GeneratedFields::default(), ..rendered };
    (empty, exceeded)
}

/// A stored rendering, or why it has no files: then its findings are errors.
pub(crate) fn accept_rendering(stored: ChartRendering) -> Result<ChartRendering, RenderingFailure> {
    if stored.findings.iter().any(Finding::is_blocking) {
        return Err(RenderingFailure { findings: stored.findings, reason: Reason::RenderFailed });
    }
    Ok(stored)
}

/// The bytes of the stored archive are not those that were stored.
fn archive_mismatch(chart: &Digest, found: &Digest) -> RenderingFailure {
    let message = format!(
        "The stored archive of the chart with the digest {} has other content ({}). Nothing is rendered from it.",
        chart.short(),
        found.short()
    );
    let hint =
        "Restore its row of the table artifact from a backup. It is rendered within five minutes after that.";
    RenderingFailure {
        findings: vec![Finding::error("G112", message, hint).with_path("/source/version")],
        reason: Reason::HashMismatch,
    }
}

/// What a person should know about a rendering that succeeded.
fn rendering_findings(rendered: &RenderedChart) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !rendered.random_files.is_empty() {
        let message = format!(
            "{} of the chart has content that differs with every rendering, such as a random password or a date. Every cluster retains its values; a new cluster gets new ones.",
            join_first(&rendered.random_files, NAMED_FILES)
        );
        let hint = "Set these values if they have to be the same on all clusters.";
        findings.push(Finding::warning("G115", message, hint));
    }
    if !rendered.generated.objects.is_empty() {
        let names: Vec<String> = rendered.generated.objects.iter().map(ToString::to_string).collect();
        let message = format!(
            "The chart generates the name of {}: a publish with other values or facts deletes it and creates another one.",
            join_first(&names, NAMED_FILES)
        );
        let hint = "Use a chart with fixed names, or set the value that the name is made of.";
        findings.push(Finding::warning("G115", message, hint));
    }
    if !rendered.unchecked_schema_refs.is_empty() {
        let message = format!(
            "The schema of the chart's values refers to {}, which is not fetched: the values are not checked against the schema.",
            join_first(&rendered.unchecked_schema_refs, NAMED_FILES)
        );
        let hint = "Use a chart whose values.schema.json is complete, or check the values by hand.";
        findings.push(Finding::warning("G113", message, hint));
    }
    findings.extend(rendered.unread_schema_values.map(explain_unread_schema));
    if !rendered.revision_files.is_empty() {
        let message = format!(
            "{} of the chart reads .Release.Revision, which is always 1 here: what depends on it does not change with a publish.",
            join_first(&rendered.revision_files, NAMED_FILES)
        );
        let hint = "Where it shall restart pods, set a value or an annotation with every publish instead.";
        findings.push(Finding::warning("G115", message, hint));
    }
    if !rendered.lookup_files.is_empty() {
        let message = format!(
            "{} of the chart uses lookup, which finds no object here: charts are rendered without access to the clusters.",
            join_first(&rendered.lookup_files, NAMED_FILES)
        );
        let hint =
            "Set the values that it would read. Generated values are retained on each cluster without it.";
        findings.push(Finding::warning("G115", message, hint));
    }
    findings
}

/// Most exceeded limits that are stored in place of a rendering.
const MAX_EXCEEDED: usize = 20;
/// Number of files or objects that a message names.
const NAMED_FILES: usize = 3;

#[cfg(test)]
mod tests {
    use domain::workload::SourceFile;

    use super::*;

    #[test]
    fn p20_one_user_never_has_every_process_if_there_are_several() {
        for cores in 1..=128 {
            let QueueLimits { running, running_of_group, .. } = limits(cores);
            assert!(running_of_group >= 1);
            assert!(running_of_group < running || cores == 1, "{cores} cores");
        }
    }

    fn render(bytes: usize) -> (RenderedChart, Vec<Finding>) {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata: {{value: \"{}\"}}\n",
            "x".repeat(bytes)
        );
        discard_unusable(RenderedChart {
            files: vec![SourceFile { name: "templates/config.yaml".to_owned(), text }],
            random_files: Vec::new(),
            generated: GeneratedFields::default(),
            unchecked_schema_refs: Vec::new(),
            unread_schema_values: None,
            revision_files: Vec::new(),
            lookup_files: Vec::new(),
        })
    }

    #[test]
    fn p19_only_the_error_remains_of_a_rendering_beyond_the_limits_of_a_workload() {
        let (usable, findings) = render(1_000);
        assert_eq!((usable.files.len(), findings), (1, Vec::new()));
        for bytes in [2 << 20, 11 << 20] {
            let (discarded, findings) = render(bytes);
            assert!(discarded.files.is_empty());
            assert!(
                !findings.is_empty() && findings.iter().all(|found| found.code == "G111"),
                "{findings:?}"
            );
            let stored = ChartRendering {
                inputs: Digest::compute(b"inputs"),
                chart: Digest::compute(b"chart"),
                files: Digest::compute(b"[]"),
                helm_version: String::new(),
                findings: findings.clone(),
                generated: GeneratedFields::default(),
            };
            let failure = accept_rendering(stored).unwrap_err();
            assert_eq!((failure.findings, failure.reason), (findings, Reason::RenderFailed));
        }
    }
}
