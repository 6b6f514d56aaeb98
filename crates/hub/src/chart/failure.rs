//! Why Helm did not render a chart, as findings without the secrets among the values.

use domain::Finding;
use domain::chart::ChartInputs;
use domain::message_redactor::MessageRedactor;
use domain::release::Reason;
use domain::secret_values::SecretMarks;
use source::helm::{FailureKind, PARSED_RENDERINGS, RenderFailed, ValuesViolation};

use super::RenderingFailure;
use crate::Error;
use crate::blocking::run_blocking;

/// What a person should know about a rendering with these inputs that failed; `schema` is the text of `values.schema.json` of the chart, empty
/// without one. Everybody who reads the workload reads it: it names the fields, and contains no secret among the values. It depends on nothing
/// else: another text of the same failure would be another reason of the stage on each cluster.
///
/// # Errors
/// The work ended unexpectedly.
pub(super) async fn explain_failure(
    failed: RenderFailed,
    inputs: &ChartInputs,
    schema: String,
) -> Result<RenderingFailure, Error> {
    let reason = match failed.kind {
        FailureKind::Server | FailureKind::Sandbox => Reason::WaitingForArtifact,
        _ => Reason::RenderFailed,
    };
    let values = inputs.values.clone();
    let alone = PARSED_RENDERINGS.acquire().await;
    let explain = move || {
        let marks = match failed.kind {
            // Their messages are not those of Helm.
            FailureKind::Server | FailureKind::Sandbox | FailureKind::Archive | FailureKind::Limit => {
                SecretMarks::Names
            }
            FailureKind::Schema
            | FailureKind::KubernetesVersion
            | FailureKind::Dependency
            | FailureKind::Template => SecretMarks::from_schema(&schema),
        };
        let findings = list_findings(failed, &MessageRedactor::new(&marks, &values));
        drop(alone);
        findings
    };
    Ok(RenderingFailure { findings: run_blocking(explain).await?, reason })
}

/// The findings of a failure; violations of a schema one by one, with their paths. Never empty.
fn list_findings(failed: RenderFailed, redactor: &MessageRedactor) -> Vec<Finding> {
    let (code, hint) = match failed.kind {
        FailureKind::Archive => ("G112", "Upload a valid chart."),
        FailureKind::Schema => ("G113", "Change the values to match the schema of the chart."),
        FailureKind::KubernetesVersion => {
            ("G116", "Use a version of the chart for this version of Kubernetes, or exclude the clusters.")
        }
        FailureKind::Dependency => {
            ("G112", "Pack the chart after `helm dependency build`, with its dependencies in charts/.")
        }
        FailureKind::Template => ("G115", "Change the values, or use another version of the chart."),
        FailureKind::Limit => ("G111", "Use a smaller chart, or values that make it render less."),
        FailureKind::Server | FailureKind::Sandbox => {
            ("G117", "It is tried again; the log of the server has the details.")
        }
    };
    let hint = failed.hint.as_deref().unwrap_or(hint);
    if failed.violations.is_empty() {
        return vec![Finding::error(code, redactor.redact(&failed.message), hint)];
    }
    let violations = failed.violations.into_iter().map(|violation| {
        let ValuesViolation { chart, is_of_subchart, path, message } = violation;
        let subject = match &*path {
            "" => "The values violate".to_owned(),
            path => format!("The value {path} violates"),
        };
        // The marks are those of the chart itself; the schemas of its subcharts may mark more.
        let message = match is_of_subchart {
            true => redactor.redact_hidden_violation(&message),
            false => redactor.redact_violation(&path, &message),
        };
        Finding::error(code, format!("{subject} the schema of chart {chart}: {message}."), hint)
            .with_path(format!("/source/values{path}"))
    });
    violations.collect()
}

#[cfg(test)]
mod tests {
    use domain::Digest;

    use super::*;

    /// The messages about a failed rendering of a chart that is stored nowhere.
    async fn explain(kind: FailureKind, schema: &str) -> Vec<String> {
        let inputs = ChartInputs {
            chart: Digest::compute(b"chart"),
            release_name: "web".to_owned(),
            namespace: "apps".to_owned(),
            values: r#"{"login":{"key":"hunter2"},"tag":"1.29.3"}"#.to_owned(),
            kubernetes_version: String::new(),
            api_versions: Vec::new(),
            is_upgrade: false,
            skip_schema_validation: false,
        };
        let message = "refused hunter2 for 1.29.3".to_owned();
        let failed = RenderFailed { kind, message, violations: Vec::new(), hint: None };
        let failure = explain_failure(failed, &inputs, schema.to_owned()).await.unwrap();
        failure.findings.into_iter().map(|found| found.message).collect()
    }

    #[tokio::test]
    async fn the_text_of_a_failed_rendering_depends_on_the_schema_of_the_chart_and_not_on_what_is_stored() {
        let schema = r#"{"properties":{"login":{"properties":{"key":{"writeOnly":true}}}}}"#;
        assert_eq!(explain(FailureKind::Template, schema).await, ["refused (hidden) for 1.29.3"]);
        assert_eq!(explain(FailureKind::Template, "").await, ["refused hunter2 for 1.29.3"]);
        // Which values are secrets is not known.
        assert_eq!(explain(FailureKind::Template, "{").await, ["refused (hidden) for (hidden)"]);
    }
}
