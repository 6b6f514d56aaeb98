//! A function that is called for every write: tests record the history of a cluster with it.

use std::fmt;

use serde_json::Value;

/// A committed write.
#[derive(Clone, Copy, Debug)]
pub struct ObservedChange<'o> {
    /// The object as it was stored; for a deletion its last state.
    pub object: &'o Value,
    /// Whether the object was deleted.
    pub is_deleted: bool,
}

/// The function.
pub(super) struct ChangeObserver(Box<dyn Fn(ObservedChange<'_>) + Send + Sync>);

impl ChangeObserver {
    pub(super) fn new(observer: impl Fn(ObservedChange<'_>) + Send + Sync + 'static) -> Self {
        Self(Box::new(observer))
    }

    pub(super) fn call(&self, change: ObservedChange<'_>) {
        (self.0)(change);
    }
}

impl fmt::Debug for ChangeObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChangeObserver")
    }
}
