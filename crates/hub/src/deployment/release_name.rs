//! The release name of a deployment, and the name of its workload (S1-16, S1-17).
//!
//! A release name is in use where another workload has it on one of the target clusters. Groups with other clusters may use the same
//! one: the first workload has it as its name, the others carry the group in theirs.

use std::collections::HashSet;

use domain::chart::MAX_RELEASE_NAME;
use domain::deployment::{DeploymentRequest, format_release_name};
use domain::placement::decide;
use domain::workload::Intent;
use domain::{Digest, Finding, name_check};
use rand::Rng;
use store::Tx;

use super::Deployment;
use crate::placement::{PlacementInputs, load_placement_inputs};
use crate::{Actor, Error, Hub};

/// How many random names are tried.
const NAME_ATTEMPTS: u32 = 20;

/// The names of a deployment that is created.
pub(super) struct DeploymentNames {
    /// Name of the Helm release.
    pub release: String,
    /// Name of the workload.
    pub workload: String,
}

impl Hub {
    /// The requested release name, or a random one. A request with a key has the same names whenever it is repeated, so that a retry
    /// continues with the draft of the request that was cut off.
    pub(super) async fn choose_names(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        (group, targets): (&str, &[String]),
        request: &DeploymentRequest,
    ) -> Result<DeploymentNames, Error> {
        if request.release_name.is_empty()
            && let Some(name) = self.generate_release_name(tx, actor, group).await?
        {
            return Ok(DeploymentNames { workload: name.clone(), release: name });
        }
        let name = &request.release_name;
        check_release_name(name)?;
        if let Some(existing) = self.find_deployment(tx, group, name).await? {
            return continue_draft(existing, name);
        }
        if let Some(finding) = self.find_other_user(tx, name, (group, targets)).await? {
            return Err(Error::Invalid(vec![finding.with_path("/releaseName")]));
        }
        let workload = self.choose_workload_name(tx, name, group).await?;
        Ok(DeploymentNames { release: name.clone(), workload })
    }

    /// Two random words that no workload has as its name; `None` if none were found.
    async fn generate_release_name(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        group: &str,
    ) -> Result<Option<String>, Error> {
        for attempt in 0..NAME_ATTEMPTS {
            let random = match &actor.request_key {
                Some(key) => derive_number(&[&actor.name, &key.key, &attempt.to_string()]),
                None => rand::rng().random(),
            };
            let name = format_release_name(random, attempt);
            let is_own_draft = actor.request_key.is_some()
                && self
                    .find_deployment(tx, group, &name)
                    .await?
                    .is_some_and(|deployment| deployment.workload.intent == Intent::Draft);
            let is_free = store::workload::get_head_by_name(tx, self.project(), &name).await?.is_none();
            if is_own_draft || is_free {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// G105: a workload that has this release name, or has it as its name, on one of the target clusters.
    async fn find_other_user(
        &self,
        tx: &mut Tx,
        name: &str,
        (group, targets): (&str, &[String]),
    ) -> Result<Option<Finding>, Error> {
        let mut users: Vec<Deployment> = self.load_as_deployment(tx, name).await?.into_iter().collect();
        users.retain(|one| one.spec().source.chart().is_none() || one.release_name() == name);
        for other in store::group::list(tx).await? {
            if other.name != group {
                users.extend(self.find_deployment(tx, &other.name, name).await?);
            }
        }
        for user in users {
            let clusters = list_clusters(tx, &user).await?;
            if let Some(cluster) = targets.iter().find(|target| clusters.contains(*target)) {
                return Ok(Some(taken_finding(name, cluster, &user.workload.name)));
            }
        }
        Ok(None)
    }

    /// The release name, if no workload has it as its name; otherwise with the group.
    async fn choose_workload_name(&self, tx: &mut Tx, name: &str, group: &str) -> Result<String, Error> {
        let digest = Digest::compute(group.as_bytes());
        let candidates = [name.to_owned(), format!("{name}-{group}"), format!("{name}-{}", digest.short())];
        for candidate in candidates {
            let is_valid = name_check::check_workload_name(&candidate).is_none();
            if is_valid && store::workload::get_head_by_name(tx, self.project(), &candidate).await?.is_none()
            {
                return Ok(candidate);
            }
        }
        let message = format!("Workloads with the names {name:?} and \"{name}-{group}\" exist already.");
        let finding = Finding::error("G105", message, "Choose another release name.");
        Err(Error::Invalid(vec![finding.with_path("/releaseName")]))
    }
}

/// The names of the clusters that have this workload, or that its placement selects.
async fn list_clusters(tx: &mut Tx, user: &Deployment) -> Result<HashSet<String>, Error> {
    let inputs = load_placement_inputs(tx, Some(user.workload.id)).await?;
    let PlacementInputs { clusters, groups, current } = inputs;
    let decision = decide(&user.spec().placement, &clusters, &groups, &current);
    let mut names: HashSet<String> = decision.selected().map(|one| one.name.clone()).collect();
    let present = clusters.into_iter().filter(|cluster| current.contains(&cluster.id));
    names.extend(present.map(|cluster| cluster.name));
    Ok(names)
}

/// The names of a deployment that was not published: a request that was cut off created it.
fn continue_draft(existing: Deployment, name: &str) -> Result<DeploymentNames, Error> {
    match existing.workload.intent {
        Intent::Draft => Ok(DeploymentNames { release: name.to_owned(), workload: existing.workload.name }),
        Intent::Deleting => {
            let why = format!("{name} is being deleted from its clusters. Repeat this when it is gone.");
            Err(domain::actions::ActionUnavailable(why).into())
        }
        _ => Err(Error::AlreadyExists(format!("deployment already exists with this release name: {name}"))),
    }
}

fn check_release_name(name: &str) -> Result<(), Error> {
    let invalid = name_check::check_workload_name(name).or_else(|| {
        let message = format!("Release name {name:?} has more than {MAX_RELEASE_NAME} characters.");
        let finding = Finding::error("G103", message, "Choose a shorter release name.");
        (name.len() > MAX_RELEASE_NAME).then_some(finding)
    });
    match invalid {
        Some(finding) => Err(Error::Invalid(vec![finding.with_path("/releaseName")])),
        None => Ok(()),
    }
}

fn taken_finding(name: &str, cluster: &str, workload: &str) -> Finding {
    let message = format!(
        "release name {name} not available on all target clusters: release name is not unique across target clusters, because workload {workload} has it on cluster {cluster}."
    );
    Finding::error("G105", message, "Choose another release name.")
}

/// A number that depends on these texts only.
fn derive_number(texts: &[&str]) -> u64 {
    let digest = Digest::compute(texts.join("\0").as_bytes());
    let hex: String = digest.as_str().chars().rev().take(16).collect();
    u64::from_str_radix(&hex, 16).unwrap_or_default()
}
