//! The chart inside an object of another tool, as the source of a workload.

use domain::chart_envelope::{ChartUnwrapping, FieldNotCarried, UnwrappedChart, preview_unwrapping};
use domain::workload::{Policies, Source, WorkloadSpec};

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Printer, count_findings};
use crate::source::CollectedFiles;

/// The chart of collected files, and the source of a workload that it becomes.
pub struct UnwrappedSource {
    /// The chart as its object names it.
    pub chart: UnwrappedChart,
    /// The chart in a repository of the project, or at its own address.
    pub source: Source,
    /// The name that the files suggest for a workload.
    pub suggested_name: Option<String>,
}

impl UnwrappedSource {
    /// Reads the chart of the files, and finds its repository among those of the project.
    pub async fn read(
        files: CollectedFiles,
        remote: &ServerConnection,
        out: &Printer,
    ) -> Result<Self, Failure> {
        let repositories = remote.client.list_chart_repositories().await?;
        let source = Source::Yaml { files: files.files.clone() };
        let spec = WorkloadSpec { source, ..WorkloadSpec::default() };
        let ChartUnwrapping { chart, source, findings } = preview_unwrapping(&spec, &repositories);
        let (Some(chart), Some(source)) = (chart, source) else {
            out.print_findings_note(&findings, &|file| files.display_path(file));
            return Err(Failure::with_exit(
                ExitStatus::Rejected,
                format!("Nothing is unwrapped: {}.", count_findings(&findings)),
                "Correct what is named above and run this again.",
            ));
        };
        Ok(Self { chart, source, suggested_name: files.suggested_name })
    }

    /// Replaces source, namespace and policies of a spec by those of the chart.
    pub fn apply_to(&self, spec: &mut WorkloadSpec) {
        self.chart.apply_to(spec, self.source.clone());
    }

    /// Prints what a workload with these policies does not have of the object, on stderr.
    pub fn print_not_carried(&self, policies: &Policies, out: &Printer) {
        let mut spec = WorkloadSpec { policies: policies.clone(), ..WorkloadSpec::default() };
        let kept = self.chart.apply_to(&mut spec, Source::default());
        for FieldNotCarried { object, path, reason } in self.chart.not_carried.iter().chain(&kept) {
            let place = format!("{object} {path}");
            out.print_note(&format!("not carried over: {}: {reason}", place.trim_end()));
        }
    }
}
