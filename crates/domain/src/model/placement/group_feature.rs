//! Features of a cluster group (S1-2): what the group is used for, and who may change its members.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::{IntoStaticStr, VariantArray};

use super::ClusterGroup;

/// A feature that a group can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum GroupFeatureName {
    /// Charts can be deployed to the group. Enabled by default; disabling it deletes the deployments of the group.
    Deployment,
    /// The members of the group can't be changed while it is enabled. Disabled by default.
    MembershipLock,
}

impl GroupFeatureName {
    /// Every feature.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The feature of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|feature| feature.as_str() == name)
    }

    const fn is_enabled_by_default(self) -> bool {
        matches!(self, Self::Deployment)
    }
}

/// Properties of a feature that the client chose; stored and returned as they are.
pub type FeatureProperties = Map<String, Value>;

/// A feature of a group as it was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GroupFeature {
    /// Which feature.
    pub name: GroupFeatureName,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Its properties.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub properties: FeatureProperties,
}

/// Whether the group has the effect of a feature's setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum FeatureState {
    /// Clusters have not completed it.
    InProgress,
    /// In effect on every cluster.
    Success,
    /// A cluster failed to complete it; it is retried without limit.
    Failed,
}

/// A feature with its effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FeatureStatus {
    /// The feature.
    #[serde(flatten)]
    pub feature: GroupFeature,
    /// Whether its setting is in effect.
    pub reconcile_state: FeatureState,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_reconcile_error: String,
}

impl ClusterGroup {
    /// The setting of a feature: as it was set, or the default.
    pub fn feature(&self, name: GroupFeatureName) -> GroupFeature {
        let set = self.features.iter().find(|feature| feature.name == name);
        set.cloned().unwrap_or_else(|| GroupFeature {
            name,
            enabled: name.is_enabled_by_default(),
            properties: FeatureProperties::new(),
        })
    }

    /// Sets a feature.
    pub fn set_feature(&mut self, feature: GroupFeature) {
        self.features.retain(|other| other.name != feature.name);
        self.features.push(feature);
        self.features.sort_by_key(|feature| feature.name.as_str());
    }
}

/// Whether the members of a group may be changed.
///
/// # Errors
/// The sentence of the feature that rejects it.
pub fn check_membership_change(group: &ClusterGroup) -> Result<(), String> {
    let lock = group.feature(GroupFeatureName::MembershipLock);
    if lock.enabled {
        return Err(format!(
            "update rejected: feature {} of group {:?} is enabled. Disable it to change the members.",
            lock.name.as_str(),
            group.name
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_2_deployments_are_enabled_by_default_and_a_lock_rejects_changes_of_the_members() {
        let mut group = ClusterGroup { name: "eu".to_owned(), ..ClusterGroup::default() };
        assert!(group.feature(GroupFeatureName::Deployment).enabled);
        assert_eq!(check_membership_change(&group), Ok(()));
        let lock = GroupFeature {
            name: GroupFeatureName::MembershipLock,
            enabled: true,
            properties: FeatureProperties::new(),
        };
        group.set_feature(lock);
        assert!(
            check_membership_change(&group)
                .unwrap_err()
                .starts_with("update rejected: feature membershipLock")
        );
    }
}
