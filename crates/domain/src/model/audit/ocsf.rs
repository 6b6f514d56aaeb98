//! Entries of the audit log as events of the Open Cybersecurity Schema Framework (OCSF 1.4), which log collectors read.

use serde_json::{Value, json};

use super::{AuditEntry, AuditOutcome};

/// The version of the schema.
const VERSION: &str = "1.4.0";
/// The class Authentication, for sign-ins and sign-outs.
const AUTHENTICATION: i64 = 3002;
/// The class API Activity, for everything else.
const API_ACTIVITY: i64 = 6003;

impl AuditEntry {
    /// The entry as an OCSF event.
    pub fn to_ocsf(&self) -> Value {
        let record = &self.record;
        let (class, activity) = match record.action.as_str() {
            "sign-in" => (AUTHENTICATION, 1),
            "sign-out" => (AUTHENTICATION, 2),
            _ => (API_ACTIVITY, 99),
        };
        let (status, severity) = match record.outcome {
            AuditOutcome::Succeeded => (1, 1),
            AuditOutcome::Denied | AuditOutcome::Failed => (2, 2),
        };
        let user = json!({"name": record.actor});
        let mut event = json!({
            "metadata": {
                "version": VERSION,
                "product": {"name": "Flotilla", "vendor_name": "Flotilla"},
                "uid": self.hash,
                "sequence": self.seq,
            },
            "category_uid": class / 1000,
            "class_uid": class,
            "activity_id": activity,
            "activity_name": record.action,
            "type_uid": class * 100 + activity,
            "time": self.at.millis(),
            "severity_id": severity,
            "status_id": status,
            "status_detail": record.outcome.as_str(),
            "message": record.message,
            "actor": {"user": user, "session": {"uid": record.credential}},
            "src_endpoint": {"ip": record.address},
            "unmapped": {"subject": record.subject, "changes": record.changes, "previous": self.previous},
        });
        if class == AUTHENTICATION {
            event["user"] = user;
        } else {
            event["api"] = json!({"operation": record.action, "request": {"uid": record.request_id}});
            event["resources"] = json!([{"name": record.subject}]);
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AuditRecord, first_hash};
    use super::*;
    use crate::kubernetes::time::Timestamp;

    fn event(action: &str, outcome: AuditOutcome) -> Value {
        let record = AuditRecord {
            actor: "ada".into(),
            credential: String::new(),
            address: "192.0.2.1".into(),
            request_id: "r-1".into(),
            action: action.into(),
            outcome,
            subject: "workload shop".into(),
            message: String::new(),
            changes: Vec::new(),
        };
        AuditEntry::chain(1, Timestamp::from_millis(5), record, first_hash()).to_ocsf()
    }

    #[test]
    fn a_publish_is_api_activity_and_a_failed_sign_in_a_failed_authentication() {
        let publish = event("publish", AuditOutcome::Succeeded);
        assert_eq!((&publish["class_uid"], &publish["type_uid"]), (&json!(6003), &json!(600_399)));
        assert_eq!(publish["api"]["request"]["uid"], "r-1");
        let sign_in = event("sign-in", AuditOutcome::Failed);
        assert_eq!((&sign_in["class_uid"], &sign_in["type_uid"]), (&json!(3002), &json!(300_201)));
        for event in [&publish, &sign_in] {
            assert_eq!(event["unmapped"]["subject"], "workload shop", "{event}");
        }
        assert_eq!((&sign_in["status_id"], &sign_in["user"]["name"]), (&json!(2), &json!("ada")));
    }
}
