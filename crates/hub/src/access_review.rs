//! The object of a question whether somebody may do something.

use domain::authorization::UserAction;

use crate::cluster::load_cluster;
use crate::{Error, Hub};

impl Hub {
    /// Rejects a name of a workload or a cluster that does not exist: what may be done with it is not known. Other actions concern no
    /// object with a name, and everybody may see that these exist.
    ///
    /// # Errors
    /// There is no such workload or cluster.
    pub async fn check_action_object(&self, action: UserAction, name: &str) -> Result<(), Error> {
        let mut tx = self.read().await?;
        match action {
            UserAction::EditCluster | UserAction::RemoveCluster | UserAction::InjectFault => {
                load_cluster(&mut tx, name).await.map(drop)
            }
            UserAction::Edit
            | UserAction::Plan
            | UserAction::Publish
            | UserAction::Unpublish
            | UserAction::Sync
            | UserAction::Retain
            | UserAction::ControlRollout
            | UserAction::ApproveRollout
            | UserAction::DeleteWorkload
            | UserAction::AllowSystemNamespaces
            | UserAction::SetExecutor => self.load_workload_head(&mut tx, name).await.map(drop),
            // Either of them is suspended.
            UserAction::Suspend => match self.load_workload_head(&mut tx, name).await {
                Err(Error::NotFound { .. }) => load_cluster(&mut tx, name).await.map(drop),
                found => found.map(drop),
            },
            _ => Ok(()),
        }
    }
}
