//! Features of a group (S1-2).

use domain::Finding;
use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::event::{EditAction, EventDetail, EventSubject, NewEvent};
use domain::placement::{
    ClusterGroup, FeatureProperties, FeatureState, FeatureStatus, GroupFeature, GroupFeatureName,
};
use domain::release::ReleaseState;
use domain::request::RemovalOptions;
use store::Tx;

use super::member::load_group;
use crate::hub::CommitEffects;
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
    /// There is no such group or feature; its last change is still in progress.
    pub async fn enable_group_feature(
        &self,
        actor: &Actor,
        group: &str,
        (feature, properties): (&str, FeatureProperties),
    ) -> Result<FeatureStatus, Error> {
        actor.authorize(UserAction::ChangeGroups)?;
        let name = parse_feature(feature)?;
        let mut tx = self.write_as(actor, UserAction::ChangeGroups).await?;
        let stored = load_group(&mut tx, group).await?;
        let status = self.load_feature_status(&mut tx, &stored, name).await?;
        if status.reconcile_state != FeatureState::Success {
            return Err(in_progress(&status).into());
        }
        self.store_feature(tx, actor, stored, GroupFeature { name, enabled: true, properties }).await?;
        self.get_group_feature(group, feature).await
    }

    /// Disables a feature. Without the feature `deployment`, the deployments of the group are deleted.
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
        let mut tx = self.write_as(actor, UserAction::ChangeGroups).await?;
        let stored = load_group(&mut tx, group).await?;
        let setting = stored.feature(name);
        let deployments = self.load_group_deployments(&mut tx, group).await?;
        let status = self.load_feature_status(&mut tx, &stored, name).await?;
        if !setting.enabled
            && status.reconcile_state != FeatureState::Success
            && deployments.iter().all(|one| one.is_deleting())
        {
            return Err(in_progress(&status).into());
        }
        self.store_feature(tx, actor, stored, GroupFeature { enabled: false, ..setting }).await?;
        if name == GroupFeatureName::Deployment {
            for deployment in deployments.iter().filter(|one| !one.is_deleting()) {
                self.delete_workload(actor, &deployment.workload.name, RemovalOptions::default()).await?;
            }
        }
        self.get_group_feature(group, feature).await
    }

    async fn store_feature(
        &self,
        mut tx: Tx,
        actor: &Actor,
        mut group: ClusterGroup,
        feature: GroupFeature,
    ) -> Result<(), Error> {
        let old = group.revision;
        group.revision += 1;
        group.set_feature(feature);
        if !store::group::update(&mut tx, &group, old).await? {
            return Err(Error::RevisionConflict { current: old });
        }
        let detail = EventDetail::ClusterGroup {
            name: group.name,
            action: EditAction::Saved,
            joined: Vec::new(),
            left: Vec::new(),
        };
        let event = NewEvent::from_detail(detail, &actor.name, EventSubject::default(), self.clock().now());
        self.commit(tx, CommitEffects::with_event(event)).await
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
                let releases = store::release::list_all_by_workload(tx, deployment.workload.id).await?;
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
            "G502",
            message,
            format!("Features are {}.", known.join(" and ")),
        )])
    })
}
