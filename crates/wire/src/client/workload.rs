//! Calls on workloads, their releases, revisions and overrides.

use domain::page::{ListQuery, Page};
use domain::plan::{Plan, RevisionView};
use domain::release::ReleaseView;
use domain::rollout::{Rollout, RolloutVerb};
use domain::workload::{NewWorkload, Published, Revision, Workload, WorkloadSummary, WorkloadView};
use http::{HeaderName, HeaderValue, Method};

use super::{Client, decode, if_match};
use crate::{
    Check, Error, KeepAnswer, KeepRequest, OverridePut, PublishRequest, RestoreRequest, Status, SyncAnswer,
    SyncRequest, UnpublishRequest, ValidateRequest, WorkloadPatch, WorkloadPut,
};

impl Client {
    /// One page of workloads, by name.
    pub async fn workload_list(&self, query: &ListQuery) -> Result<Page<WorkloadSummary>, Error> {
        self.project(Method::GET, &["workloads"]).query(query).json().await
    }

    /// One workload with its draft, counts and published revision.
    pub async fn workload_get(&self, name: &str) -> Result<WorkloadView, Error> {
        self.project(Method::GET, &["workloads", name]).json().await
    }

    /// Makes a draft.
    pub async fn workload_create(&self, new: &NewWorkload) -> Result<Workload, Error> {
        self.project(Method::POST, &["workloads"]).body(new).json().await
    }

    /// Says what making it would find, and makes nothing.
    pub async fn workload_create_dry(&self, new: &NewWorkload) -> Result<Check, Error> {
        self.project(Method::POST, &["workloads"]).flag("dryRun", true).body(new).json().await
    }

    /// Replaces the draft; `revision` is the one the person saw.
    pub async fn workload_put(
        &self,
        name: &str,
        put: &WorkloadPut,
        revision: i64,
    ) -> Result<Workload, Error> {
        let call = self.project(Method::PUT, &["workloads", name]).header(Some(if_match(revision)));
        call.body(put).json().await
    }

    /// Changes labels.
    pub async fn workload_patch(
        &self,
        name: &str,
        patch: &WorkloadPatch,
        revision: Option<i64>,
    ) -> Result<Workload, Error> {
        let call = self.project(Method::PATCH, &["workloads", name]).header(revision.map(if_match));
        call.body(patch).json().await
    }

    /// Takes it back from its clusters and forgets it once it runs nowhere.
    pub async fn workload_delete(&self, name: &str, removal: &UnpublishRequest) -> Result<Workload, Error> {
        self.project(Method::DELETE, &["workloads", name]).query(removal).json().await
    }

    /// Guard rails and placement preview of a draft; stores nothing (S0-14).
    pub async fn workload_validate(&self, request: &ValidateRequest) -> Result<Check, Error> {
        self.project(Method::POST, &["workloads:validate"]).body(request).json().await
    }

    /// Publishes the draft.
    ///
    /// When the connection broke after the server had accepted it, the repeated request is answered "nothing has
    /// changed since"; then what was accepted is read back, so the caller learns of its revision either way (P2).
    pub async fn workload_publish(
        &self,
        name: &str,
        request: &PublishRequest,
        revision: Option<i64>,
    ) -> Result<Published, Error> {
        let path = format!("{name}:publish");
        let call = self.project(Method::POST, &["workloads", &path]).header(revision.map(if_match));
        match call.body(request).outcome().await {
            (Ok(answer), _) => decode(answer.status, &answer.body),
            (Err(error), true) if matches!(error.code(), "NotNow" | "Changed") => {
                self.accepted(name, request).await.ok_or(error)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// The revision that an earlier try of this request made, if it did.
    async fn accepted(&self, name: &str, request: &PublishRequest) -> Option<Published> {
        let view = self.workload_get(name).await.ok()?;
        let revision = view.published_revision?;
        (!view.workload.draft_changed && revision.message == request.message).then(|| Published {
            revision: revision.number,
            clusters: Vec::new(),
            findings: Vec::new(),
        })
    }

    /// Plans a publish of the draft and waits for the clusters' answers, at most so many seconds.
    pub async fn workload_plan(&self, name: &str, wait: u64) -> Result<Plan, Error> {
        let path = format!("{name}:plan");
        self.project(Method::POST, &["workloads", &path])
            .query(&serde_json::json!({ "wait": wait }))
            .json()
            .await
    }

    /// Makes the draft what an earlier revision was; publishes nothing.
    pub async fn workload_restore(&self, name: &str, request: &RestoreRequest) -> Result<Workload, Error> {
        let path = format!("{name}:restore");
        self.project(Method::POST, &["workloads", &path]).body(request).json().await
    }

    /// Takes it back from its clusters; the draft stays.
    pub async fn workload_unpublish(
        &self,
        name: &str,
        request: &UnpublishRequest,
    ) -> Result<Workload, Error> {
        let path = format!("{name}:unpublish");
        self.project(Method::POST, &["workloads", &path]).body(request).json().await
    }

    /// Asks clusters to compare now; never adds targets.
    pub async fn workload_sync(&self, name: &str, request: &SyncRequest) -> Result<SyncAnswer, Error> {
        let path = format!("{name}:sync");
        self.project(Method::POST, &["workloads", &path]).body(request).json().await
    }

    /// Keeps it on clusters that no longer match it, until the next publish (E-6).
    pub async fn workload_keep(&self, name: &str, request: &KeepRequest) -> Result<KeepAnswer, Error> {
        let path = format!("{name}:keep");
        self.project(Method::POST, &["workloads", &path]).body(request).json().await
    }

    /// How it does on all its clusters. With `wait` the server answers once nothing is on its way any more, or after
    /// that many seconds (at most 60).
    pub async fn workload_status(&self, name: &str, wait: Option<u32>) -> Result<Status, Error> {
        let prefer = wait.and_then(|seconds| HeaderValue::from_str(&format!("wait={seconds}")).ok());
        let prefer = prefer.map(|value| (HeaderName::from_static("prefer"), value));
        self.project(Method::GET, &["workloads", name, "status"]).header(prefer).json().await
    }

    /// How a revision goes through its waves, the published one if none is named.
    pub async fn rollout_get(&self, name: &str, revision: Option<u32>) -> Result<Rollout, Error> {
        let call = self.project(Method::GET, &["workloads", name, "rollout"]);
        let revision = revision.map(|number| [("revision", number)]);
        match revision {
            Some(revision) => call.query(&revision).json().await,
            None => call.json().await,
        }
    }

    /// Says something to the rollout of the published revision.
    pub async fn rollout_steer(&self, name: &str, verb: RolloutVerb) -> Result<Rollout, Error> {
        let path = format!("rollout:{}", verb.word());
        self.project(Method::POST, &["workloads", name, &path]).json().await
    }

    /// One page of its revisions, newest first.
    pub async fn workload_revisions(&self, name: &str, query: &ListQuery) -> Result<Page<Revision>, Error> {
        self.project(Method::GET, &["workloads", name, "revisions"]).query(query).json().await
    }

    /// One revision, and what it changed.
    pub async fn workload_revision(&self, name: &str, number: u32) -> Result<RevisionView, Error> {
        let number = number.to_string();
        self.project(Method::GET, &["workloads", name, "revisions", &number]).json().await
    }

    /// One page of its releases, worst first; without resources.
    pub async fn release_list(&self, workload: &str, query: &ListQuery) -> Result<Page<ReleaseView>, Error> {
        self.project(Method::GET, &["workloads", workload, "releases"]).query(query).json().await
    }

    /// One release with its resources.
    pub async fn release_get(&self, workload: &str, cluster: &str) -> Result<ReleaseView, Error> {
        self.project(Method::GET, &["workloads", workload, "releases", cluster]).json().await
    }

    /// Saves an override by name; with `now` what is published changes too.
    pub async fn override_put(
        &self,
        workload: &str,
        name: &str,
        put: &OverridePut,
        now: bool,
    ) -> Result<Workload, Error> {
        let call = self.project(Method::PUT, &["workloads", workload, "overrides", name]);
        call.flag("now", now).body(put).json().await
    }

    /// Removes an override by name, in the same way.
    pub async fn override_delete(&self, workload: &str, name: &str, now: bool) -> Result<Workload, Error> {
        let call = self.project(Method::DELETE, &["workloads", workload, "overrides", name]);
        call.flag("now", now).json().await
    }
}
