//! Operations on plans.

pub mod create;
pub mod get;

use std::time::Duration;

use serde::Deserialize;
use utoipa::IntoParams;

/// The longest wait for dry-run results, in seconds.
const MAX_WAIT_SECONDS: u64 = 30;

/// How long to wait for the clusters' dry-run results.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitQuery {
    /// Seconds to wait, at most 30; 0 returns immediately with the results received so far.
    #[param(required = false)]
    wait: u64,
}

impl WaitQuery {
    /// The wait, limited to 30 s.
    pub fn duration(&self) -> Duration {
        Duration::from_secs(self.wait.min(MAX_WAIT_SECONDS))
    }
}
