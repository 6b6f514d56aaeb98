//! Makes the chart inside an object of another tool the source of a draft.

use domain::actions;
use domain::authorization::UserAction;
use domain::chart_envelope::{self, ChartUnwrapping};
use domain::event::NewEvent;
use domain::workload::{Workload, WorkloadSpec};

use super::check_if_match;
use crate::blocking::run_blocking;
use crate::{Actor, Error, Hub, manifests};

impl Hub {
    /// What the draft would have with the chart of its object as the source, as this user may read it. Stores nothing. What is in the way is
    /// a finding.
    ///
    /// # Errors
    /// There is no such workload.
    pub async fn preview_unwrapping(&self, actor: &Actor, name: &str) -> Result<ChartUnwrapping, Error> {
        actor.authorize(UserAction::Validate)?;
        let draft = self.load_draft(name).await?.draft;
        let unwrapping = self.read_unwrapping(draft).await?;
        self.hide_secrets(actor, unwrapping).await
    }

    /// Replaces source and namespace of the draft by those of the chart in its object, and the policies that have their default value.
    /// `if_match` is the revision of the draft that this is based on. Clusters change with a publish only.
    ///
    /// # Errors
    /// The draft has no such object, its chart can't be a source, or the project has no repository with its URL: the findings say what to do.
    /// The draft was changed since.
    pub async fn unwrap_chart(
        &self,
        actor: &Actor,
        name: &str,
        if_match: Option<i64>,
    ) -> Result<Workload, Error> {
        actor.authorize(UserAction::Edit)?;
        let read = self.load_draft(name).await?;
        check_if_match(read.revision, if_match)?;
        actions::check_edit(&read)?;
        let read_revision = read.revision;
        let ChartUnwrapping { chart, source, findings } = self.read_unwrapping(read.draft).await?;
        let (Some(chart), Some(mut source)) = (chart, source) else {
            return Err(Error::Invalid(findings));
        };
        self.pin_source(&mut source, None).await?;
        let change = |before: &Workload, workload: &mut Workload| -> Result<Option<NewEvent>, Error> {
            // The chart is that of the draft that was read.
            check_if_match(before.revision, Some(read_revision))?;
            actions::check_edit(before)?;
            chart.apply_to(&mut workload.draft, source.clone());
            Ok(None)
        };
        Box::pin(self.edit_read_workload(actor, name, change)).await
    }

    async fn load_draft(&self, name: &str) -> Result<Workload, Error> {
        let mut tx = self.read().await?;
        self.load_workload(&mut tx, name).await
    }

    /// Parses the files of a draft off the async threads.
    async fn read_unwrapping(&self, draft: WorkloadSpec) -> Result<ChartUnwrapping, Error> {
        let repositories = self.list_chart_repositories().await?;
        let memory = manifests::reserve_files(&draft.source).await?;
        let read = move || {
            let unwrapping = chart_envelope::preview_unwrapping(&draft, &repositories);
            drop(memory);
            unwrapping
        };
        run_blocking(read).await
    }
}
