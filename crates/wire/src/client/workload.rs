//! Operations on workloads, their releases, revisions, rollouts and overrides.

use domain::overrides::Override;
use domain::page::{ListQuery, Page};
use domain::plan::{Plan, RevisionView};
use domain::release::ReleaseView;
use domain::rollout::{Rollout, RolloutAction, RolloutCluster, RolloutClusterQuery};
use domain::suspension::{ResumeRequest, SuspendRequest, SuspensionDetails};
use domain::workload::{
    NewWorkload, PublishResult, PublishValidation, Revision, Workload, WorkloadHead, WorkloadSummary,
    WorkloadView,
};
use http::{HeaderName, HeaderValue, Method};
use serde::Serialize;

use super::send::ApiCall;
use super::{Client, decode, if_match};
use crate::{
    Error, OverridePut, PublishRequest, RemovalOptions, RestoreRevisionRequest, RetainRequest,
    RetainResponse, SyncRequest, SyncResponse, ValidateRequest, ValidationResult, WorkloadPatch, WorkloadPut,
    WorkloadStatus,
};

/// What a revision is compared with.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RevisionQuery {
    /// Number of another revision; the previous one if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<u32>,
    /// The cluster that both are rendered for; their manifests without overrides if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
}

/// What a plan is created of, and how long its dry runs are waited for.
#[derive(Debug, Serialize)]
struct PlanQuery {
    wait: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u32>,
}

/// The query of the clusters of a rollout.
#[derive(Debug, Serialize)]
struct RolloutClustersCall<'q> {
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wave: Option<&'q str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'q str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    q: &'q str,
    #[serde(skip_serializing_if = "str::is_empty")]
    state: &'q str,
}

impl Client {
    /// One page of workloads, by name.
    pub async fn list_workloads(&self, query: &ListQuery) -> Result<Page<WorkloadSummary>, Error> {
        self.project_call(Method::GET, &["workloads"]).query(query).send_json().await
    }

    /// One workload with its draft, counts and published revision.
    pub async fn get_workload(&self, name: &str) -> Result<WorkloadView, Error> {
        self.project_call(Method::GET, &["workloads", name]).send_json().await
    }

    /// Creates a draft.
    pub async fn create_workload(&self, new: &NewWorkload) -> Result<Workload, Error> {
        self.project_call(Method::POST, &["workloads"]).body(new).send_json().await
    }

    /// Validates a workload without creating it.
    pub async fn create_workload_dry_run(&self, new: &NewWorkload) -> Result<ValidationResult, Error> {
        self.project_call(Method::POST, &["workloads"]).flag("dryRun", true).body(new).send_json().await
    }

    /// Replaces the draft; rejected if its revision is not `revision`.
    pub async fn put_workload(
        &self,
        name: &str,
        put: &WorkloadPut,
        revision: i64,
    ) -> Result<Workload, Error> {
        let call = self.project_call(Method::PUT, &["workloads", name]).header(Some(if_match(revision)));
        call.body(put).send_json().await
    }

    /// Changes labels.
    pub async fn patch_workload(
        &self,
        name: &str,
        patch: &WorkloadPatch,
        revision: Option<i64>,
    ) -> Result<Workload, Error> {
        let call = self.project_call(Method::PATCH, &["workloads", name]).header(revision.map(if_match));
        call.body(patch).send_json().await
    }

    /// Removes it from its clusters, and deletes it once no cluster has it.
    pub async fn delete_workload(&self, name: &str, removal: &RemovalOptions) -> Result<WorkloadHead, Error> {
        self.project_call(Method::DELETE, &["workloads", name]).query(removal).send_json().await
    }

    /// Guard rails and placement preview of a draft; stores nothing (S0-14).
    pub async fn validate_workload(&self, request: &ValidateRequest) -> Result<ValidationResult, Error> {
        self.project_call(Method::POST, &["workloads:validate"]).body(request).send_json().await
    }

    /// Publishes the draft, or an earlier revision again.
    ///
    /// If the connection broke after the server had accepted the request, the retry is rejected because nothing has changed
    /// since. In that case the accepted revision is read and returned (P2).
    pub async fn publish_workload(
        &self,
        name: &str,
        request: &PublishRequest,
        revision: Option<i64>,
    ) -> Result<PublishResult, Error> {
        let path = format!("{name}:publish");
        let call = self.project_call(Method::POST, &["workloads", &path]).header(revision.map(if_match));
        match call.body(request).send_tracked().await {
            (Ok(response), _) => decode(response.status, &response.body),
            (Err(error), true) if matches!(error.code(), "FailedPrecondition" | "RevisionConflict") => {
                self.find_accepted_publish(name, request).await.ok_or(error)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// The revision that an earlier attempt of this request created, if any.
    async fn find_accepted_publish(&self, name: &str, request: &PublishRequest) -> Option<PublishResult> {
        let view = self.get_workload(name).await.ok()?;
        let revision = view.published_revision?;
        let has_content = request.revision.is_some() || !view.workload.draft_changed;
        (has_content && revision.message == request.message).then(|| PublishResult {
            operation: None,
            revision: revision.number,
            clusters: Vec::new(),
            findings: Vec::new(),
            validation: PublishValidation::Unknown,
            unchanged_since: None,
        })
    }

    /// Plans a publish of the draft and waits for the clusters' dry runs, at most `wait` seconds.
    pub async fn plan_workload(&self, name: &str, wait: u64) -> Result<Plan, Error> {
        self.plan_publish(name, None, wait).await
    }

    /// Plans a publish of an earlier revision, or of the draft, and waits for the clusters' dry runs, at most `wait` seconds.
    pub async fn plan_publish(&self, name: &str, revision: Option<u32>, wait: u64) -> Result<Plan, Error> {
        let path = format!("{name}:plan");
        self.project_call(Method::POST, &["workloads", &path])
            .query(&PlanQuery { wait, revision })
            .send_json()
            .await
    }

    /// Copies an earlier revision to the draft; publishes nothing.
    pub async fn restore_revision(
        &self,
        name: &str,
        request: &RestoreRevisionRequest,
    ) -> Result<Workload, Error> {
        let path = format!("{name}:restore");
        self.project_call(Method::POST, &["workloads", &path]).body(request).send_json().await
    }

    /// Copies an earlier revision to the draft; rejected if the revision of the draft is not `draft`.
    pub async fn restore_revision_if(
        &self,
        name: &str,
        request: &RestoreRevisionRequest,
        draft: i64,
    ) -> Result<Workload, Error> {
        let path = format!("{name}:restore");
        let call = self.project_call(Method::POST, &["workloads", &path]).header(Some(if_match(draft)));
        call.body(request).send_json().await
    }

    /// Removes it from its clusters; the draft stays.
    pub async fn unpublish_workload(
        &self,
        name: &str,
        request: &RemovalOptions,
    ) -> Result<WorkloadHead, Error> {
        let path = format!("{name}:unpublish");
        self.project_call(Method::POST, &["workloads", &path]).body(request).send_json().await
    }

    /// Requests that clusters compare with the desired state now; never adds targets.
    pub async fn sync_workload(&self, name: &str, request: &SyncRequest) -> Result<SyncResponse, Error> {
        let path = format!("{name}:sync");
        self.project_call(Method::POST, &["workloads", &path]).body(request).send_json().await
    }

    /// Retains it on clusters that no longer match its placement, until the next publish (E-6).
    pub async fn retain_workload(
        &self,
        name: &str,
        request: &RetainRequest,
    ) -> Result<RetainResponse, Error> {
        let path = format!("{name}:retain");
        self.project_call(Method::POST, &["workloads", &path]).body(request).send_json().await
    }

    /// Suspends it on all its clusters, or on some: nothing is applied, reverted or deleted there.
    pub async fn suspend_workload(
        &self,
        name: &str,
        request: &SuspendRequest,
    ) -> Result<SuspensionDetails, Error> {
        let path = format!("{name}:suspend");
        self.project_call(Method::POST, &["workloads", &path]).body(request).send_json().await
    }

    /// Ends its suspension; returns what changes on each cluster.
    pub async fn resume_workload(
        &self,
        name: &str,
        request: &ResumeRequest,
    ) -> Result<SuspensionDetails, Error> {
        let path = format!("{name}:resume");
        self.project_call(Method::POST, &["workloads", &path]).body(request).send_json().await
    }

    /// What is suspended of it, and what a resume would change.
    pub async fn get_workload_suspension(&self, name: &str) -> Result<SuspensionDetails, Error> {
        self.project_call(Method::GET, &["workloads", name, "suspension"]).send_json().await
    }

    /// Its status on all clusters. With `wait` the server responds once no release is in progress, or after that many
    /// seconds (at most 60).
    pub async fn get_workload_status(&self, name: &str, wait: Option<u32>) -> Result<WorkloadStatus, Error> {
        let prefer = wait.and_then(|seconds| HeaderValue::from_str(&format!("wait={seconds}")).ok());
        let prefer = prefer.map(|value| (HeaderName::from_static("prefer"), value));
        self.project_call(Method::GET, &["workloads", name, "status"]).header(prefer).send_json().await
    }

    /// The rollout of a revision, by default of the published one.
    pub async fn get_rollout(&self, name: &str, revision: Option<u32>) -> Result<Rollout, Error> {
        let query = serde_json::json!({ "revision": revision });
        self.project_call(Method::GET, &["workloads", name, "rollout"]).query(&query).send_json().await
    }

    /// One page of the clusters of a rollout, by wave and name.
    pub async fn list_rollout_clusters(
        &self,
        name: &str,
        query: &RolloutClusterQuery,
    ) -> Result<Page<RolloutCluster>, Error> {
        let RolloutClusterQuery { revision, wave, list } = query;
        let query = RolloutClustersCall {
            revision: *revision,
            wave: wave.as_deref(),
            limit: list.limit,
            cursor: list.cursor.as_deref(),
            q: &list.q,
            state: &list.state,
        };
        let call = self.project_call(Method::GET, &["workloads", name, "rollout", "clusters"]);
        call.query(&query).send_json().await
    }

    /// The report of a rollout in this format: `md`, `csv` or `json`.
    pub async fn report_rollout(
        &self,
        name: &str,
        revision: Option<u32>,
        format: &str,
    ) -> Result<String, Error> {
        let query = serde_json::json!({ "format": format, "revision": revision });
        let call = self.project_call(Method::GET, &["workloads", name, "rollout", "report"]);
        let response = call.query(&query).send().await?;
        Ok(String::from_utf8_lossy(&response.body).into_owned())
    }

    /// Controls the rollout of the published revision.
    pub async fn control_rollout(&self, name: &str, verb: RolloutAction) -> Result<Rollout, Error> {
        let path = format!("rollout:{}", verb.as_str());
        self.project_call(Method::POST, &["workloads", name, &path]).send_json().await
    }

    /// One page of its revisions, newest first.
    pub async fn list_revisions(&self, name: &str, query: &ListQuery) -> Result<Page<Revision>, Error> {
        self.project_call(Method::GET, &["workloads", name, "revisions"]).query(query).send_json().await
    }

    /// One revision and its changes.
    pub async fn get_revision(
        &self,
        name: &str,
        number: u32,
        query: &RevisionQuery,
    ) -> Result<RevisionView, Error> {
        let number = number.to_string();
        self.project_call(Method::GET, &["workloads", name, "revisions", &number])
            .query(query)
            .send_json()
            .await
    }

    /// One page of its releases, worst first; without resources.
    pub async fn list_releases(&self, workload: &str, query: &ListQuery) -> Result<Page<ReleaseView>, Error> {
        self.project_call(Method::GET, &["workloads", workload, "releases"]).query(query).send_json().await
    }

    /// One release with its resources.
    pub async fn get_release(&self, workload: &str, cluster: &str) -> Result<ReleaseView, Error> {
        self.project_call(Method::GET, &["workloads", workload, "releases", cluster]).send_json().await
    }

    /// The overrides of the draft.
    pub async fn list_overrides(&self, workload: &str) -> Result<Vec<Override>, Error> {
        self.project_call(Method::GET, &["workloads", workload, "overrides"]).send_json().await
    }

    /// One override of the draft.
    pub async fn get_override(&self, workload: &str, name: &str) -> Result<Override, Error> {
        self.project_call(Method::GET, &["workloads", workload, "overrides", name]).send_json().await
    }

    /// Saves an override by name in the draft; rejected if the revision of the workload is not `revision`.
    pub async fn put_override(
        &self,
        workload: &str,
        name: &str,
        put: &OverridePut,
        revision: i64,
    ) -> Result<Workload, Error> {
        self.override_call(Method::PUT, workload, name, revision).body(put).send_json().await
    }

    /// Deletes an override by name from the draft; rejected if the revision of the workload is not `revision`.
    pub async fn delete_override(
        &self,
        workload: &str,
        name: &str,
        revision: i64,
    ) -> Result<Workload, Error> {
        self.override_call(Method::DELETE, workload, name, revision).send_json().await
    }

    fn override_call(&self, method: Method, workload: &str, name: &str, revision: i64) -> ApiCall<'_> {
        let call = self.project_call(method, &["workloads", workload, "overrides", name]);
        call.header(Some(if_match(revision)))
    }
}
