//! Changes the draft; what runs is not touched before a publish (S0-1).

use domain::can;
use domain::cluster::check_labels;
use domain::event::{EventKind, NewEvent};
use domain::workload::Workload;

use super::{WorkloadEdit, check_match};
use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Changes the draft. `if_match` is the revision the person saw. An edit that changes nothing stores nothing.
    pub async fn workload_edit(
        &self,
        actor: &Actor,
        name: &str,
        edit: WorkloadEdit,
        if_match: Option<i64>,
    ) -> Result<Workload, Error> {
        let refused = edit.labels.as_ref().map(check_labels).unwrap_or_default();
        if !refused.is_empty() {
            return Err(Error::Invalid(refused));
        }
        let mut tx = self.write().await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        check_match(workload.revision, if_match)?;
        can::edit(&workload)?;
        let before = workload.clone();
        if let Some(spec) = edit.spec {
            workload.draft = spec;
        }
        if let Some(labels) = edit.labels {
            workload.labels = labels;
        }
        if workload == before {
            return Ok(workload);
        }
        workload.draft_changed = self.differs_from_published(&mut tx, &workload).await?;
        self.store_workload(&mut tx, actor, &mut workload).await?;
        let event = NewEvent::new(EventKind::WorkloadEdited, &actor.name, format!("{name} was edited."))
            .workload(workload.id, name);
        self.commit(tx, Done::with(event)).await?;
        Ok(workload)
    }

    pub(crate) async fn differs_from_published(
        &self,
        tx: &mut store::Tx,
        workload: &Workload,
    ) -> Result<bool, Error> {
        let Some(number) = workload.published else {
            return Ok(true);
        };
        let published = store::revision::get(tx, workload.id, number).await?;
        Ok(published.is_none_or(|revision| revision.spec != workload.draft))
    }
}
