//! `flotilla override unset`: removes fields from an override, or the whole override.

use clap::Args;
use domain::field_path::{FieldPath, PathSegment};
use domain::overrides::Patch;
use domain::request::OverridePut;
use domain::{manifest, yaml_edit};
use serde_json::Value;

use super::assignment::{ObjectFlag, is_field_of, value_path};
use super::set::patch_path;
use super::{OverrideTargetArgs, to_request};
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::Printer;

/// Remove fields from an override, or the whole override if no field is named, in the draft
#[derive(Args)]
pub struct UnsetArgs {
    /// Name of the workload
    pub workload: String,
    #[command(flatten)]
    target: OverrideTargetArgs,
    /// Only fields of this object, such as Deployment/web
    #[arg(long, value_name = "KIND/NAME")]
    object: Option<String>,
    /// A field as it was set; the override is deleted when its last field is removed
    #[arg(value_name = "FIELD")]
    fields: Vec<String>,
}

impl UnsetArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let workload = remote.client.get_workload(&self.workload).await?.workload;
        let target = self.target.to_selector()?;
        let Some(found) = self.target.find(&workload.draft.overrides, &target)? else {
            return Err(Failure::new(
                format!("{} has no such override.", self.workload),
                format!("\"flotilla override list {}\" lists all.", self.workload),
            ));
        };
        let mut content = to_request(found);
        for field in &self.fields {
            self.remove_field(field, &mut content)?;
        }
        let is_empty = content.patches.is_empty() && has_no_values(&content.values);
        let (client, name) = (&remote.client, &found.name);
        if self.fields.is_empty() || is_empty {
            client.delete_override(&self.workload, name, workload.revision).await?;
            out.print_line(&format!("workload/{} override {name} deleted (draft)", self.workload))?;
        } else {
            client.put_override(&self.workload, name, &content, workload.revision).await?;
            out.print_line(&format!("workload/{} override {name} saved (draft)", self.workload))?;
        }
        out.print_note(&format!("It takes effect when it is published: flotilla publish {}", self.workload));
        Ok(())
    }

    fn remove_field(&self, field: &str, content: &mut OverridePut) -> Result<(), Failure> {
        let flag = self.object.as_deref().map(ObjectFlag::parse).transpose()?;
        let matches = |patch: &Patch| {
            flag.as_ref().is_none_or(|flag| flag.matches(&patch.object))
                && patch_path(patch).is_some_and(|path| is_field_of(field, path))
        };
        let found = content.patches.iter().filter(|patch| matches(patch)).count();
        if found > 1 {
            return Err(Failure::usage(
                format!("{field:?} is set in {found} places of this override."),
                "Name the object and the whole path: --object KIND/NAME /spec/…",
            ));
        }
        content.patches.retain(|patch| !matches(patch));
        if found == 1 {
            return Ok(());
        }
        let not_set = || {
            Failure::usage(
                format!("The override does not set {field:?}."),
                format!("\"flotilla override list {}\" shows what it sets.", self.workload),
            )
        };
        let path = value_path(field).map_err(|_| not_set())?;
        if is_only_value(&content.values, &path) {
            content.values.clear();
            return Ok(());
        }
        let changed = yaml_edit::remove(&content.values, 0, &path).map_err(|_| not_set())?;
        if changed == content.values {
            return Err(not_set());
        }
        content.values = changed;
        Ok(())
    }
}

/// Whether the path is that of the only key of a text of values.
fn is_only_value(text: &str, path: &FieldPath) -> bool {
    let Ok(Some(Value::Object(map))) = manifest::yaml_value::read(text) else { return false };
    matches!(&*path.0, [PathSegment::Key(key)] if map.len() == 1 && map.contains_key(key))
}

/// Whether a text of values contains none.
fn has_no_values(text: &str) -> bool {
    match manifest::yaml_value::read(text) {
        Ok(None) => true,
        Ok(Some(value)) => value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty),
        Err(_) => false,
    }
}
