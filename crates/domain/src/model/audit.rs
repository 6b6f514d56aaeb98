//! The audit log: what users changed, what they were denied, and their sign-ins. Each entry carries the hash of the one before it, so
//! that a changed, removed or inserted entry is found (docs/audit.md).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::time::Timestamp;

mod ocsf;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum AuditOutcome {
    /// The change was stored.
    Succeeded,
    /// The role of the actor does not allow the action.
    Denied,
    /// The actor could not be authenticated.
    Failed,
}

impl AuditOutcome {
    /// All outcomes.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in the database, in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The outcome with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|outcome| outcome.as_str() == name)
    }
}

/// What is recorded of a request, before it has a position in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// The name of the user, also if it could not be authenticated; `flotilla` for its own actions.
    pub actor: String,
    /// What authenticated the request: `session` or `token` with its id; empty if nothing did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub credential: String,
    /// The address of the client; empty for Flotilla's own actions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
    /// The `X-Request-Id` of the request, which is in the log of the server too.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    /// The user action, such as `publish`, or `sign-in`, `sign-out`, `set-password`.
    pub action: String,
    /// How it ended.
    pub outcome: AuditOutcome,
    /// What was changed, such as `workload shop` or `cluster eu-1`; for a denied request its path. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// A sentence for people.
    pub message: String,
    /// What changed, from what to what: the details of the events of the change, without values of Secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub changes: Vec<Value>,
}

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Its position: 1 for the first entry, without gaps.
    pub seq: i64,
    /// When the transaction of the change was committed.
    pub at: Timestamp,
    /// What is recorded.
    #[serde(flatten)]
    pub record: AuditRecord,
    /// The hash of the entry before it; that of nothing for the first entry.
    pub previous: Digest,
    /// The hash of this entry, which includes `previous`.
    pub hash: Digest,
}

impl AuditEntry {
    /// The entry after the one with the hash `previous`.
    pub fn chain(seq: i64, at: Timestamp, record: AuditRecord, previous: Digest) -> Self {
        let hash = compute_hash(seq, at, &record, &previous);
        Self { seq, at, record, previous, hash }
    }

    /// Whether its content has its hash.
    pub fn is_intact(&self) -> bool {
        self.hash == compute_hash(self.seq, self.at, &self.record, &self.previous)
    }
}

/// The hash before the first entry.
pub fn first_hash() -> Digest {
    Digest::compute(b"")
}

/// SHA-256 of the JSON list of position, time, record and previous hash. The keys of objects in it are sorted, as
/// [`Value`] writes them.
fn compute_hash(seq: i64, at: Timestamp, record: &AuditRecord, previous: &Digest) -> Digest {
    let content = serde_json::json!([seq, at.millis(), record, previous.as_str()]);
    Digest::compute(content.to_string().as_bytes())
}

/// The end of a verified part of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditHead {
    /// The position of the last entry; 0 before the first.
    pub seq: i64,
    /// Its hash.
    pub hash: Digest,
}

impl Default for AuditHead {
    fn default() -> Self {
        Self { seq: 0, hash: first_hash() }
    }
}

/// The first entry that does not continue the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[error("entry {seq}: {reason}")]
pub struct BrokenAuditChain {
    /// The position where the chain is broken.
    pub seq: i64,
    /// Why.
    pub reason: String,
}

impl AuditHead {
    /// Verifies the entry that follows and advances to it.
    ///
    /// # Errors
    /// An entry is missing, or one was changed.
    pub fn advance(&mut self, entry: &AuditEntry) -> Result<(), BrokenAuditChain> {
        let expected = self.seq + 1;
        let broken = |reason: String| Err(BrokenAuditChain { seq: expected, reason });
        if entry.seq != expected {
            return broken(format!("it is missing; the next entry is {}.", entry.seq));
        }
        if entry.previous != self.hash {
            return broken(
                "it does not follow the entry before it, which was changed or replaced.".to_owned(),
            );
        }
        if !entry.is_intact() {
            return broken("its content does not have its hash: it was changed.".to_owned());
        }
        *self = Self { seq: entry.seq, hash: entry.hash.clone() };
        Ok(())
    }

    /// Verifies that the log does not end before the position that was assigned last.
    ///
    /// # Errors
    /// The last entries are missing.
    pub fn check_end(&self, last: i64) -> Result<(), BrokenAuditChain> {
        match self.seq < last {
            true => Err(BrokenAuditChain {
                seq: self.seq + 1,
                reason: format!(
                    "it is missing, and so is every entry up to {last}, which was assigned last."
                ),
            }),
            false => Ok(()),
        }
    }
}

/// The result of a verification of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditVerification {
    /// The last entry that continues the chain. Store it elsewhere: a later verification that reaches it proves that nothing before
    /// it was changed, also by somebody who can write to the database.
    pub head: AuditHead,
    /// The first entry that does not; `None` if the whole log is intact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<BrokenAuditChain>,
}

/// Which entries to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AuditQuery {
    /// Only those of this user.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub actor: String,
    /// Only this action, such as `publish`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// Only subjects that contain this.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// Only `succeeded`, `denied` or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<AuditOutcome>,
    /// Only those before this position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    /// At most this many, 1 to 500; default 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<u32>,
}

/// One page of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditPage {
    /// The entries, newest first.
    pub items: Vec<AuditEntry>,
    /// The position to pass as `before` for older entries; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(message: &str) -> AuditRecord {
        AuditRecord {
            actor: "ada".into(),
            credential: "session 0a1b".into(),
            address: "127.0.0.1".into(),
            request_id: "r-1".into(),
            action: "publish".into(),
            outcome: AuditOutcome::Succeeded,
            subject: "workload shop".into(),
            message: message.into(),
            changes: vec![json!({"to": 2, "from": 1})],
        }
    }

    fn log() -> Vec<AuditEntry> {
        let mut previous = first_hash();
        let mut entries = Vec::new();
        for seq in 1..=4 {
            let entry = AuditEntry::chain(seq, Timestamp::from_millis(seq * 10), record("r2"), previous);
            previous = entry.hash.clone();
            entries.push(entry);
        }
        entries
    }

    fn verify(entries: &[AuditEntry]) -> Result<AuditHead, BrokenAuditChain> {
        let mut head = AuditHead::default();
        entries.iter().try_for_each(|entry| head.advance(entry))?;
        Ok(head)
    }

    #[test]
    fn an_intact_log_leads_to_its_head_also_after_json() {
        let entries = log();
        assert_eq!(verify(&entries).unwrap().hash, entries[3].hash);
        let text = serde_json::to_string(&entries).unwrap();
        let read: Vec<AuditEntry> = serde_json::from_str(&text).unwrap();
        assert_eq!(verify(&read).unwrap().seq, 4);
    }

    #[test]
    fn a_changed_a_removed_and_a_replaced_entry_break_the_chain() {
        let mut changed = log();
        changed[1].record.actor = "bob".into();
        assert_eq!(verify(&changed).unwrap_err().seq, 2);

        let mut removed = log();
        removed.remove(2);
        assert_eq!(verify(&removed).unwrap_err().seq, 3);

        // With a hash that fits: the next entry does not follow it.
        let mut replaced = log();
        replaced[1] =
            AuditEntry::chain(2, Timestamp::from_millis(20), record("r3"), replaced[0].hash.clone());
        assert_eq!(verify(&replaced).unwrap_err().seq, 3);
    }
}
