//! The release name of a deployment, and the name of its workload (S1-16, S1-17).
//!
//! A release name is in use where another workload has it on one of the target clusters. Groups with other clusters may use the same
//! one: the first workload has it as its name, the others carry the group in theirs.

use std::collections::HashSet;

use domain::chart::MAX_RELEASE_NAME;
use domain::deployment::{DeploymentRequest, format_release_name};
use domain::guard::RELEASE_NAME_IN_USE;
use domain::release::Release;
use domain::workload::Intent;
use domain::{ClusterId, Digest, Finding, WorkloadId, name_check};
use rand::Rng;
use store::Tx;

use super::Deployment;
use crate::placement::{PlacementInputs, decide, load_placement_inputs};
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
        let users = self.list_other_users(tx, name, group).await?;
        check_free(tx, users, (name, targets)).await?;
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

    /// Checks the release name of a deployment again in the transaction that publishes it: another one may have been published with this
    /// name since it was chosen. The caller has locked the changes of groups, so that this transaction is the only one that does so.
    ///
    /// # Errors
    /// G105: a published workload has the name on one of the target clusters.
    pub(crate) async fn recheck_release_name(
        &self,
        tx: &mut Tx,
        workload: WorkloadId,
        (group, name): (&str, &str),
        targets: &[String],
    ) -> Result<(), Error> {
        let mut users = self.list_other_users(tx, name, group).await?;
        users.retain(|user| user.workload.id != workload && user.workload.intent == Intent::Published);
        check_free(tx, users, (name, targets)).await
    }

    /// The workloads outside of the group that have this release name, or have it as their name.
    async fn list_other_users(&self, tx: &mut Tx, name: &str, group: &str) -> Result<Vec<Deployment>, Error> {
        let mut users: Vec<Deployment> = self.load_as_deployment(tx, name).await?.into_iter().collect();
        users.retain(|one| one.spec().source.chart().is_none() || one.release_name() == name);
        for other in store::group::list(tx).await? {
            if other.name != group {
                users.extend(self.find_deployment(tx, &other.name, name).await?);
            }
        }
        Ok(users)
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
        let finding = Finding::error(RELEASE_NAME_IN_USE, message, "Choose another release name.");
        Err(Error::Invalid(vec![finding.with_path("/releaseName")]))
    }
}

/// G105: one of these workloads is on a target cluster.
async fn check_free(
    tx: &mut Tx,
    users: Vec<Deployment>,
    (name, targets): (&str, &[String]),
) -> Result<(), Error> {
    for user in users {
        let clusters = list_clusters(tx, &user).await?;
        if let Some(cluster) = targets.iter().find(|target| clusters.contains(*target)) {
            let finding = taken_finding(name, cluster, &user.workload.name);
            return Err(Error::Invalid(vec![finding.with_path("/releaseName")]));
        }
    }
    Ok(())
}

/// The names of the clusters that have this workload, or that its placement selects. Its releases are read without a lock.
async fn list_clusters(tx: &mut Tx, user: &Deployment) -> Result<HashSet<String>, Error> {
    let PlacementInputs { clusters, groups, .. } = load_placement_inputs(tx, None).await?;
    let releases = store::release::read_all_by_workload(tx, user.workload.id).await?;
    let current: Vec<ClusterId> =
        releases.iter().filter(|release| release.is_present()).map(Release::cluster).collect();
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
    Finding::error(RELEASE_NAME_IN_USE, message, "Choose another release name.")
}

/// A number that depends on these texts only.
fn derive_number(texts: &[&str]) -> u64 {
    let digest = Digest::compute(texts.join("\0").as_bytes());
    let hex: String = digest.as_str().chars().rev().take(16).collect();
    u64::from_str_radix(&hex, 16).unwrap_or_default()
}
