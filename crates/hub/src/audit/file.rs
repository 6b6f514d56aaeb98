//! What a server needs to append the log to a file: it follows the log without a user, and reports how far the file is.

use domain::audit::AuditEntry;
use domain::server_status::AuditFileStatus;
use parking_lot::Mutex;

use crate::{Error, Hub};

/// How far the file is; `None` if this server writes none.
#[derive(Debug, Default)]
pub(crate) struct AuditFileState(Mutex<Option<AuditFileStatus>>);

impl Hub {
    /// At most this many entries after a position, oldest first, and the position that was assigned last, as of the same time. Fewer entries where they have many
    /// bytes, and none only at the end. Not for a user: no role is checked.
    ///
    /// # Errors
    /// Also an entry that can't be read.
    pub async fn follow_audit(&self, after: i64, limit: u32) -> Result<(Vec<AuditEntry>, i64), Error> {
        let mut tx = self.read().await?;
        let entries = store::audit::list_after(&mut tx, after, limit).await?;
        let last = store::audit::last_seq(&mut tx).await?;
        Ok((entries, last))
    }

    /// Sets how far the file of the audit log is.
    pub fn set_audit_file(&self, status: AuditFileStatus) {
        *self.audit_file_state().0.lock() = Some(status);
    }

    /// How far the file of the audit log is; `None` if this server writes none.
    pub fn audit_file(&self) -> Option<AuditFileStatus> {
        self.audit_file_state().0.lock().clone()
    }
}
