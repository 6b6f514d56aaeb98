//! Writes conditions as controllers do: the transition time changes only with the status.

use serde_json::{Value, json};

use crate::object::{str_at, value_at_mut};

/// The content of a condition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConditionUpdate<'a> {
    pub kind: &'a str,
    pub status: bool,
    pub reason: &'a str,
    pub message: &'a str,
}

/// Sets a condition of the object's status. `update_as`: it also has a `lastUpdateTime`.
pub(crate) fn set_condition(object: &mut Value, condition: ConditionUpdate<'_>, now: &str, updated: bool) {
    let status = if condition.status { "True" } else { "False" };
    let conditions = value_at_mut(object, "status.conditions");
    if !conditions.is_array() {
        *conditions = Value::Array(Vec::new());
    }
    let Some(list) = conditions.as_array_mut() else { return };
    let found = list.iter_mut().find(|c| str_at(c, "type") == condition.kind);
    if let Some(found) = found {
        let same = str_at(found, "status") == status;
        let same_text =
            str_at(found, "reason") == condition.reason && str_at(found, "message") == condition.message;
        if same && same_text {
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
pub(crate) fn remove_condition(object: &mut Value, kind: &str) {
    if crate::object::condition(object, kind).is_none() {
        return;
    }
    if let Some(list) = value_at_mut(object, "status.conditions").as_array_mut() {
        list.retain(|c| str_at(c, "type") != kind);
    }
}

/// Writes a number; removes it if zero, as `omitempty` in the server's Go types does.
pub(crate) fn set_count(object: &mut Value, path: &str, number: i64) {
    if number == 0 {
        crate::object::remove_value(object, path);
    } else {
        crate::object::set_value(object, path, number);
    }
}
