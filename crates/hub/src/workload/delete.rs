//! Takes a workload back and forgets it once it runs nowhere (S1-22, S3-12).

use domain::can;
use domain::event::{EventKind, NewEvent};
use domain::workload::{Intent, Workload};

use super::Removal;
use super::unpublish::Leaving;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Takes it back and forgets it once it runs nowhere. With `force`, clusters that can't be heard are given up.
    pub async fn workload_delete(
        &self,
        actor: &Actor,
        name: &str,
        removal: Removal,
    ) -> Result<Workload, Error> {
        let mut tx = self.write().await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        if !(removal.force && workload.intent == Intent::Deleting) {
            can::delete(&workload)?;
        }
        workload.intent = Intent::Deleting;
        let event =
            NewEvent::new(EventKind::WorkloadDeleting, &actor.name, format!("{name} is being deleted."))
                .workload(workload.id, name);
        self.take_back(tx, actor, workload, Leaving { removal, event }).await
    }
}
