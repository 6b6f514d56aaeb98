//! `flotilla chart unwrap`: the chart inside an object of another tool as the definition of a workload.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use domain::manifest::yaml_value;
use domain::policy::Policies;
use domain::workload::Source;
use serde_json::{Map, Value};

use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Printer, sanitize};
use crate::source::collect_files;
use crate::unwrapped_source::UnwrappedSource;

/// File of the definition, and file of the values that it names.
const DEFINITION_FILE: &str = "workload.yaml";
const VALUES_FILE: &str = "values.yaml";

/// Print the workload definition of the chart in a HelmChart (K3s), HelmRelease (Flux) or Application (Argo CD), and what is not carried over;
/// stores nothing
#[derive(Args)]
pub struct UnwrapArgs {
    /// Manifests: a file, a folder (its *.yaml, *.yml, *.json), or - for stdin
    #[arg(short = 'f', long = "filename", required = true, value_name = "FILE|DIR|-")]
    filename: Vec<PathBuf>,
    /// Read the folders below the folders of -f too; hidden ones never
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Write workload.yaml and values.yaml into this folder instead of printing them; files that exist stay as they are
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl UnwrapArgs {
    pub(super) async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let unwrapped =
            UnwrappedSource::read(collect_files(&self.filename, self.recursive)?, remote, out).await?;
        let (definition, values) = (write_definition(&unwrapped), &unwrapped.chart.values);
        unwrapped.print_not_carried(&Policies::default(), out);
        match &self.to {
            Some(folder) => write_files(folder, &definition, values, out),
            None => print_definition(&definition, values, out),
        }
    }
}

/// The definition as `flotilla apply -f` reads it.
fn write_definition(unwrapped: &UnwrappedSource) -> String {
    let UnwrappedSource { chart, source, suggested_name } = unwrapped;
    let mut fields = Map::new();
    let mut set = |name: &str, value: &str| {
        if !value.is_empty() {
            fields.insert(name.to_owned(), value.into());
        }
    };
    set("name", suggested_name.as_deref().unwrap_or(&chart.release_name));
    set("namespace", &chart.namespace);
    match source {
        Source::Chart(named) => {
            set("type", "Helm");
            set("payload", &named.chart);
            set("version", &named.version);
        }
        Source::Git(remote) | Source::Oci(remote) => {
            set("type", if remote.is_oci() { "Oci" } else { "Git" });
            set("payload", &remote.repository);
            set("ref", &remote.reference);
            set("path", &remote.path);
        }
        Source::Yaml { .. } => {}
    }
    set("releaseName", &chart.release_name);
    set("values", if chart.values.is_empty() { "" } else { VALUES_FILE });
    if !chart.policies.is_empty() {
        fields.insert("policies".to_owned(), Value::Object(chart.policies.clone()));
    }
    yaml_value::write(&Value::Object(fields))
}

fn print_definition(definition: &str, values: &str, out: &Printer) -> Result<(), Failure> {
    let print = |text: &str| text.lines().try_for_each(|line| out.print_line(&sanitize(line)));
    print(definition)?;
    if values.is_empty() {
        return Ok(());
    }
    out.print_line(&format!("---\n# {VALUES_FILE}"))?;
    print(values)
}

fn write_files(folder: &Path, definition: &str, values: &str, out: &Printer) -> Result<(), Failure> {
    let failed = |path: &Path, error: &std::io::Error| {
        Failure::new(
            format!("{} can't be written: {error}.", path.display()),
            "Name another folder with --to.",
        )
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    for (name, text) in [(VALUES_FILE, values), (DEFINITION_FILE, definition)] {
        if text.is_empty() {
            continue;
        }
        let path = folder.join(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| failed(&path, &error))?;
        out.print_line(&format!("{} written", path.display()))?;
    }
    out.print_note(&format!(
        "Next: flotilla apply -f {} --clusters A,B",
        folder.join(DEFINITION_FILE).display()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::chart::ChartSource;
    use domain::chart_envelope::{ChartAddress, UnwrappedChart};

    use super::*;
    use crate::definition::WorkloadDefinition;

    #[test]
    fn s3_2_a_definition_of_an_unwrapped_chart_is_one_that_is_applied() {
        let values = "replicas: 2 # two\n".to_owned();
        let chart = UnwrappedChart {
            object: "HelmChart web".to_owned(),
            address: ChartAddress::Repository {
                url: "https://charts.example.com".to_owned(),
                chart: "web".to_owned(),
                version: "1.0.0".to_owned(),
            },
            release_name: "web".to_owned(),
            namespace: "shop".to_owned(),
            values: values.clone(),
            policies: Map::from_iter([("prune".to_owned(), false.into())]),
            not_carried: Vec::new(),
        };
        let source = Source::Chart(ChartSource {
            chart: "acme/web".to_owned(),
            version: "1.0.0".to_owned(),
            release_name: "web".to_owned(),
            values: values.clone(),
        });
        let unwrapped = UnwrappedSource { chart, source, suggested_name: Some("front".to_owned()) };
        let folder = tempfile::tempdir().unwrap();
        write_files(folder.path(), &write_definition(&unwrapped), &values, &Printer::new()).unwrap();
        let path = folder.path().join(DEFINITION_FILE);
        let read = WorkloadDefinition::read(std::slice::from_ref(&path)).unwrap().unwrap();
        assert_eq!((read.name.as_deref(), read.namespace.as_deref()), (Some("front"), Some("shop")));
        assert_eq!(read.policies["prune"], false);
        let args = read.chart_args(&path);
        assert_eq!((args.chart.as_deref(), args.chart_version.as_deref()), (Some("acme/web"), Some("1.0.0")));
        assert_eq!(fs::read_to_string(args.values.unwrap()).unwrap(), values);
        let again = write_files(folder.path(), "name: other\n", "", &Printer::new());
        assert!(again.is_err(), "a file that exists is not replaced");
    }
}
