//! Writing conditions as controllers do: the transition time changes only with the status.

use serde_json::{Value, json};

use crate::object::{place, text};

/// What a condition says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition<'a> {
    pub kind: &'a str,
    pub status: bool,
    pub reason: &'a str,
    pub message: &'a str,
}

/// Sets a condition of the object's status. `updated`: it carries a `lastUpdateTime` too.
pub(crate) fn set(object: &mut Value, condition: Condition<'_>, now: &str, updated: bool) {
    let status = if condition.status { "True" } else { "False" };
    let conditions = place(object, "status.conditions");
    if !conditions.is_array() {
        *conditions = Value::Array(Vec::new());
    }
    let Some(list) = conditions.as_array_mut() else { return };
    let found = list.iter_mut().find(|c| text(c, "type") == condition.kind);
    if let Some(found) = found {
        let same = text(found, "status") == status;
        let told = text(found, "reason") == condition.reason && text(found, "message") == condition.message;
        if same && told {
            return;
        }
        if !same {
            found["status"] = status.into();
            found["lastTransitionTime"] = now.into();
        }
        if updated {
            found["lastUpdateTime"] = now.into();
        }
        found["reason"] = condition.reason.into();
        found["message"] = condition.message.into();
        return;
    }
    let mut fresh = json!({"type": condition.kind, "status": status, "lastTransitionTime": now});
    if updated {
        fresh["lastUpdateTime"] = now.into();
    }
    if !condition.reason.is_empty() {
        fresh["reason"] = condition.reason.into();
    }
    if !condition.message.is_empty() {
        fresh["message"] = condition.message.into();
    }
    list.push(fresh);
}

/// Removes a condition.
pub(crate) fn clear(object: &mut Value, kind: &str) {
    if crate::object::condition(object, kind).is_none() {
        return;
    }
    if let Some(list) = place(object, "status.conditions").as_array_mut() {
        list.retain(|c| text(c, "type") != kind);
    }
}

/// Writes a number, leaving zero out as the server's own types do.
pub(crate) fn count(object: &mut Value, path: &str, number: i64) {
    if number == 0 {
        crate::object::remove(object, path);
    } else {
        crate::object::put(object, path, number);
    }
}
