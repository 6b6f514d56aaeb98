//! Flags of a chart as the source of a workload.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use domain::chart::{ChartSource, LOCAL_REPOSITORY};
use domain::chart_repository::is_stable;
use domain::manifest::yaml_value::MAX_VALUE_BYTES;
use domain::workload::Source;

use crate::commands::overrides::assignment::{Assignment, set_value};
use crate::connection::ServerConnection;
use crate::failure::Failure;

/// Upper limit of an archive, in bytes: what the server accepts in a request.
const MAX_ARCHIVE_BYTES: u64 = 12 << 20;

/// The chart flags.
#[derive(Args, Debug, Default, Clone)]
pub struct ChartSourceArgs {
    /// A chart: local/NAME, REPOSITORY/NAME as "flotilla chart search" shows it, or a packed chart (.tgz) to upload
    #[arg(long, value_name = "CHART|FILE.tgz", conflicts_with = "filename")]
    pub chart: Option<String>,
    /// Version of the chart [default: unchanged; that of the uploaded file; the newest one for a new workload]
    #[arg(long, value_name = "VERSION", conflicts_with = "filename")]
    pub chart_version: Option<String>,
    /// Common values of the chart: a YAML file, or - for stdin [default: unchanged]
    #[arg(long, value_name = "FILE|-", conflicts_with = "filename")]
    pub values: Option<PathBuf>,
    /// Set one of the common values, such as image.tag=2.1, and leave the others; the value is YAML. May be repeated
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["filename", "git", "oci", "reference", "path", "on_new_commit"])]
    pub set: Vec<String>,
    /// The same with a text as the value, whatever it looks like
    #[arg(long, value_name = "KEY=TEXT", conflicts_with_all = ["filename", "git", "oci", "reference", "path", "on_new_commit"])]
    pub set_string: Vec<String>,
    /// Name of the Helm release [default: unchanged; the name of the workload]
    #[arg(long, value_name = "NAME", conflicts_with = "filename")]
    pub release_name: Option<String>,
}

/// The chart of a draft, with what is left unchanged as `None`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ChartChange {
    chart: Option<String>,
    version: Option<String>,
    release_name: Option<String>,
    values: Option<String>,
    /// Single values, which are set in the text of the others.
    assignments: Vec<Assignment>,
}

impl ChartSourceArgs {
    /// Whether a flag is set.
    pub fn is_set(&self) -> bool {
        self.chart.is_some()
            || self.chart_version.is_some()
            || self.values.is_some()
            || self.release_name.is_some()
            || !self.set.is_empty()
            || !self.set_string.is_empty()
    }

    /// The flags `--set`, then `--set-string`, each in its order.
    fn parse_assignments(&self) -> Result<Vec<Assignment>, Failure> {
        let values = self.set.iter().map(|text| Assignment::parse(text));
        let texts = self.set_string.iter().map(|text| Assignment::parse_text(text));
        values.chain(texts).collect()
    }

    /// Reads the values and uploads the chart if it is a file. With `dry_run`, a file is an error, because an upload is a change.
    pub async fn resolve(&self, remote: &ServerConnection, dry_run: bool) -> Result<ChartChange, Failure> {
        let values = self.values.as_deref().map(read_values).transpose()?;
        let mut change = ChartChange {
            chart: self.chart.clone(),
            version: self.chart_version.clone(),
            release_name: self.release_name.clone(),
            values,
            assignments: self.parse_assignments()?,
        };
        if let Some(file) = self.chart.as_deref().filter(|chart| is_archive_path(chart)) {
            if dry_run {
                return Err(Failure::usage(
                    "--dry-run stores nothing, and a chart file has to be uploaded first.",
                    format!("Upload it: flotilla chart push {file}; then name it: --chart local/NAME."),
                ));
            }
            let uploaded = remote.client.upload_chart(read_archive(Path::new(file))?).await?;
            change.chart = Some(uploaded.reference());
            change.version = change.version.or(Some(uploaded.version));
        } else if let (Some(chart), None) = (&self.chart, &self.chart_version) {
            change.version = find_newest(remote, chart).await?;
        }
        Ok(change)
    }
}

impl ChartChange {
    /// The name of the chart, as a name for a new workload.
    pub fn suggested_name(&self) -> Option<String> {
        self.chart.as_deref()?.rsplit('/').next().map(str::to_owned)
    }

    /// The source with this change.
    pub fn apply_to(&self, current: Option<&ChartSource>) -> Result<Source, Failure> {
        let mut source = current.cloned().unwrap_or_default();
        let set = |field: &mut String, value: &Option<String>| {
            if let Some(value) = value {
                field.clone_from(value);
            }
        };
        set(&mut source.chart, &self.chart);
        set(&mut source.version, &self.version);
        set(&mut source.release_name, &self.release_name);
        set(&mut source.values, &self.values);
        for assignment in &self.assignments {
            source.values = set_value(&source.values, assignment)?;
        }
        if source.chart.is_empty() {
            return Err(Failure::usage(
                "The workload has no chart yet.",
                "Name it: --chart local/NAME; \"flotilla chart list\" shows the charts of the project.",
            ));
        }
        Ok(Source::Chart(source))
    }
}

/// The newest version of this chart that is no pre-release, or the newest upload of an uploaded one; `None` if there is none,
/// which the server reports.
pub async fn find_newest(remote: &ServerConnection, chart: &str) -> Result<Option<String>, Failure> {
    let (repository, name) = chart.split_once('/').unwrap_or((LOCAL_REPOSITORY, chart));
    if repository != LOCAL_REPOSITORY {
        let versions = match remote.client.list_chart_versions(repository, name).await {
            Ok(versions) => versions,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let newest = versions.iter().find(|found| is_stable(&found.version)).or_else(|| versions.first());
        return Ok(newest.map(|newest| newest.version.clone()));
    }
    let charts = remote.client.list_charts(Some(name)).await?;
    Ok(charts.into_iter().find(|one| one.reference() == chart).map(|one| one.version))
}

/// Whether the text names a packed chart rather than a chart of the server.
pub fn is_archive_path(text: &str) -> bool {
    let path = Path::new(text);
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tgz"))
        || text.ends_with(".tar.gz")
}

/// Reads a packed chart.
pub fn read_archive(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let failed = |error: io::Error| {
        Failure::new(format!("{shown} can't be read: {error}."), "Name a chart packed by helm package.")
    };
    let file = fs::File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(Failure::usage(
            format!("{shown} is a folder."),
            format!("Pack it first: helm package {shown}"),
        ));
    }
    let mut bytes = Vec::new();
    file.take(MAX_ARCHIVE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_ARCHIVE_BYTES {
        return Err(Failure::new(
            format!("{shown} has more than {MAX_ARCHIVE_BYTES} bytes."),
            "Leave out files that the chart does not need, by .helmignore.",
        ));
    }
    Ok(bytes)
}

/// Reads a file of values, or standard input for `-`.
pub fn read_values(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let failed = |error: io::Error| {
        Failure::new(format!("The values {shown} can't be read: {error}."), "Name a YAML file of values.")
    };
    let mut text = String::new();
    let limit = MAX_VALUE_BYTES as u64 + 1;
    if path.as_os_str() == "-" {
        io::stdin().lock().take(limit).read_to_string(&mut text).map_err(failed)?;
    } else {
        fs::File::open(path).map_err(failed)?.take(limit).read_to_string(&mut text).map_err(failed)?;
    }
    if text.len() > MAX_VALUE_BYTES {
        return Err(Failure::new(
            format!("The values {shown} have more than {MAX_VALUE_BYTES} bytes."),
            "Remove what equals the defaults of the chart: flotilla chart get CHART --values shows them.",
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_change_only_what_they_name() {
        let current = ChartSource {
            chart: "local/web".into(),
            version: "1.0.0".into(),
            release_name: "shop".into(),
            values: "a: 1 # one\n".into(),
        };
        let change = ChartChange { version: Some("1.1.0".into()), ..ChartChange::default() };
        let Ok(Source::Chart(changed)) = change.apply_to(Some(&current)) else { panic!() };
        assert_eq!(changed, ChartSource { version: "1.1.0".into(), ..current });
        assert!(change.apply_to(None).is_err(), "a version alone names no chart");
    }

    #[test]
    fn r_6_single_values_are_set_in_the_stored_ones() {
        let args = ChartSourceArgs {
            set: vec!["a=2".into(), "image.tag=3".into()],
            set_string: vec!["image.tag=3".into()],
            ..ChartSourceArgs::default()
        };
        let change = ChartChange { assignments: args.parse_assignments().unwrap(), ..ChartChange::default() };
        let current =
            ChartSource { chart: "local/web".into(), values: "a: 1 # one\n".into(), ..Default::default() };
        let Ok(Source::Chart(changed)) = change.apply_to(Some(&current)) else { panic!() };
        let values = domain::manifest::yaml_value::read(&changed.values).unwrap().unwrap();
        assert_eq!(values, serde_json::json!({"a": 2, "image": {"tag": "3"}}));
        assert!(changed.values.contains("# one"), "{}", changed.values);
    }

    #[test]
    fn a_file_is_told_from_a_chart_of_the_server() {
        assert!(is_archive_path("./web-1.0.0.tgz") && is_archive_path("web.tar.gz"));
        assert!(!is_archive_path("local/web"));
    }
}
