//! Changes a deployment: chart version and values; new members of the group get it (S1-9, S1-18).

use domain::Finding;
use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::deployment::{DeploymentRequest, DeploymentResult, set_request_modes};
use domain::workload::{Intent, Source, WorkloadSpec};
use tokio::time::Instant;

use super::Deployment;
use super::create::{check_overrides, check_request, describe_chart, dry_run_result, reject_blocking};
use crate::workload::{PublishOptions, PublishResponse};
use crate::{Actor, Error, Hub};

impl Hub {
    /// Changes a deployment on every cluster of the group, and waits for their outcome, at the latest until `deadline`.
    ///
    /// # Errors
    /// There is no such deployment, or it is being deleted; its workload has unpublished changes; the request or the
    /// rendered objects are invalid.
    pub async fn update_deployment(
        &self,
        actor: &Actor,
        (group, name): (&str, &str),
        request: DeploymentRequest,
        deadline: Instant,
    ) -> Result<DeploymentResult, Error> {
        actor.authorize(UserAction::Deploy)?;
        let mut tx = self.read().await?;
        let deployment = self.load_deployment(&mut tx, group, name).await?;
        let targets = self.load_deployment_targets(&mut tx, group).await?;
        drop(tx);
        check_state(&deployment)?;
        let request = complete_request(&deployment, name, request)?;
        check_request(&request)?;
        check_overrides(&request, group, &targets)?;
        let mut spec: WorkloadSpec = deployment.spec().clone();
        if let Source::Chart(source) = &mut spec.source {
            source.chart.clone_from(&request.name);
            source.version.clone_from(&request.version);
        }
        set_request_modes(&mut spec.rollout, request.rolling_mode, request.atomic);
        self.update_values(&mut spec, &request, request.reuse_values);
        // A cluster that left the group has no values of its own any more.
        spec.overrides.retain(|over| {
            over.target.clusters.is_empty() || over.target.clusters.iter().any(|one| targets.contains(one))
        });
        let workload = &deployment.workload.name;
        let checked = self.check_workload(actor, workload, &spec).await?;
        let findings = reject_blocking(&checked)?;
        if request.dry_run {
            return Ok(dry_run_result(name.to_owned(), &checked.decision, findings));
        }
        let options = PublishOptions {
            content: crate::PublishContent::Spec(Box::new(spec)),
            draft_revision: Some(deployment.workload.revision),
            response: PublishResponse::Deployment {
                group: group.to_owned(),
                release_name: name.to_owned(),
                findings: findings.clone(),
            },
            ..PublishOptions::default()
        };
        let published = self.publish_workload(actor, workload, &describe_chart(&request), options).await?;
        self.finish_publish(name, published, (findings, deadline)).await
    }
}

fn check_state(deployment: &Deployment) -> Result<(), Error> {
    let name = &deployment.workload.name;
    let why = match deployment.workload.intent {
        Intent::Deleting => format!("{name} is being deleted."),
        Intent::Published if deployment.workload.draft_changed => format!(
            "The draft of {name} has changes that are not published, which this would overwrite. Publish or discard them first."
        ),
        _ => return Ok(()),
    };
    Err(ActionUnavailable(why).into())
}

/// The request with the stored chart, version and namespace where it names none.
fn complete_request(
    deployment: &Deployment,
    name: &str,
    mut request: DeploymentRequest,
) -> Result<DeploymentRequest, Error> {
    let spec = deployment.spec();
    if !request.release_name.is_empty() && request.release_name != name {
        return Err(immutable("/releaseName", "The release name can't be changed.", name));
    }
    if !request.namespace.is_empty() && request.namespace != spec.namespace {
        return Err(immutable(
            "/namespace",
            "The namespace of a deployment can't be changed.",
            &spec.namespace,
        ));
    }
    if let Some(source) = spec.source.chart() {
        if request.name.is_empty() {
            request.name.clone_from(&source.chart);
        }
        if request.version.is_empty() {
            request.version.clone_from(&source.version);
        }
    }
    Ok(request)
}

fn immutable(path: &str, message: &str, current: &str) -> Error {
    let hint = format!("Omit it, or write {current:?}. Create another deployment instead.");
    Error::Invalid(vec![Finding::error("G101", message, hint).with_path(path)])
}
