//! What the fields of a chart request: charts and versions to choose from, the form of the values, and their check.

use domain::Finding;
use domain::chart::ChartSource;
use domain::values_form::ValuesForm;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;

/// Charts that are offered at once; a search narrows them down.
#[cfg(feature = "ssr")]
const MAX_CHOICES: u32 = 20;
/// Versions that are offered.
#[cfg(feature = "ssr")]
const MAX_VERSIONS: usize = 100;

/// A chart to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartChoice {
    /// Repository and name.
    pub chart: String,
    /// Its newest version.
    pub version: String,
    /// What it is; may be empty.
    pub description: String,
}

/// The charts to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartChoices {
    /// Best match first.
    pub choices: Vec<ChartChoice>,
    /// Whether the server can render charts.
    pub has_helm: bool,
}

/// The default values of a chart, and the form for its values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChartDefaults {
    /// `values.yaml`, with comments; empty if there is no such chart.
    pub defaults: String,
    /// The form; without fields if there is no such chart.
    pub form: ValuesForm,
}

/// What the server finds about the chart of a draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChartLookup {
    /// Repository and name of the chart.
    pub chart: String,
    /// The version of the draft; empty for the newest one.
    pub version: String,
    /// The charts that are found with its name.
    pub choices: AppResult<ChartChoices>,
    /// Its versions.
    pub versions: AppResult<Vec<String>>,
    /// The default values and the form of its version.
    pub values: AppResult<ChartDefaults>,
}

/// Reads what the fields of a chart show beside the draft. A failure is shown in its place.
///
/// # Errors
/// An outage.
#[cfg(feature = "ssr")]
pub async fn look_up_chart(hub: &hub::Hub, source: &ChartSource) -> AppResult<ChartLookup> {
    use crate::host::into_part_result;
    Ok(ChartLookup {
        chart: source.chart.clone(),
        version: source.version.clone(),
        choices: into_part_result(find_choices(hub, &source.chart).await)?,
        versions: into_part_result(find_versions(hub, source).await)?,
        values: into_part_result(find_values(hub, source).await)?,
    })
}

/// Reads the charts whose name or description contains every word of `q`.
#[server(prefix = "/api/fn", endpoint = "chart_choices_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn chart_choices_read(q: String) -> AppResult<ChartChoices> {
    use crate::host;
    host::into_app_result(find_choices(&host::hub_for_reader()?, &q).await)
}

#[cfg(feature = "ssr")]
async fn find_choices(hub: &hub::Hub, q: &str) -> Result<ChartChoices, hub::Error> {
    use domain::chart_repository::CatalogChart;
    use domain::page::ListQuery;
    // A reference is searched by the words in it.
    let query = ListQuery { limit: Some(MAX_CHOICES), q: q.replace('/', " "), ..ListQuery::default() };
    let found = hub.search_charts(&query).await?.items.into_iter();
    let choices = found.map(|CatalogChart { chart, version, description, .. }| ChartChoice {
        chart,
        version,
        description,
    });
    Ok(ChartChoices { choices: choices.collect(), has_helm: hub.helm_version().is_some() })
}

/// Reads the versions of a chart, the newest first; none if there is no such chart.
#[server(prefix = "/api/fn", endpoint = "chart_versions_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn chart_versions_read(chart: String) -> AppResult<Vec<String>> {
    use crate::host;
    let source = ChartSource { chart, ..ChartSource::default() };
    host::into_app_result(find_versions(&host::hub_for_reader()?, &source).await)
}

#[cfg(feature = "ssr")]
async fn find_versions(hub: &hub::Hub, source: &ChartSource) -> Result<Vec<String>, hub::Error> {
    let Some(reference) = source.reference() else { return Ok(Vec::new()) };
    match hub.list_chart_versions(reference.repository, reference.name).await {
        Ok(versions) => Ok(versions.into_iter().take(MAX_VERSIONS).map(|one| one.version).collect()),
        // The finding about the chart says why it is not there.
        Err(hub::Error::NotFound { .. } | hub::Error::Invalid(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Reads the default values and the form of a version of a chart.
#[server(prefix = "/api/fn", endpoint = "chart_values_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn chart_values_read(chart: String, version: String) -> AppResult<ChartDefaults> {
    use crate::host;
    let source = ChartSource { chart, version, ..ChartSource::default() };
    host::into_app_result(find_values(&host::hub_for_reader()?, &source).await)
}

#[cfg(feature = "ssr")]
async fn find_values(hub: &hub::Hub, source: &ChartSource) -> Result<ChartDefaults, hub::Error> {
    let Some(reference) = source.reference() else { return Ok(ChartDefaults::default()) };
    match hub.get_values_form(reference, &source.version).await {
        Ok((defaults, form)) => Ok(ChartDefaults { defaults, form }),
        // The finding about the chart says why it is not there.
        Err(hub::Error::NotFound { .. } | hub::Error::Invalid(_)) => Ok(ChartDefaults::default()),
        Err(error) => Err(error),
    }
}

/// Checks the common values with the schema and the templates of the chart, and for keys that it does not know.
#[server(prefix = "/api/fn", endpoint = "chart_values_check")]
pub async fn chart_values_check(
    workload: String,
    namespace: String,
    source: ChartSource,
) -> AppResult<Vec<Finding>> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    host::into_app_result(hub.check_chart_values(&actor, &workload, &namespace, source).await)
}
