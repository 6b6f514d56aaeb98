//! The audit log in a file: every entry is appended after its commit, so that a log collector reads it without a request (docs/audit.md).
//!
//! The end of what was written stands in a file beside it. What a killed server wrote after that end is removed and written again, so that every
//! entry is there once. An entry that does not continue the chain is not appended: the file never continues with another log.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use domain::audit::{AuditEntry, AuditHead};
use domain::server_status::AuditFileStatus;
use hub::Hub;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::audit_format::AuditFormat;

/// Name of the task in the status of the server.
pub const TASK: &str = "auditFile";
/// How long after the last entry the next one is looked for.
const PAUSE: Duration = Duration::from_secs(2);
/// How long after a failure the same entries are tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// Most entries that are appended at once.
const BATCH: u32 = 1000;

/// Where the audit log is appended to.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct AuditFileArgs {
    /// Append every entry of the audit log to this file, for a log collector. Each server needs a file of its own.
    #[arg(long, env = "FLOTILLA_AUDIT_FILE", value_name = "FILE")]
    pub audit_file: Option<PathBuf>,
    /// The format of the lines of this file.
    #[arg(
        long,
        env = "FLOTILLA_AUDIT_FILE_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value = "jsonl"
    )]
    pub audit_file_format: AuditFormat,
}

/// The end of what was written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenEnd {
    /// The last entry.
    head: AuditHead,
    /// The length of the file after it, in bytes.
    bytes: u64,
}

/// The file.
#[derive(Debug)]
pub struct AuditFile {
    path: PathBuf,
    format: AuditFormat,
    end: WrittenEnd,
    /// Locked as long as this server writes the file.
    _lock: File,
}

impl AuditFile {
    /// Opens the file; `None` if none is named.
    ///
    /// # Errors
    /// It can't be written, another server writes it, or it has content that no server wrote.
    pub fn open(args: &AuditFileArgs) -> anyhow::Result<Option<Self>> {
        let Some(path) = args.audit_file.clone() else { return Ok(None) };
        let shown = format!("the audit file {}", path.display());
        let lock =
            open_private(&beside(&path, ".lock")).with_context(|| format!("{shown} can't be locked"))?;
        lock.try_lock()
            .with_context(|| format!("{shown} can't be locked: each server needs a file of its own"))?;
        let length = open_private(&path).and_then(|file| file.metadata());
        let length = length.with_context(|| format!("{shown} can't be written"))?.len();
        let end = match read_end(&path).with_context(|| format!("the end of {shown} can't be read"))? {
            Some(end) => end,
            None if length > 0 => {
                anyhow::bail!("{shown} has content that no server wrote; name a new file with --audit-file")
            }
            None => {
                let end = WrittenEnd::default();
                store_end(&path, &end).with_context(|| format!("the end of {shown} can't be written"))?;
                end
            }
        };
        Ok(Some(Self { path, format: args.audit_file_format, end, _lock: lock }))
    }

    /// The position of the last entry.
    fn position(&self) -> i64 {
        self.end.head.seq
    }

    /// Opens the file again, which may have been rotated, with nothing in it after the stored end.
    fn open_at_end(&mut self) -> anyhow::Result<File> {
        let file = open_private(&self.path)?;
        let bytes = file.metadata()?.len();
        if bytes > self.end.bytes {
            // What was written without its end was written by a server that was killed.
            file.set_len(self.end.bytes)?;
        } else if bytes < self.end.bytes {
            // It was rotated. Its end is stored before anything is written, so that the next start finds what a kill leaves.
            let end = WrittenEnd { bytes, ..self.end.clone() };
            store_end(&self.path, &end)?;
            self.end = end;
        }
        Ok(file)
    }

    /// Appends these entries, which have to continue the chain.
    fn append(&mut self, entries: &[AuditEntry]) -> anyhow::Result<()> {
        let mut head = self.end.head.clone();
        let mut text = String::new();
        for entry in entries {
            head.advance(entry)?;
            text.push_str(&self.format.format_line(entry));
        }
        let mut file = self.open_at_end()?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        let end = WrittenEnd { head, bytes: file.metadata()?.len() };
        store_end(&self.path, &end)?;
        self.end = end;
        Ok(())
    }
}

/// Appends the audit log to the file until `stop`.
pub async fn run(hub: Hub, file: Arc<Mutex<AuditFile>>, stop: CancellationToken) {
    loop {
        let pause = match append_new_entries(&hub, &file).await {
            Ok(0) => PAUSE,
            Ok(_) => Duration::ZERO,
            Err(error) => {
                report_problem(&hub, file.lock().position(), &error);
                RETRY_PAUSE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Appends what is new, at most one batch; returns how many entries that were.
async fn append_new_entries(hub: &Hub, file: &Arc<Mutex<AuditFile>>) -> anyhow::Result<usize> {
    let written = file.lock().position();
    let (entries, last) = hub.follow_audit(written, BATCH).await?;
    if last < written {
        anyhow::bail!(
            "the log ends at entry {last}, and the file at {written}, because an earlier backup was restored; name a new file with --audit-file"
        );
    }
    if entries.is_empty() && last > written {
        anyhow::bail!("entry {} is missing in the log, which was changed", written + 1);
    }
    let count = entries.len();
    if count > 0 {
        let file = file.clone();
        let appended = tokio::task::spawn_blocking(move || file.lock().append(&entries)).await;
        appended.context("the write was interrupted")??;
    }
    let position = file.lock().position();
    hub.set_audit_file(AuditFileStatus {
        position,
        behind: last.saturating_sub(position).max(0),
        problem: None,
    });
    Ok(count)
}

/// Reports why nothing is appended. The log of the server has each reason once.
fn report_problem(hub: &Hub, position: i64, error: &anyhow::Error) {
    let reason = format!("{error:#}");
    let problem = format!("The audit log is not appended to its file: {}.", reason.trim_end_matches('.'));
    let before = hub.audit_file();
    if before.as_ref().and_then(|status| status.problem.as_ref()) != Some(&problem) {
        tracing::error!(reason, "the audit log is not appended to its file");
    }
    let behind = before.map_or(0, |status| status.behind);
    hub.set_audit_file(AuditFileStatus { position, behind, problem: Some(problem) });
}

/// The file with this suffix beside it.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens a file to append to it; a new one can be read by the user of the server only.
///
/// Only a regular file: a link would let whoever may write the folder choose what the server appends to, and a pipe has no end.
fn open_private(path: &Path) -> std::io::Result<File> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            return Err(std::io::Error::other("it is a link or no regular file; name the file itself"));
        }
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(_) | Err(_) => {}
    }
    let file = private_options().append(true).create(true).open(path)?;
    // A link may have been put there meanwhile.
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (opened, named) = (file.metadata()?, std::fs::symlink_metadata(path)?);
        if (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
            return Err(std::io::Error::other("it was replaced while it was opened"));
        }
    }
    Ok(file)
}

/// Options with which a new file can be read by the user of the server only.
fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The stored end; `None` if there is none yet.
fn read_end(path: &Path) -> anyhow::Result<Option<WrittenEnd>> {
    match std::fs::read(beside(path, ".end")) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Replaces the stored end.
fn store_end(path: &Path, end: &WrittenEnd) -> anyhow::Result<()> {
    let new = beside(path, ".end.new");
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    // A new one only: a link is not followed.
    let mut file = private_options().write(true).create_new(true).open(&new)?;
    file.write_all(&serde_json::to_vec(end)?)?;
    file.sync_all()?;
    std::fs::rename(&new, beside(path, ".end"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::UserId;
    use domain::role::Role;
    use hub::{Actor, ActorKind, Clock, HubConfig};

    use super::*;

    /// A hub with a log, and the file of its audit log.
    struct AuditFileTest {
        folder: tempfile::TempDir,
        hub: Hub,
    }

    impl AuditFileTest {
        async fn start() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
            let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
            Self { folder, hub }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("audit.jsonl")
        }

        fn open(&self) -> anyhow::Result<Arc<Mutex<AuditFile>>> {
            let args = AuditFileArgs { audit_file: Some(self.path()), audit_file_format: AuditFormat::Jsonl };
            Ok(Arc::new(Mutex::new(AuditFile::open(&args)?.unwrap())))
        }

        /// Adds entries to the log.
        async fn record(&self, count: usize) {
            let ada = Actor::new("ada", ActorKind::Token(UserId::from_parts(1, 1)), Role::Admin);
            for _ in 0..count {
                self.hub.record_sign_out(&ada).await;
            }
        }

        /// The positions of the entries of a file, which have to be a chain.
        fn positions(&self, path: &Path) -> Vec<i64> {
            let text = std::fs::read_to_string(path).unwrap();
            let entries: Vec<AuditEntry> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(entries.windows(2).all(|pair| pair[1].previous == pair[0].hash), "{text}");
            entries.iter().map(|entry| entry.seq).collect()
        }
    }

    #[tokio::test]
    async fn every_entry_is_appended_once_also_after_a_restart_a_rotation_and_a_kill() {
        let test = AuditFileTest::start().await;
        test.record(2).await;
        let file = test.open().unwrap();
        assert_eq!(append_new_entries(&test.hub, &file).await.unwrap(), 2);
        assert_eq!(append_new_entries(&test.hub, &file).await.unwrap(), 0);
        assert_eq!(test.positions(&test.path()), [1, 2]);
        let status = test.hub.audit_file().unwrap();
        assert_eq!((status.position, status.behind, status.problem), (2, 0, None));
        assert!(test.open().is_err(), "another server writes it");
        drop(file);

        // A server that is killed while it writes leaves a part of a line.
        let mut partly = open_private(&test.path()).unwrap();
        partly.write_all(b"{\"seq\":3,\"at").unwrap();
        test.record(1).await;
        let file = test.open().unwrap();
        assert_eq!(append_new_entries(&test.hub, &file).await.unwrap(), 1);
        assert_eq!(test.positions(&test.path()), [1, 2, 3]);

        let rotated = test.folder.path().join("audit.jsonl.1");
        std::fs::rename(test.path(), &rotated).unwrap();
        test.record(2).await;
        assert_eq!(append_new_entries(&test.hub, &file).await.unwrap(), 2);
        assert_eq!((test.positions(&rotated), test.positions(&test.path())), (vec![1, 2, 3], vec![4, 5]));
    }

    #[tokio::test]
    async fn what_a_kill_leaves_in_a_file_after_a_rotation_is_written_once() {
        let test = AuditFileTest::start().await;
        test.record(3).await;
        let file = test.open().unwrap();
        append_new_entries(&test.hub, &file).await.unwrap();
        std::fs::rename(test.path(), test.folder.path().join("audit.jsonl.1")).unwrap();
        let mut rotated = file.lock().open_at_end().unwrap();
        rotated.write_all("{\"seq\":4,\"at".repeat(1_000).as_bytes()).unwrap();
        drop(file);
        test.record(1).await;
        let file = test.open().unwrap();
        assert_eq!(append_new_entries(&test.hub, &file).await.unwrap(), 1);
        assert_eq!(test.positions(&test.path()), [4]);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_is_not_followed_and_no_other_user_can_read_what_is_written() {
        use std::os::unix::fs::PermissionsExt as _;
        let test = AuditFileTest::start().await;
        test.record(1).await;
        let other = test.folder.path().join("other");
        std::fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&other, test.path()).unwrap();
        let error = format!("{:#}", test.open().unwrap_err());
        assert!(error.contains("it is a link"), "{error}");
        std::fs::remove_file(test.path()).unwrap();

        let file = test.open().unwrap();
        std::os::unix::fs::symlink(&other, beside(&test.path(), ".end.new")).unwrap();
        append_new_entries(&test.hub, &file).await.unwrap();
        assert_eq!(std::fs::read(&other).unwrap(), b"");
        for suffix in ["", ".end", ".lock"] {
            let mode = beside(&test.path(), suffix).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{suffix}");
        }
    }

    #[tokio::test]
    async fn a_file_is_not_continued_with_another_log_and_the_status_has_the_reason() {
        let test = AuditFileTest::start().await;
        test.record(3).await;
        let file = test.open().unwrap();
        append_new_entries(&test.hub, &file).await.unwrap();
        let restored = AuditFileTest::start().await;
        restored.record(1).await;
        let error = append_new_entries(&restored.hub, &file).await.unwrap_err();
        assert!(error.to_string().contains("earlier backup"), "{error}");
        restored.record(3).await;
        let error = append_new_entries(&restored.hub, &file).await.unwrap_err();
        assert!(error.to_string().contains("does not follow"), "{error}");
        report_problem(&restored.hub, file.lock().position(), &error);
        let problems = restored.hub.get_server_status().await.unwrap().problems();
        assert!(
            problems.iter().any(|problem| problem.contains("is not appended to its file")),
            "{problems:?}"
        );
        assert_eq!(test.positions(&test.path()), [1, 2, 3]);
    }

    #[tokio::test]
    async fn a_file_that_no_server_wrote_is_refused() {
        let test = AuditFileTest::start().await;
        std::fs::write(test.path(), "notes\n").unwrap();
        let error = test.open().unwrap_err();
        assert!(error.to_string().contains("content that no server wrote"), "{error}");
        assert_eq!(std::fs::read_to_string(test.path()).unwrap(), "notes\n");
    }
}
