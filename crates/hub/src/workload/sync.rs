//! Asks clusters to compare now (S1-21). Never adds targets (S1-9b).

use domain::can;
use domain::event::{EventKind, NewEvent};

use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Asks the given clusters (all if none) to compare now and forget their back-offs. Returns how many were asked.
    pub async fn workload_sync(&self, actor: &Actor, name: &str, clusters: &[String]) -> Result<u32, Error> {
        let mut tx = self.write().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        can::sync(&workload)?;
        let mut wanted = Vec::new();
        for cluster in clusters {
            let found = store::cluster::by_name(&mut tx, cluster).await?;
            wanted.push(found.ok_or_else(|| Error::not_found("cluster", cluster))?.id);
        }
        let mut asked = Vec::new();
        for mut release in store::release::all_of_workload(&mut tx, workload.id).await? {
            if release.want(name).is_some() && (wanted.is_empty() || wanted.contains(&release.cluster)) {
                release.sync_now();
                store::release::update(&mut tx, &release).await?;
                asked.push(release.cluster);
            }
        }
        let count = u32::try_from(asked.len()).unwrap_or(u32::MAX);
        store::queue::PLACER.mark(&mut tx, &[workload.id], self.clock().now()).await?;
        let message = format!("{count} clusters were asked to compare {name} now.");
        let event =
            NewEvent::new(EventKind::WorkloadSynced, &actor.name, message).workload(workload.id, name);
        self.commit(tx, Done { events: vec![event], wants_of: asked, dirty: true, ..Done::default() })
            .await?;
        Ok(count)
    }
}
