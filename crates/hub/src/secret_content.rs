//! Hides the secrets of what is read from those who may not write them.

use domain::authorization::UserAction;
use domain::overrides::Override;
use domain::secret_content::{ChartMarks, SecretContent, draft_secrets_role, list_charts};
use domain::values::EffectiveValues;
use domain::workload::Source;

use crate::blocking::run_blocking;
use crate::{Actor, Error, Hub};

/// Most charts that are read for one response. The values of further ones are hidden as those of a chart that can't be read.
const MAX_CHARTS: usize = 4;

/// Those of the sources whose charts say what is hidden from this user.
pub(crate) fn list_marked_charts(actor: &Actor, sources: &[&Source]) -> Vec<Source> {
    let most = if actor.role >= draft_secrets_role() { 0 } else { MAX_CHARTS };
    list_charts(sources, most)
}

impl Hub {
    /// The content as this user may read it. Whatever is read and contains a secret passes through here on its way out; a test reads
    /// everything as a viewer.
    ///
    /// # Errors
    /// The chart that says which values are secrets can't be loaded now.
    pub async fn hide_secrets<T: SecretContent + Send + 'static>(
        &self,
        actor: &Actor,
        content: T,
    ) -> Result<T, Error> {
        actor.authorize(UserAction::View)?;
        let sources = list_marked_charts(actor, &content.sources());
        let (role, marks) = (actor.role, self.load_marks_for(actor, &sources).await?);
        run_blocking(move || {
            let mut content = content;
            content.hide_secrets(role, &marks);
            content
        })
        .await
    }

    /// Which values of the charts of these sources are hidden from this user.
    pub(crate) async fn load_marks_for(
        &self,
        actor: &Actor,
        sources: &[Source],
    ) -> Result<ChartMarks, Error> {
        if actor.role >= draft_secrets_role() {
            return Ok(ChartMarks::for_editor());
        }
        self.load_chart_marks(sources).await
    }

    /// The overrides of a draft as this user may read them, with the revision of the workload.
    ///
    /// # Errors
    /// There is no such workload.
    pub async fn list_overrides(&self, actor: &Actor, workload: &str) -> Result<(i64, Vec<Override>), Error> {
        actor.authorize(UserAction::View)?;
        let workload = self.get_workload(workload).await?.workload;
        let content = (workload.draft.source, workload.draft.overrides);
        let (_, overrides) = self.hide_secrets(actor, content).await?;
        Ok((workload.revision, overrides))
    }

    /// One override of a draft as this user may read it, with the revision of the workload.
    ///
    /// # Errors
    /// There is no such workload, or it has no such override.
    pub async fn read_override(
        &self,
        actor: &Actor,
        workload: &str,
        name: &str,
    ) -> Result<(i64, Override), Error> {
        actor.authorize(UserAction::View)?;
        let (revision, overrides) = self.list_overrides(actor, workload).await?;
        let found = overrides.into_iter().find(|other| other.name == name);
        Ok((revision, found.ok_or_else(|| Error::not_found("override", name))?))
    }

    /// The effective values for a cluster as this user may read them ([`Hub::get_values`]).
    ///
    /// # Errors
    /// As [`Hub::get_values`].
    pub async fn read_values(
        &self,
        actor: &Actor,
        name: &str,
        cluster: &str,
        revision: Option<u32>,
    ) -> Result<EffectiveValues, Error> {
        actor.authorize(UserAction::View)?;
        let content = self.get_values(name, cluster, revision).await?;
        Ok(self.hide_secrets(actor, content).await?.1)
    }
}
