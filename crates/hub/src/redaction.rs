//! Redaction of what servers of earlier versions have stored: values of Secrets in events, in what clusters have reported, and in messages. Later
//! ones do not store them, and without it they would stay until the retention of their rows.
//!
//! The loop `retention` does it after an update, and once more an hour later, because servers of the version before may run until then. A pass
//! goes through the rows in batches and writes those that have such a value; one that is interrupted begins again.

use domain::ReleaseId;
use domain::api_message::{VALUE_MARKS, redact_stored};
use domain::drift::list_drifted_objects;
use domain::event::EventDetail;
use domain::report_redaction::{redact_event, redact_resources};
use store::redaction::{MESSAGE_COLUMNS, MessageColumn};
use tokio_util::sync::CancellationToken;

use crate::blocking::run_blocking;
use crate::{Error, Hub};

/// Rows that are read at once: events, releases, messages.
const EVENTS: u32 = 50;
const RELEASES: u32 = 100;
const MESSAGES: u32 = 50;

impl Hub {
    /// Redacts what servers of earlier versions have stored, if that is due.
    ///
    /// # Errors
    /// The database does not respond: the pass is still due.
    pub async fn redact_stored_values(&self, cancel: &CancellationToken) -> Result<(), Error> {
        let mut tx = self.read().await?;
        let due = store::redaction::count_due_passes(&mut tx).await?;
        drop(tx);
        if due == 0 {
            return Ok(());
        }
        let events = self.redact_events(cancel).await?;
        let releases = self.redact_releases(cancel).await?;
        let mut messages = 0;
        for column in MESSAGE_COLUMNS {
            messages += self.redact_messages(column, cancel).await?;
        }
        if cancel.is_cancelled() {
            return Ok(());
        }
        let mut tx = self.write().await?;
        store::redaction::record_pass(&mut tx, due).await?;
        tx.commit().await?;
        tracing::info!(events, releases, messages, "values that earlier versions had stored were redacted");
        Ok(())
    }

    async fn redact_events(&self, cancel: &CancellationToken) -> Result<u64, Error> {
        let (mut after, mut redacted) = (0, 0);
        while !cancel.is_cancelled() {
            let mut tx = self.read().await?;
            let (events, last) = store::event::list_with_values(&mut tx, after, &VALUE_MARKS, EVENTS).await?;
            drop(tx);
            let Some(last) = last else { break };
            after = last;
            let found: Vec<(i64, (String, Option<EventDetail>))> = run_blocking(move || {
                events.iter().filter_map(|event| Some((event.seq, redact_event(event)?))).collect()
            })
            .await?;
            if found.is_empty() {
                continue;
            }
            let mut tx = self.write().await?;
            for (seq, (message, detail)) in &found {
                store::event::replace_content(&mut tx, *seq, message, detail.as_ref()).await?;
                redacted += 1;
            }
            tx.commit().await?;
        }
        Ok(redacted)
    }

    async fn redact_releases(&self, cancel: &CancellationToken) -> Result<u64, Error> {
        let (mut after, mut redacted) = (None, 0);
        while !cancel.is_cancelled() {
            let mut tx = self.read().await?;
            let releases = store::redaction::list_reported(&mut tx, after, RELEASES).await?;
            drop(tx);
            let Some(last) = releases.last() else { break };
            after = Some(*last);
            for release in releases {
                match self.redact_release(release).await {
                    Ok(is_redacted) => redacted += u64::from(is_redacted),
                    // Nobody reads it either; the next report of its cluster replaces it.
                    Err(error) if error.unreadable_row().is_some() => {
                        tracing::error!(%release, %error, "what a cluster reported can't be redacted");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(redacted)
    }

    /// Redacts what a cluster has reported about the objects of a release, with the drift that is derived from it; returns whether there was
    /// something to redact.
    async fn redact_release(&self, id: ReleaseId) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        let stored = store::release::get_resources(&mut tx, id).await?;
        drop(tx);
        let has_values = run_blocking(move || {
            let mut redacted = stored.clone();
            redact_resources(&mut redacted);
            redacted != stored
        })
        .await?;
        if !has_values {
            return Ok(false);
        }
        // A report locks the release too: what it stores is not replaced by what was stored before.
        let mut tx = self.write().await?;
        let Some(release) = store::release::get(&mut tx, id).await? else { return Ok(false) };
        let mut resources = store::release::get_resources(&mut tx, id).await?;
        redact_resources(&mut resources);
        store::release::set_resources(&mut tx, id, &resources).await?;
        self.replace_drift(&mut tx, id, list_drifted_objects(release.sync(), &resources)).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn redact_messages(&self, column: MessageColumn, cancel: &CancellationToken) -> Result<u64, Error> {
        let (mut after, mut redacted) = (String::new(), 0);
        while !cancel.is_cancelled() {
            let mut tx = self.read().await?;
            let from = (after.as_str(), MESSAGES);
            let found = store::redaction::list_marked(&mut tx, column, &VALUE_MARKS, from).await?;
            drop(tx);
            let Some((last, _)) = found.last() else { break };
            after.clone_from(last);
            let mut tx = self.write().await?;
            for (id, before) in &found {
                let Some(content) = redact_stored(before) else { continue };
                let contents = (before.as_str(), content.as_str());
                let is_replaced = store::redaction::replace_marked(&mut tx, column, id, contents).await?;
                redacted += u64::from(is_replaced);
            }
            tx.commit().await?;
        }
        Ok(redacted)
    }
}
