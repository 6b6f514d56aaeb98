//! The reason why a user action is not possible.

use serde::{Deserialize, Serialize};

/// Why an action is not possible now: a sentence that is displayed beside the disabled button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct ActionUnavailable(pub String);
