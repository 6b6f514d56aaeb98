//! What a new commit of a ref leads to for one workload: by its policy the draft gets it, or it is published. What can't be done is
//! shown on the workload, and what runs stays as it is.

use std::time::Duration;

use domain::event::{EventKind, NewEvent};
use domain::git_status::{CommitsAhead, GitFailure, GitFollowStatus};
use domain::remote::{OnNewCommit, PinnedCommit, RemoteSource, short_commit};
use domain::workload::Source;
use domain::{Finding, Severity};
use store::git::{GitFollower, GitRefRow};

use super::poll::to_git_failure;
use super::status::load_published_source;
use crate::chart::RenderingFailure;
use crate::hub::CommitEffects;
use crate::workload::{PublishContent, PublishOptions};
use crate::{Actor, Error, Hub};

/// How long a plan waits for the dry runs of the clusters before the publish.
const PLAN_WAIT: Duration = Duration::from_secs(20);

/// A commit that a ref moved to.
pub(super) struct NewCommit<'a> {
    /// The ref.
    pub row: &'a GitRefRow,
    /// The commit.
    pub tip: &'a str,
    /// The commit that the ref referred to before.
    pub previous: Option<&'a str>,
    /// Its content at the path of the workload.
    pub loaded: Result<PinnedCommit, RenderingFailure>,
}

impl Hub {
    /// Lets a workload follow a commit by its policy.
    pub(super) async fn follow_commit(
        &self,
        follower: &GitFollower,
        commit: NewCommit<'_>,
    ) -> Result<(), Error> {
        let pinned = match &commit.loaded {
            Ok(pinned) => pinned.clone(),
            Err(failure) => return self.block(follower, commit.tip, failure).await,
        };
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, &follower.name).await?;
        let Some(draft) = followed_source(&workload.draft.source, commit.row, follower) else {
            return Ok(());
        };
        let published = load_published_source(&mut tx, &workload).await?;
        drop(tx);
        let published = published.filter(|published| published.has_same_address(draft));
        let is_new = follower.follow.commit != commit.tip;
        let target = published.as_ref().filter(|published| {
            let differs = published.pinned.as_ref().is_none_or(|before| before.digest != pinned.digest);
            published.on_new_commit != OnNewCommit::Draft
                && differs
                && (is_new || follower.follow.blocked.is_some())
        });
        if let Some(published) = target {
            return Box::pin(self.publish_commit(follower, &commit, published, pinned)).await;
        }
        let has_content = draft.pinned.as_ref().is_some_and(|before| before.digest == pinned.digest);
        if is_new && !has_content || draft.pinned.is_none() {
            self.put_commit_in_draft(follower, &pinned, commit.previous).await?;
        }
        let before = published.as_ref().and_then(|published| published.pinned.as_ref());
        let ahead = self.count_ahead(follower, &commit, before).await?;
        self.record_followed(follower, commit.tip, None, ahead).await
    }

    /// How far a commit is ahead of the published one, counted once. What can't be counted is left open: it is only displayed.
    async fn count_ahead(
        &self,
        follower: &GitFollower,
        commit: &NewCommit<'_>,
        published: Option<&PinnedCommit>,
    ) -> Result<Option<CommitsAhead>, Error> {
        let has_history = !domain::remote::is_oci_url(&commit.row.url);
        let Some(published) = published.filter(|published| has_history && published.commit != commit.tip)
        else {
            return Ok(None);
        };
        let known = follower.follow.ahead.as_ref().filter(|_| follower.follow.commit == commit.tip);
        if let Some(known) = known.filter(|known| known.of == published.commit) {
            return Ok(Some(known.clone()));
        }
        let counted = self.count_commits_ahead(&commit.row.url, commit.tip, &published.commit).await?;
        let count = counted.ok().flatten();
        Ok(count.map(|count| CommitsAhead { of: published.commit.clone(), count }))
    }

    /// Sets the commit of the draft and nothing else, so that no edit of a person is lost.
    async fn put_commit_in_draft(
        &self,
        follower: &GitFollower,
        pinned: &PinnedCommit,
        previous: Option<&str>,
    ) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let mut workload = self.load_workload(&mut tx, &follower.name).await?;
        let Some(source) = workload.draft.source.remote_mut() else { return Ok(()) };
        if source.path != follower.path || source.pinned.as_ref() == Some(pinned) {
            return Ok(());
        }
        let before = source.pinned.replace(pinned.clone());
        let from = before.as_ref().map(|before| before.commit.as_str()).or(previous);
        let message = format!("The draft of {} has {}.", workload.name, describe_move(source, from, pinned));
        let actor = Actor::system();
        let event = NewEvent::new(EventKind::WorkloadEdited, &actor.name, message)
            .with_workload(workload.id, &workload.name);
        self.store_edit(tx, &actor, workload, event).await?;
        Ok(())
    }

    /// Plans and publishes the published revision with the commit.
    async fn publish_commit(
        &self,
        follower: &GitFollower,
        commit: &NewCommit<'_>,
        published: &RemoteSource,
        pinned: PinnedCommit,
    ) -> Result<(), Error> {
        if let Some(before) = &published.pinned
            && let Some(failure) = self.check_history(commit, before).await?
        {
            self.put_commit_in_draft(follower, &pinned, commit.previous).await?;
            return self.block(follower, commit.tip, &failure).await;
        }
        let gate = published.on_new_commit == OnNewCommit::FirstWave;
        let before = published.pinned.as_ref().map(|before| before.commit.as_str());
        let message = describe_move(published, before, &pinned);
        let content = PublishContent::Commit { pinned: Box::new(pinned), approve_after_first_wave: gate };
        match self.plan_and_publish(&follower.name, &message, content).await {
            Ok(revision) => self.record_followed(follower, commit.tip, Some(revision), None).await,
            Err(error) if error.is_outage() => Err(error),
            Err(error) => self.block(follower, commit.tip, &to_failure(&error)).await,
        }
    }

    async fn plan_and_publish(
        &self,
        name: &str,
        message: &str,
        content: PublishContent,
    ) -> Result<u32, Error> {
        let actor = Actor::system();
        let mut options = PublishOptions { content, ..PublishOptions::default() };
        let plan = Box::pin(self.create_plan(&actor, name, &options)).await?;
        let plan = self.wait_for_plan(plan.id, PLAN_WAIT).await?;
        options.plan_hash = Some(plan.hash);
        let published = Box::pin(self.publish_workload(&actor, name, message, options)).await?;
        Ok(published.revision)
    }

    /// Whether the published commit is in the history of the new one; otherwise nothing is published without a person.
    async fn check_history(
        &self,
        commit: &NewCommit<'_>,
        before: &PinnedCommit,
    ) -> Result<Option<RenderingFailure>, Error> {
        // A tag of a registry has no history: its artifacts replace each other.
        if domain::remote::is_oci_url(&commit.row.url) {
            return Ok(None);
        }
        let found = self.count_commits_ahead(&commit.row.url, commit.tip, &before.commit).await?;
        Ok(match found {
            Ok(Some(_)) => None,
            Ok(None) => {
                let label = if commit.row.reference.is_empty() {
                    "The default branch"
                } else {
                    &commit.row.reference
                };
                let message = format!(
                    "{label} moved from {} to {}, and its history was rewritten or is not known: the published commit is not among the \
                     last ones.",
                    before.short(),
                    short_commit(commit.tip)
                );
                let hint = "The draft has the new commit: check it and publish it.";
                Some(super::rejected(Finding::error("G121", message, hint).with_path("/source/ref")))
            }
            Err(failure) => Some(failure),
        })
    }

    /// Shows on the workload why a commit is not used. The event is written once per commit and cause.
    async fn block(
        &self,
        follower: &GitFollower,
        tip: &str,
        failure: &RenderingFailure,
    ) -> Result<(), Error> {
        let before = follower.follow.blocked.as_ref().filter(|_| follower.follow.commit == tip);
        let attempts = before.map_or(0, |before| before.attempts).saturating_add(1);
        let blocked = to_git_failure(failure, self.clock().now(), attempts);
        let is_known = before.is_some_and(|before| before.message == blocked.message);
        let mut effects = CommitEffects::default();
        if !is_known {
            effects.events.push(blocked_event(follower, tip, &blocked));
        }
        let status =
            GitFollowStatus { commit: tip.to_owned(), blocked: Some(blocked), ..GitFollowStatus::default() };
        let mut tx = self.write().await?;
        store::git::set_follow_status(&mut tx, follower.workload, &status).await?;
        store::incident::note_cause(&mut tx, follower.workload, true, self.clock().now());
        self.commit(tx, effects).await
    }

    async fn record_followed(
        &self,
        follower: &GitFollower,
        tip: &str,
        revision: Option<u32>,
        ahead: Option<CommitsAhead>,
    ) -> Result<(), Error> {
        let revision = revision.or(follower.follow.revision.filter(|_| follower.follow.commit == tip));
        let status = GitFollowStatus { commit: tip.to_owned(), blocked: None, revision, ahead };
        if status == follower.follow {
            return Ok(());
        }
        let mut tx = self.write().await?;
        store::git::set_follow_status(&mut tx, follower.workload, &status).await?;
        store::incident::note_cause(&mut tx, follower.workload, false, self.clock().now());
        Ok(tx.commit().await.map(drop)?)
    }
}

/// The source of a draft, if it still follows this ref at this path.
fn followed_source<'a>(
    source: &'a Source,
    row: &GitRefRow,
    follower: &GitFollower,
) -> Option<&'a RemoteSource> {
    let is_followed = |git: &&RemoteSource| {
        git.repository == row.url && git.reference == row.reference && git.path == follower.path
    };
    source.remote().filter(is_followed)
}

fn describe_move(source: &RemoteSource, from: Option<&str>, pinned: &PinnedCommit) -> String {
    let moved = match from.filter(|from| *from != pinned.commit) {
        Some(from) => {
            format!("{} moved from {} to {}", source.reference_label(), short_commit(from), pinned.short())
        }
        None => format!("{} {} of {}", source.commit_noun(), pinned.short(), source.reference_label()),
    };
    match domain::remote::describe_origin(&pinned.subject, &pinned.author) {
        Some(origin) => format!("{moved}: {origin}"),
        None => moved,
    }
}

fn blocked_event(follower: &GitFollower, tip: &str, blocked: &GitFailure) -> NewEvent {
    let message = format!("{} does not use commit {}: {}", follower.name, short_commit(tip), blocked.message);
    let event = NewEvent::new(EventKind::GitCommitBlocked, &Actor::system().name, message);
    NewEvent { severity: Severity::Warning, ..event }.with_workload(follower.workload, &follower.name)
}

/// Why a publish was rejected, as it is shown.
fn to_failure(error: &Error) -> RenderingFailure {
    let found = match error {
        Error::Invalid(findings) | Error::PlanRejected { findings, .. } => {
            findings.iter().find(|finding| finding.is_blocking()).or(findings.first()).cloned()
        }
        Error::ConfirmationRequired(finding) => Some(finding.as_ref().clone()),
        _ => None,
    };
    let hint = "Correct the repository, or publish the workload by hand.";
    super::rejected(found.unwrap_or_else(|| Finding::error("G121", error.to_string(), hint)))
}
