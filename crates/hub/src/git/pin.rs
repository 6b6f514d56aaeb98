//! Sets the commit of a Git source, so that what is saved always means the same content.

use domain::Finding;
use domain::authorization::UserAction;
use domain::remote::{PinnedCommit, RemoteSource};
use domain::workload::{Source, WorkloadSpec};

use super::unpinned;
use crate::chart::RenderingFailure;
use crate::manifests::RenderWait;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Sets what a source leaves open: the version of a chart, the commit of a ref. What can't be read now stays open or as it was,
    /// which the checks report and which is no reason to lose a draft.
    pub(crate) async fn pin_source(
        &self,
        source: &mut Source,
        previous: Option<&Source>,
    ) -> Result<(), Error> {
        self.pin_chart_version(source).await?;
        let Some(git) = source.remote_mut() else { return Ok(()) };
        git.normalize();
        if let Err(failure) = Box::pin(self.pin_commit(git)).await? {
            let before = previous.and_then(Source::remote).filter(|before| before.has_same_address(git));
            git.pinned = before.and_then(|before| before.pinned.clone());
            let why = super::describe(&failure).0;
            tracing::info!(why, repository = git.repository, "the commit of a draft is not set");
        }
        Ok(())
    }

    /// The newest commit of an address, as a draft with it would pin it.
    ///
    /// # Errors
    /// The address is not valid or can't be read, or its content is refused.
    pub async fn preview_git_source(
        &self,
        actor: &Actor,
        mut source: RemoteSource,
    ) -> Result<PinnedCommit, Error> {
        actor.authorize(UserAction::CheckSource)?;
        source.normalize();
        source.pinned = None;
        if source.repository.is_empty() {
            return Err(Error::Invalid(source.check("")));
        }
        match Box::pin(self.pin_commit(&mut source)).await? {
            Ok(()) => source.pinned.ok_or_else(|| Error::Invalid(unpinned().findings)),
            Err(failure) => Err(Error::Invalid(failure.findings)),
        }
    }

    /// Sets the commit of a source and what is known about it. A commit that the source names stays; nothing else that it says about
    /// the commit is believed.
    async fn pin_commit(&self, source: &mut RemoteSource) -> Result<Result<(), RenderingFailure>, Error> {
        let named =
            source.pinned.take().map(|pinned| pinned.commit).filter(|commit| source.is_immutable(commit));
        let findings: Vec<Finding> = source.check("").into_iter().filter(Finding::is_blocking).collect();
        if source.repository.is_empty() || !findings.is_empty() {
            return Ok(Err(RenderingFailure { findings, reason: domain::release::Reason::RenderFailed }));
        }
        let commit = match named {
            _ if !source.can_move() => source.reference.clone(),
            Some(commit) => commit,
            None => match self.resolve_ref(&source.repository, &source.reference).await? {
                Ok(commit) => commit,
                Err(failure) => return Ok(Err(failure)),
            },
        };
        let loaded =
            self.load_git_snapshot(&source.repository, &source.path, &commit, RenderWait::Request).await?;
        Ok(loaded.map(|pinned| source.pinned = Some(pinned)))
    }

    /// Sets the commit of a draft that has none, for its check; the draft is not stored. Returns why it can't be set.
    pub(crate) async fn pin_for_check(
        &self,
        spec: &mut WorkloadSpec,
    ) -> Result<Result<(), RenderingFailure>, Error> {
        let Some(source) = spec.source.remote_mut() else { return Ok(Ok(())) };
        if source.pinned.is_some() {
            return Ok(Ok(()));
        }
        source.normalize();
        Box::pin(self.pin_commit(source)).await
    }
}

/// Keeps the commit of a draft in a form that has none: an edit of other fields moves no commit.
pub(crate) fn keep_pin(source: &mut Source, previous: Option<&Source>) {
    if let (Some(source), Some(previous)) = (source.remote_mut(), previous.and_then(Source::remote))
        && source.pinned.is_none()
        && source.has_same_address(previous)
    {
        source.pinned.clone_from(&previous.pinned);
    }
}

/// Takes over the commit that a published spec of the same address was pinned to, if the draft has none.
pub(crate) fn adopt_pin(draft: &mut WorkloadSpec, published: &WorkloadSpec) {
    if let (Some(draft), Some(published)) = (draft.source.remote_mut(), published.source.remote())
        && draft.pinned.is_none()
    {
        draft.normalize();
        if draft.has_same_address(published) {
            draft.pinned.clone_from(&published.pinned);
        }
    }
}
