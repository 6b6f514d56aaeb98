//! Deletes versions of charts.

use domain::actions;
use domain::authorization::UserAction;
use domain::chart_repository::is_same_version;
use domain::event::{EventKind, NewEvent};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Deletes a stored version of a chart. One of a repository is fetched again when it is used.
    ///
    /// # Errors
    /// It is not stored; a draft or a revision of a workload names it.
    pub async fn delete_chart(
        &self,
        actor: &Actor,
        repository: &str,
        name: &str,
        version: &str,
    ) -> Result<(), Error> {
        actor.authorize(UserAction::ChangeCharts)?;
        let reference = format!("{repository}/{name}");
        let mut tx = self.write_as(actor, UserAction::ChangeCharts).await?;
        // A publish that uses it is either seen below, or finds no chart; so does another deletion.
        store::chart::lock_versions(&mut tx, self.project(), repository, name).await?;
        let found = store::chart::get(&mut tx, self.project(), repository, name, version).await?;
        if found.is_none() {
            return Err(Error::not_found("chart", format!("{reference} {version}")));
        }
        let uses = store::chart_repository::list_uses(&mut tx, self.project(), repository).await?;
        let mut used_by: Vec<String> = uses
            .into_iter()
            // A draft without a version, or one that can't be read, may mean this one.
            .filter(|one| {
                one.version.is_empty() || (one.chart == reference && is_same_version(&one.version, version))
            })
            .map(|one| one.workload)
            .collect();
        used_by.dedup();
        actions::check_delete_chart(&reference, version, &used_by)?;
        store::chart::delete(&mut tx, self.project(), repository, name, version).await?;
        let message = format!("Chart {reference} {version} was deleted.");
        let event = NewEvent::new(EventKind::ChartDeleted, &actor.name, message)
            .with_object("chart", &format!("{reference} {version}"));
        self.commit(tx, CommitEffects::with_event(event).with_empty_response(actor, 204)).await
    }
}
