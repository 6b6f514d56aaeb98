//! Features of a group (S1-2).

use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::event::{EditAction, EventDetail, NewEvent};
use domain::placement::{
    ClusterGroup, FeatureProperties, FeatureState, FeatureStatus, GroupFeature, GroupFeatureName,
    INVALID_GROUP,
};
use domain::release::ReleaseState;
use domain::request::RemovalOptions;
use domain::{Finding, WorkloadId};
use store::Tx;

use super::group_subject;
use super::member::{load_group, lock_group};
use crate::deployment::Deployment;
use crate::hub::CommitEffects;
use crate::idempotency::IN_PROGRESS;
use crate::{Actor, Error, Hub};

impl Hub {
    /// The features of a group.
    pub async fn list_group_features(&self, group: &str) -> Result<Vec<FeatureStatus>, Error> {
        let mut tx = self.read().await?;
        let group = load_group(&mut tx, group).await?;
        self.load_feature_statuses(&mut tx, &group).await
    }

    /// One feature of a group.
    ///
    /// # Errors
    /// There is no such group or feature.
    pub async fn get_group_feature(&self, group: &str, feature: &str) -> Result<FeatureStatus, Error> {
        let name = parse_feature(feature)?;
        let mut tx = self.read().await?;
        let group = load_group(&mut tx, group).await?;
        self.load_feature_status(&mut tx, &group, name).await
    }

    /// Enables a feature with these properties, or changes its properties.
    ///
    /// # Errors
    /// There is no such group or feature; its last change is still in progress. One that failed is no obstacle.
    pub async fn enable_group_feature(
        &self,
        actor: &Actor,
        group: &str,
        (feature, properties): (&str, FeatureProperties),
    ) -> Result<FeatureStatus, Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let name = parse_feature(feature)?;
        let mut tx = self.write_groups(actor).await?;
        let stored = lock_group(&mut tx, group).await?;
        let status = self.load_feature_status(&mut tx, &stored, name).await?;
        if status.reconcile_state == FeatureState::InProgress {
            return Err(in_progress(&status).into());
        }
        let feature = GroupFeature { name, enabled: true, properties };
        let (stored, effects) = self.stage_feature(&mut tx, actor, stored, feature).await?;
        let status = self.load_feature_status(&mut tx, &stored, name).await?;
        self.commit(tx, effects.with_response(actor, 200, &status)).await?;
        Ok(status)
    }

    /// Disables a feature. Without the feature `deployment`, the deployments of the group are deleted, in the same transaction; a deletion
    /// that has failed on a cluster is tried again there at once.
    ///
    /// # Errors
    /// There is no such group or feature; it is being disabled.
    pub async fn disable_group_feature(
        &self,
        actor: &Actor,
        group: &str,
        feature: &str,
    ) -> Result<FeatureStatus, Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let name = parse_feature(feature)?;
        let mut tx = self.write_groups(actor).await?;
        let stored = lock_group(&mut tx, group).await?;
        let setting = stored.feature(name);
        let deployments = self.load_group_deployments(&mut tx, group).await?;
        let status = self.load_feature_status(&mut tx, &stored, name).await?;
        if !setting.enabled
            && status.reconcile_state == FeatureState::InProgress
            && deployments.iter().all(|one| one.is_deleting())
        {
            return Err(in_progress(&status).into());
        }
        let feature = GroupFeature { enabled: false, ..setting };
        let (stored, mut effects) = self.stage_feature(&mut tx, actor, stored, feature).await?;
        if name == GroupFeatureName::Deployment {
            effects.append(self.stage_deployment_deletions(&mut tx, actor, &deployments).await?);
        }
        let status = self.load_feature_status(&mut tx, &stored, name).await?;
        self.commit(tx, effects.with_response(actor, IN_PROGRESS, &status)).await?;
        Ok(status)
    }

    /// Starts the deletion of these deployments, or tries it again where it has failed; the caller commits.
    pub(super) async fn stage_deployment_deletions(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        deployments: &[Deployment],
    ) -> Result<CommitEffects, Error> {
        let mut effects = CommitEffects::default();
        let workloads: Vec<WorkloadId> = deployments.iter().map(|one| one.workload.id).collect();
        self.lock_workloads(tx, &workloads).await?;
        for deployment in deployments {
            let name = &deployment.workload.name;
            effects.append(if deployment.is_deleting() {
                self.stage_deletion_retry(tx, actor, deployment).await?
            } else {
                self.stage_deletion(tx, actor, name, RemovalOptions::default()).await?.1
            });
        }
        Ok(effects)
    }

    /// Stores a feature; the caller commits. Returns the group as it is then.
    async fn stage_feature(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        mut group: ClusterGroup,
        feature: GroupFeature,
    ) -> Result<(ClusterGroup, CommitEffects), Error> {
        let old = group.revision;
        let verb = if feature.enabled { "enabled" } else { "disabled" };
        let message =
            format!("The feature {} of cluster group {} was {verb}.", feature.name.as_str(), group.name);
        tx.describe_audit(group_subject(&group.name).describe(), message);
        group.revision += 1;
        group.set_feature(feature);
        if !store::group::update(tx, &group, old).await? {
            return Err(Error::RevisionConflict { current: old });
        }
        let detail = EventDetail::ClusterGroup {
            name: group.name.clone(),
            action: EditAction::Saved,
            joined: Vec::new(),
            left: Vec::new(),
        };
        let event =
            NewEvent::from_detail(detail, &actor.name, group_subject(&group.name), self.clock().now());
        Ok((group, CommitEffects::with_event(event)))
    }

    pub(super) async fn load_feature_statuses(
        &self,
        tx: &mut Tx,
        group: &ClusterGroup,
    ) -> Result<Vec<FeatureStatus>, Error> {
        let mut statuses = Vec::with_capacity(GroupFeatureName::ALL.len());
        for name in GroupFeatureName::ALL {
            statuses.push(self.load_feature_status(tx, group, *name).await?);
        }
        Ok(statuses)
    }

    /// A feature with its effect: `deployment` is disabled completely once no deployment of the group is left.
    async fn load_feature_status(
        &self,
        tx: &mut Tx,
        group: &ClusterGroup,
        name: GroupFeatureName,
    ) -> Result<FeatureStatus, Error> {
        let feature = group.feature(name);
        let (mut state, mut error) = (FeatureState::Success, String::new());
        if name == GroupFeatureName::Deployment && !feature.enabled {
            for deployment in self.load_group_deployments(tx, &group.name).await? {
                if state == FeatureState::Success {
                    state = FeatureState::InProgress;
                }
                let releases = store::release::read_all_by_workload(tx, deployment.workload.id).await?;
                if let Some(failed) = releases.iter().find(|one| one.state() == ReleaseState::Failed) {
                    state = FeatureState::Failed;
                    error = format!("{}: {}", deployment.workload.name, failed.message());
                }
            }
        }
        Ok(FeatureStatus { feature, reconcile_state: state, last_reconcile_error: error })
    }
}

fn in_progress(status: &FeatureStatus) -> ActionUnavailable {
    let name = status.feature.name.as_str();
    ActionUnavailable(format!(
        "Feature {name} is being reconciled: deployments of the group are being deleted. Repeat this when it is completed."
    ))
}

/// The feature of this name.
fn parse_feature(name: &str) -> Result<GroupFeatureName, Error> {
    GroupFeatureName::parse(name).ok_or_else(|| {
        let known: Vec<&str> = GroupFeatureName::ALL.iter().map(|feature| feature.as_str()).collect();
        let shown: String = name.chars().take(63).collect();
        let message = format!("There is no feature {shown:?} of cluster groups.");
        Error::Invalid(vec![Finding::error(
            INVALID_GROUP,
            message,
            format!("Features are {}.", known.join(" and ")),
        )])
    })
}
