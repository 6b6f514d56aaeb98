//! Which entries of the drift inbox a command is about, and which of their fields.

use clap::Args;
use domain::drift::{DriftItem, DriftQuery};
use domain::page::MAX_LIMIT;

use crate::connection::ServerConnection;
use crate::failure::Failure;

/// The entries of a workload on a cluster.
#[derive(Args)]
pub struct SelectionArgs {
    /// Name of the workload
    pub workload: String,
    /// The cluster on which it drifts
    #[arg(long, value_name = "CLUSTER")]
    pub cluster: String,
    /// Only this object, such as Deployment/web
    #[arg(long, value_name = "KIND/NAME")]
    object: Option<String>,
}

/// An entry with paths of its fields.
pub struct SelectedFields {
    /// The entry.
    pub item: DriftItem,
    /// The paths; empty for all of the entry.
    pub paths: Vec<String>,
}

impl SelectionArgs {
    /// The entries, as a list has them: at least one.
    pub async fn find(&self, remote: &ServerConnection) -> Result<Vec<DriftItem>, Failure> {
        let mut query = DriftQuery {
            workload: self.workload.clone(),
            cluster: self.cluster.clone(),
            limit: Some(MAX_LIMIT),
            ..DriftQuery::default()
        };
        let mut items: Vec<DriftItem> = Vec::new();
        loop {
            let page = remote.client.list_drift(&query).await?;
            items.extend(page.items);
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
        if items.is_empty() {
            // A name that does not exist is another failure.
            remote.client.get_release(&self.workload, &self.cluster).await?;
            return Err(Failure::new(
                format!("Nothing of {} drifts on {}.", self.workload, self.cluster),
                "\"flotilla drift\" lists what drifts.",
            ));
        }
        let Some(wanted) = &self.object else { return Ok(items) };
        let objects = list_objects(&items);
        items.retain(|item| is_object(item, wanted));
        if items.is_empty() {
            return Err(Failure::usage(
                format!("No object {wanted:?} of {} drifts on {}.", self.workload, self.cluster),
                format!("Write one of: {objects}."),
            ));
        }
        Ok(items)
    }

    /// The entries with all reported fields.
    pub async fn read_details(&self, remote: &ServerConnection) -> Result<Vec<DriftItem>, Failure> {
        let mut details = Vec::new();
        for item in self.find(remote).await? {
            details.push(remote.client.get_drift(item.id).await?);
        }
        Ok(details)
    }

    /// The fields that these arguments name; without any, all fields of the only entry.
    pub async fn select_fields(
        &self,
        remote: &ServerConnection,
        fields: &[String],
    ) -> Result<Vec<SelectedFields>, Failure> {
        let items = self.read_details(remote).await?;
        if fields.is_empty() {
            if items.len() > 1 {
                return Err(Failure::usage(
                    format!("{} objects of {} drift on {}.", items.len(), self.workload, self.cluster),
                    format!("Name one with --object, or fields with --field: {}.", list_objects(&items)),
                ));
            }
            return Ok(items.into_iter().map(|item| SelectedFields { item, paths: Vec::new() }).collect());
        }
        let mut selected: Vec<SelectedFields> =
            items.into_iter().map(|item| SelectedFields { item, paths: Vec::new() }).collect();
        for field in fields {
            select_field(&mut selected, field)?;
        }
        selected.retain(|one| !one.paths.is_empty());
        Ok(selected)
    }
}

/// Adds the field with this path, or whose path ends with it.
fn select_field(selected: &mut [SelectedFields], field: &str) -> Result<(), Failure> {
    let suffix = format!("/{}", field.trim_start_matches('/'));
    let all: Vec<(usize, String)> = selected
        .iter()
        .enumerate()
        .flat_map(|(at, one)| one.item.fields.iter().map(move |other| (at, other.path.clone())))
        .collect();
    let whole: Vec<(usize, String)> = all.iter().filter(|(_, path)| path == field).cloned().collect();
    let by_end = || -> Vec<(usize, String)> {
        all.iter().filter(|(_, path)| path.ends_with(&suffix)).cloned().collect()
    };
    let found: Vec<(usize, String)> = if whole.is_empty() { by_end() } else { whole };
    match found.as_slice() {
        [(at, path)] => {
            if !selected[*at].paths.contains(path) {
                selected[*at].paths.push(path.clone());
            }
            Ok(())
        }
        [] => Err(Failure::usage(
            format!("No field {field:?} drifts."),
            format!("Write one of: {}.", join_paths(&all)),
        )),
        several => Err(Failure::usage(
            format!("{field:?} names several fields that drift."),
            format!("Write the whole path, with --object if two objects have it: {}.", join_paths(several)),
        )),
    }
}

fn join_paths(fields: &[(usize, String)]) -> String {
    let paths: Vec<&str> = fields.iter().map(|(_, path)| path.as_str()).collect();
    paths.join(", ")
}

/// Whether an entry is of the object `KIND/NAME` or `KIND/NAMESPACE/NAME`.
fn is_object(item: &DriftItem, wanted: &str) -> bool {
    let object = &item.object;
    let parts: Vec<&str> = wanted.split('/').collect();
    match parts.as_slice() {
        [kind, name] => object.kind.eq_ignore_ascii_case(kind) && object.name == *name,
        [kind, namespace, name] => {
            object.kind.eq_ignore_ascii_case(kind) && object.namespace == *namespace && object.name == *name
        }
        _ => false,
    }
}

fn list_objects(items: &[DriftItem]) -> String {
    let names: Vec<String> =
        items.iter().map(|item| format!("{}/{}", item.object.kind, item.object.name)).collect();
    names.join(", ")
}
