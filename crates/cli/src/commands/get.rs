//! `flotilla get`: workloads and clusters, many or one.

use clap::Args;
use domain::page::{ListQuery, MAX_LIMIT};
use domain::rollup::Counts;
use domain::workload::{Intent, WorkloadSummary, WorkloadView};

use super::{Subject, cluster};
use crate::clock;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Format, Out, Output, Table};
use crate::remote::Remote;

/// List workloads or clusters, or show one
#[derive(Args)]
pub struct Get {
    /// workloads, clusters, or the name of a workload
    #[arg(default_value = "workloads", value_name = "WHAT")]
    what: String,
    /// Only the one with this name, as in: get cluster eu-1
    name: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// What is to be shown.
enum Wanted<'a> {
    Workloads,
    Clusters,
    Workload(&'a str),
    Cluster(&'a str),
}

impl Get {
    fn wanted(&self) -> Result<Wanted<'_>, Failure> {
        match (&*self.what, self.name.as_deref()) {
            ("workload" | "workloads", None) => Ok(Wanted::Workloads),
            ("workload" | "workloads", Some(name)) => Ok(Wanted::Workload(name)),
            ("cluster" | "clusters", None) => Ok(Wanted::Clusters),
            ("cluster" | "clusters", Some(name)) => Ok(Wanted::Cluster(name)),
            (name, None) => Ok(Wanted::Workload(name)),
            (what, Some(_)) => Err(Failure::usage(
                format!("{what:?} is nothing that can be listed."),
                "There are workloads and clusters: flotilla get cluster eu-1",
            )),
        }
    }

    /// What it is about.
    pub fn subject(&self) -> Subject {
        match self.wanted() {
            Ok(Wanted::Workload(name)) => Subject::Workload(name.to_owned()),
            Ok(Wanted::Cluster(name)) => Subject::Cluster(name.to_owned()),
            _ => Subject::Nothing,
        }
    }

    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        match self.wanted()? {
            Wanted::Workloads => list(remote, self.output.format, out).await?,
            Wanted::Clusters => cluster::list(remote, self.output.format, out).await?,
            Wanted::Workload(name) => one(remote, name, self.output.format, out).await?,
            Wanted::Cluster(name) => cluster::show(remote, name, self.output.format, out).await?,
        }
        Ok(Exit::Done)
    }
}

/// Every workload, page by page.
pub async fn workloads(remote: &Remote) -> Result<Vec<WorkloadSummary>, Failure> {
    let mut query = ListQuery { limit: Some(MAX_LIMIT), ..ListQuery::default() };
    let mut all = Vec::new();
    loop {
        let page = remote.client.workload_list(&query).await?;
        all.extend(page.items);
        query.cursor = page.next;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

/// The names of all workloads.
pub async fn workload_names(remote: &Remote) -> Result<Vec<String>, Failure> {
    Ok(workloads(remote).await?.into_iter().map(|workload| workload.name).collect())
}

/// Prints every workload.
pub async fn list(remote: &Remote, format: Format, out: &Out) -> Result<(), Failure> {
    let workloads = workloads(remote).await?;
    if format.is_machine() {
        return out.value(&workloads, format);
    }
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head = vec!["NAME", "PHASE", "REVISION", "HEALTHY", "STATES", "CHANGED"];
    if wide {
        head.extend(["NAMESPACE", "BY"]);
    }
    let mut table = Table::new(&head);
    for workload in &workloads {
        let row = table.row().text(&workload.name).text(workload.phase.word());
        let row =
            row.text(revision(workload.published, workload.draft_changed)).text(ready(&workload.counts));
        let row = row.text(states(&workload.counts)).text(workload.updated_at.age(now));
        if wide {
            row.text(&workload.namespace).text(&workload.updated_by);
        }
    }
    out.table(&table, "There are no workloads yet: flotilla apply -f ./manifests --clusters A,B")
}

async fn one(remote: &Remote, name: &str, format: Format, out: &Out) -> Result<(), Failure> {
    let view = remote.client.workload_get(name).await?;
    if format.is_machine() {
        return out.value(&view, format);
    }
    let mut table = Table::new(&["FIELD", "VALUE"]);
    for (field, value) in fields(&view) {
        table.row().text(field).text(value);
    }
    out.table(&table, "")?;
    if view.workload.intent != Intent::Draft && view.workload.draft_changed {
        out.note(&format!("The draft differs from what is published: flotilla publish {name} --wait"));
    }
    Ok(())
}

fn fields(view: &WorkloadView) -> Vec<(&'static str, String)> {
    let workload = &view.workload;
    let spec = &workload.draft;
    let files: Vec<&str> = spec.source.files().iter().map(|file| &*file.name).collect();
    let overrides: Vec<&str> = spec.overrides.iter().map(|one| &*one.name).collect();
    let labels: Vec<String> = workload.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    vec![
        ("name", workload.name.clone()),
        ("phase", view.phase.word().to_owned()),
        ("revision", revision(workload.published, workload.draft_changed)),
        ("healthy", ready(&view.counts)),
        ("states", states(&view.counts)),
        ("namespace", spec.namespace.clone()),
        ("placement", placement(spec)),
        ("overrides", overrides.join(", ")),
        ("files", files.join(", ")),
        ("labels", labels.join(", ")),
        ("made", format!("{} by {}", workload.created_at, workload.created_by)),
        ("changed", workload.updated_at.to_string()),
    ]
}

fn placement(spec: &domain::workload::WorkloadSpec) -> String {
    let ways: Vec<String> = spec.placement.predicates.iter().map(predicate).collect();
    let mut text = ways.join(", or ");
    if !spec.placement.exclude.is_empty() {
        text.push_str(&format!("; never {}", spec.placement.exclude.join(", ")));
    }
    if let Some(number) = spec.placement.number_of_clusters {
        text.push_str(&format!("; at most {number}"));
    }
    for spread in &spec.placement.spread {
        text.push_str(&format!("; spread over {}", spread.key));
    }
    text
}

fn predicate(predicate: &domain::placement::Predicate) -> String {
    let mut parts = Vec::new();
    if !predicate.names.is_empty() {
        parts.push(format!("clusters {}", predicate.names.join(", ")));
    }
    if !predicate.groups.is_empty() {
        parts.push(format!("groups {}", predicate.groups.join(", ")));
    }
    if !predicate.label_selector.is_empty() {
        parts.push(predicate.label_selector.to_string());
    }
    if !predicate.field_selector.is_empty() {
        parts.push(predicate.field_selector.to_string());
    }
    if parts.is_empty() { "every cluster".to_owned() } else { parts.join(" and ") }
}

fn revision(published: Option<u32>, draft_changed: bool) -> String {
    match published {
        Some(number) if draft_changed => format!("{number}*"),
        Some(number) => number.to_string(),
        None => "draft".to_owned(),
    }
}

fn ready(counts: &Counts) -> String {
    format!("{}/{}", counts.healthy(), counts.targeted())
}

/// Counts per state, worst first.
pub fn states(counts: &Counts) -> String {
    let parts: Vec<String> =
        counts.worst_first().map(|(state, count)| format!("{count} {}", state.word())).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_3_a_workload_is_asked_for_by_its_name_alone_or_with_its_kind() {
        let get = |what: &str, name: Option<&str>| Get {
            what: what.into(),
            name: name.map(Into::into),
            output: Output::default(),
        };
        assert!(matches!(get("guestbook", None).wanted(), Ok(Wanted::Workload("guestbook"))));
        assert!(matches!(get("workload", Some("clusters")).wanted(), Ok(Wanted::Workload("clusters"))));
        assert!(matches!(get("clusters", None).wanted(), Ok(Wanted::Clusters)));
        assert!(get("pods", Some("x")).wanted().is_err());
    }
}
