//! Operations on plans.

pub mod get;
pub mod make;

use std::time::Duration;

use serde::Deserialize;
use utoipa::IntoParams;

/// The longest wait for answers, in seconds.
const LONGEST: u64 = 30;

/// How long to wait for the clusters' answers.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Wait {
    /// At most so many seconds, up to 30; 0 answers at once with what there is.
    #[param(required = false)]
    wait: u64,
}

impl Wait {
    /// As a duration, within the limit.
    pub fn duration(&self) -> Duration {
        Duration::from_secs(self.wait.min(LONGEST))
    }
}
