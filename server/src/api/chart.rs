//! Operations on the charts of a project.

use serde::Deserialize;

pub mod delete;
pub mod get;
pub mod list;
pub mod search;
pub mod upload;
pub mod versions;

/// Path parameters of a version of a chart.
#[derive(Debug, Deserialize)]
pub struct ChartPath {
    /// The repository: `local` for uploaded charts.
    repository: String,
    /// The name of the chart.
    chart: String,
    /// Its version.
    version: String,
}
