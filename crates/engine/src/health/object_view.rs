//! Typed access to an object for health rules: a missing number is 0, a missing text is empty.

use domain::Timestamp;
use serde_json::Value;

/// One object at one instant.
#[derive(Clone, Copy)]
pub(super) struct ObjectView<'a> {
    pub object: &'a Value,
    /// Whether its kind has a status subresource.
    pub has_status: bool,
    pub now: Timestamp,
}

/// One entry of `status.conditions`.
#[derive(Clone, Copy)]
pub(super) struct StatusCondition<'a> {
    pub kind: &'a str,
    pub status: &'a str,
    pub reason: &'a str,
    pub message: &'a str,
    pub since: Option<Timestamp>,
    /// The generation that it is about, if its controller says so.
    pub observed_generation: Option<i64>,
}

impl StatusCondition<'_> {
    pub(super) fn is_true(&self) -> bool {
        self.status == "True"
    }

    pub(super) fn is_false(&self) -> bool {
        self.status == "False"
    }

    /// Whether it is about an older generation; it then says nothing about the current one.
    pub(super) fn is_outdated(&self, generation: i64) -> bool {
        self.observed_generation.is_some_and(|observed| observed < generation)
    }

    pub(super) fn reason_or<'b>(&'b self, otherwise: &'b str) -> &'b str {
        if self.reason.is_empty() { otherwise } else { self.reason }
    }
}

impl<'a> ObjectView<'a> {
    pub(super) fn value_at(&self, pointer: &str) -> Option<&'a Value> {
        self.object.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn has(&self, pointer: &str) -> bool {
        self.value_at(pointer).is_some()
    }

    pub(super) fn text(&self, pointer: &str) -> &'a str {
        self.value_at(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn int(&self, pointer: &str) -> i64 {
        self.int_or(pointer, 0)
    }

    pub(super) fn int_or(&self, pointer: &str, otherwise: i64) -> i64 {
        self.value_at(pointer).and_then(Value::as_i64).unwrap_or(otherwise)
    }

    pub(super) fn is_set(&self, pointer: &str) -> bool {
        self.value_at(pointer) == Some(&Value::Bool(true))
    }

    pub(super) fn list(&self, pointer: &str) -> &'a [Value] {
        self.value_at(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(super) fn timestamp(&self, pointer: &str) -> Option<Timestamp> {
        self.text(pointer).parse().ok()
    }

    /// API group; empty for the core group.
    pub(super) fn group(&self) -> &'a str {
        self.text("/apiVersion").split_once('/').map_or("", |(group, _)| group)
    }

    /// Milliseconds since its creation.
    pub(super) fn age(&self) -> i64 {
        self.timestamp("/metadata/creationTimestamp").map_or(0, |created| self.now.millis_since(created))
    }

    pub(super) fn conditions(&self) -> impl Iterator<Item = StatusCondition<'a>> + use<'a> {
        conditions(self.list("/status/conditions"))
    }

    pub(super) fn condition(&self, kind: &str) -> Option<StatusCondition<'a>> {
        self.conditions().find(|condition| condition.kind == kind)
    }

    /// The condition, unless it is about an older generation.
    pub(super) fn current_condition(&self, kind: &str) -> Option<StatusCondition<'a>> {
        self.condition(kind).filter(|condition| !condition.is_outdated(self.int("/metadata/generation")))
    }

    /// `spec.replicas`; defaults to 1.
    pub(super) fn desired_replicas(&self) -> i64 {
        self.int_or("/spec/replicas", 1)
    }
}

/// A generation; some controllers write it as text.
pub(super) fn parse_generation(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// Parses a list of conditions.
pub(super) fn conditions(list: &[Value]) -> impl Iterator<Item = StatusCondition<'_>> {
    list.iter().map(|value| {
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        StatusCondition {
            kind: text("type"),
            status: text("status"),
            reason: text("reason"),
            message: text("message"),
            since: text("lastTransitionTime").parse().ok(),
            observed_generation: parse_generation(&value["observedGeneration"]),
        }
    })
}
