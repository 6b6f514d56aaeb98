//! Forgets a cluster.

use domain::Severity;
use domain::can::WhyNot;
use domain::event::{EventKind, NewEvent};

use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Forgets a cluster on which nothing is left. With `force`, also one that holds something still or can't be asked:
    /// what runs there is left alone, and its agent is cut off.
    pub async fn cluster_delete(&self, actor: &Actor, name: &str, force: bool) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let found = store::cluster::by_name(&mut tx, name).await?;
        let cluster = found.ok_or_else(|| Error::not_found("cluster", name))?;
        let held = store::release::count_held(&mut tx, cluster.id).await?;
        if held > 0 && !force {
            let s = if held == 1 { "" } else { "s" };
            let why = format!(
                "Cluster {name} still holds {held} workload{s}: take them away first, or delete with force and what \
                 runs there is left alone."
            );
            return Err(Error::NotNow(WhyNot(why)));
        }
        let now = self.clock().now();
        let workloads = store::release::delete_of_cluster(&mut tx, cluster.id).await?;
        store::cluster::delete(&mut tx, cluster.id).await?;
        store::queue::PLACER.mark_everything(&mut tx, now).await?;
        store::queue::PLACER.mark(&mut tx, &workloads, now).await?;
        let left =
            if held > 0 { format!("; {held} of its workloads are left as they are") } else { String::new() };
        let event = NewEvent::new(
            EventKind::ClusterDeleted,
            &actor.name,
            format!("Cluster {name} was deleted{left}."),
        )
        .cluster(cluster.id, name)
        .weighing(if held > 0 { Severity::Warning } else { Severity::Note });
        let done = Done { events: vec![event], wants_of: vec![cluster.id], dirty: true, ..Done::default() };
        self.commit(tx, done).await
    }
}
