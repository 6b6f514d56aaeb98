//! What the fields of a chart show: the charts to choose from, and the defaults of the chosen one.

use domain::chart::ChartSource;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;

/// A chart and version to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartChoice {
    /// Repository and name.
    pub chart: String,
    /// Its version.
    pub version: String,
    /// What it is; may be empty.
    pub description: String,
}

impl ChartChoice {
    /// The value in the form: `local/web@1.0.0`.
    pub fn key(&self) -> String {
        format_key(&self.chart, &self.version)
    }
}

/// The value of a chart and its version in the form.
pub fn format_key(chart: &str, version: &str) -> String {
    format!("{chart}@{version}")
}

/// The charts to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartChoices {
    /// By name, newest upload first.
    pub choices: Vec<ChartChoice>,
    /// Whether the server can render charts.
    pub has_helm: bool,
}

/// Reads the charts to choose from: the stored versions, and the newest version of each chart of the repositories.
#[server(prefix = "/api/fn", endpoint = "chart_choices_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn chart_choices_read() -> AppResult<ChartChoices> {
    use crate::host;
    use domain::chart_repository::CatalogChart;
    use domain::page::{ListQuery, MAX_LIMIT};
    let hub = host::hub_for_reader()?;
    let charts = host::into_app_result(hub.list_charts(None).await)?;
    let mut choices: Vec<ChartChoice> = charts
        .into_iter()
        .map(|chart| ChartChoice {
            chart: chart.reference(),
            version: chart.version,
            description: chart.description,
        })
        .collect();
    let query = ListQuery { limit: Some(MAX_LIMIT), ..ListQuery::default() };
    for chart in host::into_app_result(hub.search_charts(&query).await)?.items {
        let CatalogChart { chart, version, description, .. } = chart;
        if !choices.iter().any(|choice| choice.chart == chart && choice.version == version) {
            choices.push(ChartChoice { chart, version, description });
        }
    }
    // Stable: the versions of a chart stay in the order of their uploads.
    choices.sort_by(|a, b| a.chart.cmp(&b.chart));
    Ok(ChartChoices { choices, has_helm: hub.helm_version().is_some() })
}

/// The `values.yaml` of a chart, with comments; empty if there is no such chart.
#[server(prefix = "/api/fn", endpoint = "chart_defaults_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn chart_defaults_read(key: String) -> AppResult<String> {
    use crate::host;
    let source = parse_key(&key);
    let Some(reference) = source.reference() else { return Ok(String::new()) };
    let hub = host::hub_for_reader()?;
    match hub.get_chart(reference.repository, reference.name, &source.version).await {
        Ok(details) => Ok(details.default_values),
        // The finding about the chart says why it is not there.
        Err(hub::Error::NotFound { .. } | hub::Error::Invalid(_)) => Ok(String::new()),
        Err(error) => host::into_app_result(Err(error)),
    }
}

/// The chart and version of a value in the form.
pub fn parse_key(key: &str) -> ChartSource {
    let (chart, version) = key.rsplit_once('@').unwrap_or((key, ""));
    ChartSource {
        chart: chart.trim().to_owned(),
        version: version.trim().to_owned(),
        ..ChartSource::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_chart_and_version() {
        let source = parse_key("local/web@1.0.0-rc.1");
        assert_eq!((&*source.chart, &*source.version), ("local/web", "1.0.0-rc.1"));
        assert_eq!(format_key(&source.chart, &source.version), "local/web@1.0.0-rc.1");
        assert_eq!(parse_key("").chart, "");
    }
}
