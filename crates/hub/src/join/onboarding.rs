//! How far a cluster is that joins.

use domain::actions::ActionUnavailable;
use domain::cluster::ClusterKind;
use domain::join::{Onboarding, OnboardingRecords, evaluate_onboarding};

use crate::{Error, Hub};

impl Hub {
    /// The stages of the cluster of this name, from the generated manifests until it is online.
    ///
    /// # Errors
    /// Nothing is known of this name, or the cluster has no agent of its own.
    pub async fn get_onboarding(&self, name: &str) -> Result<Onboarding, Error> {
        let mut tx = self.read().await?;
        let token = store::join_token::find_newest_by_cluster(&mut tx, name).await?;
        let latest = store::registration::find_latest(&mut tx, name).await?;
        let by_name = store::cluster::get_by_name(&mut tx, name).await?;
        if token.is_none() && latest.is_none() && by_name.is_none() {
            return Err(Error::not_found("cluster", name));
        }
        if by_name.as_ref().is_some_and(|cluster| cluster.kind != ClusterKind::Agent) {
            let why = format!("Cluster {name} has no agent of its own: the server serves it.");
            return Err(Error::FailedPrecondition(ActionUnavailable(why)));
        }
        let (registration, decided_at) = latest.unzip();
        let mut records = OnboardingRecords {
            token,
            registration,
            decided_at: decided_at.flatten(),
            ..OnboardingRecords::default()
        };
        if let Some(registration) = &records.registration
            && let Some(id) = registration.cluster
        {
            let issued = store::certificate::find_first(&mut tx, id, &registration.fingerprint).await?;
            records.certificate = issued.map(|issued| (issued.created_at, issued.not_after));
            records.joining = store::certificate::list_join_statuses(&mut tx, &[id]).await?.remove(&id);
            records.cluster = by_name.filter(|cluster| cluster.id == id);
        }
        Ok(evaluate_onboarding(name, records, self.clock().now()))
    }
}
