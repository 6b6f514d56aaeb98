//! Operations on charts and values.

use domain::chart::{ChartDetails, ChartVersion};
use domain::plan::RenderedManifests;
use domain::values::EffectiveValues;
use http::Method;
use serde::Serialize;

use super::Client;
use crate::Error;

/// Selects the values of one cluster.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ValuesQuery {
    /// The cluster.
    pub cluster: String,
    /// Whether each leaf is returned with the layers that set it.
    pub source: bool,
    /// The revision; the draft if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

/// Selects what is rendered.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RenderQuery {
    /// The cluster.
    pub cluster: String,
    /// The revision; the draft if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

impl Client {
    /// Uploads a packed chart (`.tgz`) into the repository `local`.
    pub async fn upload_chart(&self, archive: Vec<u8>) -> Result<ChartVersion, Error> {
        self.project_call(Method::POST, &["charts"]).raw_body("application/gzip", archive).send_json().await
    }

    /// The charts of the project, newest upload first; of one name if it is given.
    pub async fn list_charts(&self, name: Option<&str>) -> Result<Vec<ChartVersion>, Error> {
        #[derive(Serialize)]
        struct ChartQuery<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
        }
        self.project_call(Method::GET, &["charts"]).query(&ChartQuery { name }).send_json().await
    }

    /// One version of a chart with its default values and README.
    pub async fn get_chart(
        &self,
        repository: &str,
        name: &str,
        version: &str,
    ) -> Result<ChartDetails, Error> {
        self.project_call(Method::GET, &["charts", repository, name, version]).send_json().await
    }

    /// The manifests of a workload as they are rendered for one cluster.
    pub async fn render_workload(
        &self,
        workload: &str,
        query: &RenderQuery,
    ) -> Result<RenderedManifests, Error> {
        self.project_call(Method::GET, &["workloads", workload, "manifests"]).query(query).send_json().await
    }

    /// The values that the chart of a workload is rendered with for one cluster.
    pub async fn get_values(&self, workload: &str, query: &ValuesQuery) -> Result<EffectiveValues, Error> {
        self.project_call(Method::GET, &["workloads", workload, "values"]).query(query).send_json().await
    }
}
