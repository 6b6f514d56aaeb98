//! Removes repositories.

use domain::actions;
use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Removes a repository with the charts that were fetched from it.
    ///
    /// # Errors
    /// There is no such repository; a workload names one of its charts, in its draft or in a revision.
    pub async fn remove_chart_repository(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        actor.authorize(UserAction::ManageRepositories)?;
        let mut tx = self.write_as(actor, UserAction::ManageRepositories).await?;
        // A publish that uses one of its charts is either seen below, or finds no repository; so does another removal.
        store::chart_repository::lock(&mut tx, self.project(), name).await?;
        let found = store::chart_repository::get(&mut tx, self.project(), name).await?;
        let row = found.ok_or_else(|| Error::not_found("chart repository", name))?;
        let uses = store::chart_repository::list_uses(&mut tx, self.project(), name).await?;
        let mut used_by: Vec<String> = uses.into_iter().map(|one| one.workload).collect();
        used_by.dedup();
        actions::check_remove_repository(name, &used_by)?;
        for chart in store::chart::list_by_repository(&mut tx, self.project(), name).await? {
            store::chart::delete(&mut tx, self.project(), name, &chart.name, &chart.version).await?;
        }
        store::chart_repository::delete(&mut tx, self.project(), name).await?;
        let message = format!("Chart repository {} ({}) was removed.", row.name, row.url);
        let event = NewEvent::new(EventKind::ChartRepositoryRemoved, &actor.name, message)
            .with_object("chart repository", name);
        self.commit(tx, CommitEffects::with_event(event).with_empty_response(actor, 204)).await?;
        self.repository_reader().indexes.lock().remove(name);
        self.repository_reader().refresh_locks.lock().remove(name);
        Ok(())
    }
}
