//! Sets the commit of a Git source, so that what is saved always means the same content.

use domain::Finding;
use domain::authorization::{RoleRequired, UserAction};
use domain::release::Reason;
use domain::remote::{PinnedCommit, RemoteSource};
use domain::workload::{Source, WorkloadSpec};

use super::{unpinned, waiting};
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
        if let Err(failure) = check_address(source) {
            return Ok(Err(failure));
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

    /// The same for the draft of a user who may not check sources: the commit that it names is used if it is stored, and no request is
    /// sent. What else the draft says about the commit is not believed.
    pub(crate) async fn pin_stored(
        &self,
        spec: &mut WorkloadSpec,
        refused: &RoleRequired,
    ) -> Result<Result<(), RenderingFailure>, Error> {
        let Some(source) = spec.source.remote_mut() else { return Ok(Ok(())) };
        source.normalize();
        let named =
            source.pinned.take().map(|pinned| pinned.commit).filter(|commit| source.is_immutable(commit));
        if let Err(failure) = check_address(source) {
            return Ok(Err(failure));
        }
        let commit = if source.can_move() { named } else { Some(source.reference.clone()) };
        if let Some(commit) = commit {
            source.pinned = self.find_git_snapshot(&source.repository, &source.path, &commit).await?;
        }
        if source.pinned.is_some() {
            return Ok(Ok(()));
        }
        let message = format!(
            "The {} of the source is not stored on this server, so the manifests are not checked.",
            source.commit_noun()
        );
        Ok(Err(waiting(message, refused.to_string())))
    }
}

/// Whether an address can be read at all; the failure has what is wrong with it.
fn check_address(source: &RemoteSource) -> Result<(), RenderingFailure> {
    let findings: Vec<Finding> = source.check("").into_iter().filter(Finding::is_blocking).collect();
    if source.repository.is_empty() || !findings.is_empty() {
        return Err(RenderingFailure { findings, reason: Reason::RenderFailed });
    }
    Ok(())
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
