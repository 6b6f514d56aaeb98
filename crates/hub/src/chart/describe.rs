//! A chart for its page, and its values for a form.

use domain::Finding;
use domain::bounded_json::{VALUE_BYTES, count_values};
use domain::chart::{ChartDetails, ChartRef};
use domain::chart_repository::{ChartDescription, is_stable};
use domain::manifest::yaml_value::estimate_memory;
use domain::manifest::{read_key_comments, yaml_value};
use domain::secret_values::MAX_SCHEMA_VALUES;
use domain::values_form::{MAX_SCHEMA_BYTES, ValuesForm};
use serde_json::Value;
use source::client_shares::CHART_VALUES_OF_USERS;
use source::requester::current_turn;

use super::list::leave_out_long_texts;
use crate::blocking::run_blocking;
use crate::{Error, Hub};

impl Hub {
    /// A chart with its versions, the workloads that use it, and one version in detail, without its schema: `version`, or the newest one
    /// that is no pre-release. A version that can't be read now is described by its findings.
    ///
    /// # Errors
    /// There is no such chart or version.
    pub async fn describe_chart(
        &self,
        reference: ChartRef<'_>,
        version: Option<&str>,
    ) -> Result<ChartDescription, Error> {
        let ChartRef { repository, name } = reference;
        let versions = self.list_chart_versions(repository, name).await?;
        let newest = versions.iter().find(|found| is_stable(&found.version)).or_else(|| versions.first());
        let newest = newest.map(|found| found.version.clone()).unwrap_or_default();
        let version = version.map_or(newest, str::to_owned);
        let loaded = self.load_chart_details(repository, name, &version).await;
        let without_schema = |details: ChartDetails| ChartDetails { values_schema: String::new(), ..details };
        let (details, findings) = match loaded.map(without_schema).map(leave_out_long_texts) {
            Ok(details) => (Some(details), Vec::new()),
            Err(Error::Invalid(findings)) => (None, findings),
            Err(error) => return Err(error),
        };
        let readme = details.as_ref().map(|details| details.readme.clone()).unwrap_or_default();
        let readme_html = run_blocking(move || source::readme::render_html(&readme)).await?;
        let mut tx = self.read().await?;
        let uses = store::chart_repository::list_uses(&mut tx, self.project(), repository).await?;
        let chart = format!("{repository}/{name}");
        let used_by = uses.into_iter().filter(|one| one.chart == chart).collect();
        Ok(ChartDescription { chart, version, versions, details, findings, readme_html, used_by })
    }

    /// The default values of a version of a chart, and the form for its values.
    ///
    /// # Errors
    /// There is no such chart or version; the default values can't be read; [`Error::ServerBusy`].
    pub async fn get_values_form(
        &self,
        reference: ChartRef<'_>,
        version: &str,
    ) -> Result<(String, ValuesForm), Error> {
        // What is not read is not in memory while others use the memory for values.
        let (default_values, schema) = {
            let details = self.load_chart_details(reference.repository, reference.name, version).await?;
            (details.default_values, details.values_schema)
        };
        let schema = Some(schema).filter(|schema| schema.len() <= MAX_SCHEMA_BYTES);
        let needed = estimate_form(&default_values, schema.as_deref());
        let memory = CHART_VALUES_OF_USERS.reserve_in_full(current_turn(), needed).await?;
        run_blocking(move || {
            let form = build_form(&default_values, schema.as_deref());
            drop(memory);
            Ok((default_values, form?))
        })
        .await?
        .map_err(|finding| Error::Invalid(vec![finding]))
    }
}

/// What reading the default values and the schema for a form needs in memory at most, in bytes.
fn estimate_form(default_values: &str, schema: Option<&str>) -> u64 {
    let values = schema.map_or(0, |schema| count_values(schema.as_bytes()).min(MAX_SCHEMA_VALUES));
    estimate_memory(default_values) + values as u64 * VALUE_BYTES
}

/// The form; `None` in place of a schema that is too large.
fn build_form(default_values: &str, schema: Option<&str>) -> Result<ValuesForm, Finding> {
    let defaults = yaml_value::read(default_values)?.unwrap_or(Value::Null);
    let comments = read_key_comments(default_values);
    Ok(match schema {
        // A schema that is no JSON is reported when the chart is rendered.
        Some(schema) => ValuesForm::build_with_text(&defaults, schema, &comments),
        None => ValuesForm::build_without_schema(&defaults, &comments),
    })
}
