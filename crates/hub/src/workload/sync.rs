//! Sync: requests an immediate comparison on clusters (S1-21). Never adds targets (S1-9b).

use domain::actions;
use domain::authorization::UserAction;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::operation::OperationKind;

use crate::hub::CommitEffects;
use crate::operation::OperationRequest;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Requests the given clusters (all if empty) to compare now and to reset their back-offs. Returns their number.
    pub async fn sync_workload(&self, actor: &Actor, name: &str, clusters: &[String]) -> Result<u32, Error> {
        actor.authorize(UserAction::Sync)?;
        let mut tx = self.write_as(actor, UserAction::Sync).await?;
        let workload = self.lock_workload_head(&mut tx, name).await?;
        actions::check_sync(&workload)?;
        let mut selected = Vec::new();
        for cluster in clusters {
            let found = store::cluster::get_by_name(&mut tx, cluster).await?;
            selected.push(found.ok_or_else(|| Error::not_found("cluster", cluster))?.id);
        }
        let mut synced = Vec::new();
        let releases = store::release::list_all_by_workload(&mut tx, workload.id).await?;
        self.close_operations(&mut tx, workload.id, &releases).await?;
        let request =
            OperationRequest { workload: workload.id, name, kind: OperationKind::Sync, revision: None };
        self.begin_operation(&mut tx, actor, request).await?;
        for mut release in releases {
            if release.desired_release(name).is_some()
                && (selected.is_empty() || selected.contains(&release.cluster()))
            {
                release.request_sync();
                store::release::update(&mut tx, &release).await?;
                synced.push(release.cluster());
            }
        }
        let count = u32::try_from(synced.len()).unwrap_or(u32::MAX);
        let now = self.clock().now();
        store::queue::PLACER.mark_requested(&mut tx, workload.id, now).await?;
        let (detail, subject) =
            (EventDetail::SyncRequested { clusters: count }, EventSubject::workload(workload.id, name));
        let event = NewEvent::from_detail(detail, &actor.name, subject, now);
        self.commit(
            tx,
            CommitEffects {
                events: vec![event],
                changed_clusters: synced,
                wake_placer: true,
                ..CommitEffects::default()
            },
        )
        .await?;
        Ok(count)
    }
}
