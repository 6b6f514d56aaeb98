//! Creates a deployment (S1-10).

use domain::authorization::UserAction;
use domain::chart::ChartSource;
use domain::deployment::{
    DeploymentRequest, DeploymentResult, ValuesUpdate, group_placement, set_request_modes,
};
use domain::placement::Decision;
use domain::policy::NotAssessedPolicy;
use domain::workload::{Intent, NewWorkload, Source, WorkloadSpec};
use domain::{Finding, OverrideId};
use tokio::time::Instant;

use super::list_pending_targets;
use super::release_name::DeploymentNames;
use crate::workload::{CheckResult, PublishOptions, PublishResponse};
use crate::{Actor, Error, Hub};

impl Hub {
    /// Deploys a chart to every cluster of a group, and waits for their outcome, at the latest until `deadline`.
    ///
    /// # Errors
    /// There is no such group or chart; the request or the rendered objects are invalid; the release name is in use.
    pub async fn create_deployment(
        &self,
        actor: &Actor,
        group: &str,
        request: DeploymentRequest,
        deadline: Instant,
    ) -> Result<DeploymentResult, Error> {
        actor.authorize(UserAction::Deploy)?;
        check_request(&request)?;
        let mut tx = self.read().await?;
        let targets = self.load_deployment_targets(&mut tx, group).await?;
        check_overrides(&request, group, &targets)?;
        let names = self.choose_names(&mut tx, actor, (group, &targets), &request).await?;
        let DeploymentNames { release, workload: name } = names;
        let mut findings = Vec::new();
        drop(tx);
        let mut spec = self.build_spec(group, &request, &mut findings).await?;
        if let Source::Chart(source) = &mut spec.source
            && release != name
        {
            source.release_name.clone_from(&release);
        }
        let new = NewWorkload { name: name.clone(), spec, ..NewWorkload::default() };
        let existing = self.find_draft(&release, group).await?;
        let checked = match existing {
            true => self.check_workload(actor, &name, &new.spec).await?,
            false => self.check_workload_create(actor, &new).await?,
        };
        findings.extend(reject_blocking(&checked)?);
        if request.dry_run {
            return Ok(dry_run_result(release, &checked.decision, findings));
        }
        let response = PublishResponse::Deployment {
            group: group.to_owned(),
            release_name: release.clone(),
            findings: findings.clone(),
        };
        let (message, options) =
            (describe_chart(&request), PublishOptions { response, ..PublishOptions::default() });
        let published = if existing {
            let content = crate::PublishContent::Spec(Box::new(new.spec));
            let options = PublishOptions { content, ..options };
            self.publish_workload(actor, &name, &message, options).await?
        } else {
            self.create_published_workload(actor, new, &message, options).await?
        };
        self.finish_publish(&release, published, (findings, deadline)).await
    }

    /// Waits for the outcome of a publish.
    pub(super) async fn finish_publish(
        &self,
        name: &str,
        published: domain::workload::PublishResult,
        (findings, deadline): (Vec<Finding>, Instant),
    ) -> Result<DeploymentResult, Error> {
        let Some(operation) = published.operation else {
            // This server always sets it.
            return Err(Error::not_found("operation", name));
        };
        let result = self.wait_for_deployment(name, (operation, &published.clusters), deadline).await?;
        Ok(DeploymentResult { findings, ..result })
    }

    /// Whether a draft of this deployment exists that was never published: a user created it, or a request to an earlier version of the
    /// server that was cut off.
    async fn find_draft(&self, name: &str, group: &str) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        let found = self.find_deployment(&mut tx, group, name).await?;
        Ok(found.is_some_and(|deployment| deployment.workload.intent == Intent::Draft))
    }

    async fn build_spec(
        &self,
        group: &str,
        request: &DeploymentRequest,
        findings: &mut Vec<Finding>,
    ) -> Result<WorkloadSpec, Error> {
        let namespace = if request.namespace.is_empty() {
            let message = "No namespace is given; the deployment uses the namespace \"default\".";
            let hint = "Set a namespace of its own.";
            findings.push(Finding::warning("G107", message, hint).with_path("/namespace"));
            "default".to_owned()
        } else {
            request.namespace.clone()
        };
        let (chart, version) = (request.name.clone(), request.version.clone());
        let source = ChartSource { chart, version, ..ChartSource::default() };
        let mut spec = WorkloadSpec {
            namespace,
            source: Source::Chart(source),
            placement: group_placement(group),
            ..WorkloadSpec::default()
        };
        self.pin_chart_version(&mut spec.source).await?;
        spec.policies.create_namespace = true;
        spec.policies.not_assessed = Some(NotAssessedPolicy::Wait);
        set_request_modes(&mut spec.rollout, request.rolling_mode, request.atomic);
        self.update_values(&mut spec, request, false);
        Ok(spec)
    }

    /// Changes the values of a spec as the request says.
    pub(super) fn update_values(&self, spec: &mut WorkloadSpec, request: &DeploymentRequest, reuse: bool) {
        let update = ValuesUpdate {
            values: &request.values,
            overrides: &request.value_overrides,
            reuse_values: reuse,
        };
        update.apply(spec, || self.ids().generate(OverrideId::from_parts));
    }
}

/// Rejects what can't be done, whatever is stored.
pub(super) fn check_request(request: &DeploymentRequest) -> Result<(), Error> {
    let mut findings = Vec::new();
    if !request.name.contains('/') {
        let hint = "Write the repository and the chart, such as local/podinfo.";
        findings.push(("G112", "/name", "missing repo ref from chart name".to_owned(), hint));
    }
    if request.package {
        let hint = "Upload the chart with POST /api/v1/projects/default/charts and name it local/<name>.";
        let message = "deployment using custom chart content is unsupported".to_owned();
        findings.push(("G112", "/package", message, hint));
    }
    let findings: Vec<Finding> = findings
        .into_iter()
        .map(|(code, path, message, hint)| Finding::error(code, message, hint).with_path(path))
        .collect();
    if findings.is_empty() { Ok(()) } else { Err(Error::Invalid(findings)) }
}

/// Rejects values for clusters that are no members (S1-11).
pub(super) fn check_overrides(
    request: &DeploymentRequest,
    group: &str,
    members: &[String],
) -> Result<(), Error> {
    let foreign = request.value_overrides.keys().filter(|name| !members.contains(name));
    let finding = |name: &String| {
        let shown: Vec<&str> = members.iter().take(10).map(String::as_str).collect();
        let message =
            format!("valueOverrides names {name:?}, which is no member of cluster group {group:?}.");
        Finding::error("G506", message, format!("Its members are {}.", shown.join(", ")))
            .with_path(format!("/valueOverrides/{}", domain::field_path::escape_pointer_token(name)))
    };
    let findings: Vec<Finding> = foreign.take(10).map(finding).collect();
    if findings.is_empty() { Ok(()) } else { Err(Error::Invalid(findings)) }
}

/// The findings without errors.
pub(super) fn reject_blocking(checked: &CheckResult) -> Result<Vec<Finding>, Error> {
    if checked.findings.iter().any(Finding::is_blocking) {
        return Err(Error::Invalid(checked.findings.clone()));
    }
    Ok(checked.findings.clone())
}

/// The message of the revision.
pub(super) fn describe_chart(request: &DeploymentRequest) -> String {
    format!("{} {}", request.name, request.version).trim_end().to_owned()
}

/// The result of a dry run: which clusters would get it.
pub(super) fn dry_run_result(name: String, decision: &Decision, findings: Vec<Finding>) -> DeploymentResult {
    DeploymentResult {
        release_name: name,
        operation: None,
        message: "Dry run: nothing was stored.".to_owned(),
        target_clusters: list_pending_targets(decision),
        findings,
    }
}
