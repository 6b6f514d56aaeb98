//! Reads an object the way health rules speak of it: an absent number is 0, an absent text is empty.

use domain::Timestamp;
use serde_json::Value;

/// One object at one instant.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub object: &'a Value,
    pub now: Timestamp,
}

/// One entry of `status.conditions`.
#[derive(Clone, Copy)]
pub(super) struct Condition<'a> {
    pub kind: &'a str,
    pub status: &'a str,
    pub reason: &'a str,
    pub message: &'a str,
    pub since: Option<Timestamp>,
}

impl Condition<'_> {
    pub(super) fn is_true(&self) -> bool {
        self.status == "True"
    }

    pub(super) fn is_false(&self) -> bool {
        self.status == "False"
    }

    pub(super) fn reason_or<'b>(&'b self, otherwise: &'b str) -> &'b str {
        if self.reason.is_empty() { otherwise } else { self.reason }
    }
}

impl<'a> View<'a> {
    pub(super) fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.object.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn has(&self, pointer: &str) -> bool {
        self.at(pointer).is_some()
    }

    pub(super) fn text(&self, pointer: &str) -> &'a str {
        self.at(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn int(&self, pointer: &str) -> i64 {
        self.int_or(pointer, 0)
    }

    pub(super) fn int_or(&self, pointer: &str, otherwise: i64) -> i64 {
        self.at(pointer).and_then(Value::as_i64).unwrap_or(otherwise)
    }

    pub(super) fn is_set(&self, pointer: &str) -> bool {
        self.at(pointer) == Some(&Value::Bool(true))
    }

    pub(super) fn list(&self, pointer: &str) -> &'a [Value] {
        self.at(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(super) fn instant(&self, pointer: &str) -> Option<Timestamp> {
        self.text(pointer).parse().ok()
    }

    /// API group; empty for the core group.
    pub(super) fn group(&self) -> &'a str {
        self.text("/apiVersion").split_once('/').map_or("", |(group, _)| group)
    }

    /// Milliseconds since it was made.
    pub(super) fn age(&self) -> i64 {
        self.instant("/metadata/creationTimestamp").map_or(0, |made| self.now.since(made))
    }

    pub(super) fn conditions(&self) -> impl Iterator<Item = Condition<'a>> + use<'a> {
        conditions(self.list("/status/conditions"))
    }

    pub(super) fn condition(&self, kind: &str) -> Option<Condition<'a>> {
        self.conditions().find(|condition| condition.kind == kind)
    }

    /// `spec.replicas`, which is 1 when it is left out.
    pub(super) fn wanted_replicas(&self) -> i64 {
        self.int_or("/spec/replicas", 1)
    }
}

/// Reads a list of conditions.
pub(super) fn conditions(list: &[Value]) -> impl Iterator<Item = Condition<'_>> {
    list.iter().map(|value| {
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        Condition {
            kind: text("type"),
            status: text("status"),
            reason: text("reason"),
            message: text("message"),
            since: text("lastTransitionTime").parse().ok(),
        }
    })
}
