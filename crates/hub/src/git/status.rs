//! What the console, the command line and REST show of a Git source.

use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::git_status::{GitRefStatus, GitSourceStatus};
use domain::remote::RemoteSource;
use domain::workload::{Intent, Workload};
use store::Tx;

use crate::{Actor, Error, Hub};

impl Hub {
    /// The Git source of a workload: the commit of its draft, the published one, and what is known about the ref.
    ///
    /// # Errors
    /// There is no such workload, or its draft has no Git source.
    pub async fn get_git_source(&self, name: &str) -> Result<GitSourceStatus, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let source = git_source(&workload)?;
        let found =
            store::git::get_ref(&mut tx, workload.project, &source.repository, &source.reference).await?;
        let follow = store::git::get_follow_status(&mut tx, workload.id).await?;
        let published = load_published_source(&mut tx, &workload).await?;
        let published = published
            .filter(|published| published.repository == source.repository && published.path == source.path);
        let next_check_at = found.as_ref().filter(|_| source.can_move()).map(|row| row.next_check_at);
        let status = found.map_or_else(GitRefStatus::default, |row| row.status);
        let published = published.and_then(|published| published.pinned);
        Ok(GitSourceStatus {
            message: GitSourceStatus::describe(source, published.as_ref(), &status, &follow),
            repository: source.repository.clone(),
            reference: source.reference.clone(),
            path: source.path.clone(),
            on_new_commit: source.on_new_commit,
            draft: source.pinned.clone(),
            published,
            status,
            next_check_at,
            follow,
        })
    }

    /// Checks the ref of a workload's Git source now, as its loop does when it is due.
    ///
    /// # Errors
    /// There is no such workload, or its draft has no Git source. A repository that can't be read is no error here: the status
    /// says why.
    pub async fn check_git_source(&self, actor: &Actor, name: &str) -> Result<GitSourceStatus, Error> {
        actor.authorize(UserAction::CheckSource)?;
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let source = git_source(&workload)?;
        let found =
            store::git::get_ref(&mut tx, workload.project, &source.repository, &source.reference).await?;
        drop(tx);
        if let Some(row) = found {
            self.check_git_ref_within_request(row).await?;
        }
        self.get_git_source(name).await
    }
}

fn git_source(workload: &Workload) -> Result<&RemoteSource, Error> {
    let unavailable = || ActionUnavailable(format!("{} has no Git source.", workload.name));
    Ok(workload.draft.source.remote().ok_or_else(unavailable)?)
}

/// The Git source of the published revision; `None` if nothing is published, or something else.
pub(super) async fn load_published_source(
    tx: &mut Tx,
    workload: &Workload,
) -> Result<Option<RemoteSource>, Error> {
    let Some(number) = workload.published.filter(|_| workload.intent == Intent::Published) else {
        return Ok(None);
    };
    let revision = store::revision::get_existing(tx, workload.id, number).await?;
    Ok(revision.spec.source.remote().cloned())
}
