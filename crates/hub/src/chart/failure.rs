//! Why Helm did not render a chart, as findings without the secrets among the values.

use domain::Finding;
use domain::chart::ChartInputs;
use domain::message_redactor::MessageRedactor;
use domain::release::Reason;
use domain::secret_values::SecretMarks;
use source::helm::{FailureKind, RenderFailed, ValuesViolation};

use super::RenderingFailure;
use crate::blocking::run_blocking;
use crate::{Error, Hub};

impl Hub {
    /// What a person should know about a rendering with these inputs that failed. Everybody who reads the workload reads it: it names the
    /// fields, and contains no secret among the values.
    ///
    /// # Errors
    /// The work ended unexpectedly.
    pub(super) async fn explain_failure(
        &self,
        failed: RenderFailed,
        inputs: &ChartInputs,
    ) -> Result<RenderingFailure, Error> {
        let reason = match failed.kind {
            FailureKind::Server | FailureKind::Sandbox => Reason::WaitingForArtifact,
            _ => Reason::RenderFailed,
        };
        let marks = match failed.kind {
            // Their messages are not those of Helm.
            FailureKind::Server | FailureKind::Sandbox | FailureKind::Archive | FailureKind::Limit => {
                SecretMarks::Names
            }
            FailureKind::Schema
            | FailureKind::KubernetesVersion
            | FailureKind::Dependency
            | FailureKind::Template => {
                let loaded = self.load_archive_marks(&inputs.chart).await;
                loaded.unwrap_or_else(|error| {
                    tracing::warn!(%error, chart = %inputs.chart, "all values are hidden in the message of a failed rendering");
                    SecretMarks::Unknown
                })
            }
        };
        let values = inputs.values.clone();
        let explain = move || list_findings(failed, &MessageRedactor::new(&marks, &values));
        Ok(RenderingFailure { findings: run_blocking(explain).await?, reason })
    }
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
