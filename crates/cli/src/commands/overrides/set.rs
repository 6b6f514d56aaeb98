//! `flotilla override set`: sets fields of objects, or values of a chart, on some clusters.

use clap::Args;
use domain::overrides::{ClusterSelector, MAX_PRIORITY, Patch, PatchOp};
use domain::request::OverridePut;
use domain::workload::WorkloadSpec;

use super::assignment::{Assignment, ObjectFlag, resolve_field, set_value};
use super::{OverrideTargetArgs, to_request};
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::Printer;

/// Set fields of a workload on some clusters, in its draft
#[derive(Args)]
pub struct SetArgs {
    /// Name of the workload
    pub workload: String,
    #[command(flatten)]
    target: OverrideTargetArgs,
    /// The object whose field is set, such as Deployment/web; for a chart, an object that it renders
    #[arg(long, value_name = "KIND/NAME")]
    object: Option<String>,
    /// Precedence among overrides that are equally specific, 0 to 1000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_PRIORITY)))]
    priority: Option<u32>,
    /// A field by its name (replicas=4), by its last parts (limits.cpu=2), or by its path
    /// (/spec/template/spec/containers[name=web]/image=web:2); for a chart, a value (image.tag=2)
    #[arg(required = true, value_name = "FIELD=VALUE")]
    assignments: Vec<String>,
}

impl SetArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let texts = self.assignments.iter().map(|text| Assignment::parse(text));
        let assignments = texts.collect::<Result<Vec<_>, _>>()?;
        let workload = remote.client.get_workload(&self.workload).await?.workload;
        let target = self.target.to_selector()?;
        let found = self.target.find(&workload.draft.overrides, &target)?;
        let name = match found {
            Some(found) => found.name.clone(),
            None => self.target.new_name()?,
        };
        let mut content = found.map(to_request).unwrap_or_default();
        if target != ClusterSelector::default() {
            content.target = target;
        } else if found.is_none() {
            return Err(Failure::usage(
                format!("{} has no override {name:?} yet.", self.workload),
                "Name the clusters of the new one: --cluster, --group, --selector or --facts",
            ));
        }
        content.priority = self.priority.unwrap_or(content.priority);
        for assignment in &assignments {
            self.apply_assignment(assignment, &workload.draft, &mut content)?;
        }
        remote.client.put_override(&self.workload, &name, &content, workload.revision).await?;
        out.print_line(&format!("workload/{} override {name} saved (draft)", self.workload))?;
        out.print_note(&format!("It takes effect when it is published: flotilla publish {}", self.workload));
        Ok(())
    }

    fn apply_assignment(
        &self,
        assignment: &Assignment,
        draft: &WorkloadSpec,
        content: &mut OverridePut,
    ) -> Result<(), Failure> {
        if draft.source.is_chart() && self.object.is_none() {
            content.values = set_value(&content.values, assignment)?;
            return Ok(());
        }
        let flag = self.object.as_deref().map(ObjectFlag::parse).transpose()?;
        let (object, path) = resolve_field(&draft.source, &assignment.field, flag.as_ref())?;
        let path = path.to_string();
        let is_same = |patch: &Patch| patch.object == object && patch_path(patch) == Some(&*path);
        content.patches.retain(|patch| !is_same(patch));
        let value = assignment.value.clone();
        content.patches.push(Patch { object, op: PatchOp::Set { path, value } });
        Ok(())
    }
}

/// The path of a patch; `None` for a merge.
pub fn patch_path(patch: &Patch) -> Option<&str> {
    match &patch.op {
        PatchOp::Merge { .. } => None,
        PatchOp::Set { path, .. } | PatchOp::Remove { path } => Some(path),
    }
}
