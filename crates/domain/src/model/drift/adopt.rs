//! Writes live values into a draft: into its manifests, or into the override of one cluster.

use serde_json::Value;

use crate::kubernetes::field_path::FieldPath;
use crate::kubernetes::object::{ObjectRef, object_ref};
use crate::model::action_unavailable::ActionUnavailable;
use crate::model::overrides::{ClusterSelector, ObjectSelector, Override, Patch, PatchOp};
use crate::model::report::DriftedField;
use crate::model::report::limits::is_truncated_value;
use crate::text::secret_text::has_placeholder;
use crate::text::source_file::SourceFile;
use crate::text::template::is_templated;
use crate::text::yaml_edit::{self, EditBudget};

fn unavailable(why: String) -> ActionUnavailable {
    ActionUnavailable(why)
}

/// Whether the live value of a field is known as a whole.
///
/// # Errors
/// Its values were not reported, are hidden, or were shortened; the live one would be a template in the draft.
pub fn check_adoptable(object: &ObjectRef, field: &DriftedField) -> Result<(), ActionUnavailable> {
    let path = &field.path;
    let is_hidden =
        object.kind == "Secret" || [&field.applied, &field.live].into_iter().flatten().any(has_placeholder);
    if is_hidden {
        return Err(unavailable(format!(
            "The value of {path} in {object} is hidden, so it can't be adopted: change the draft by hand."
        )));
    }
    if !field.has_values() {
        return Err(unavailable(format!(
            "The cluster did not report the value of {path} in {object}: change the draft by hand."
        )));
    }
    if field.live.as_ref().is_some_and(is_truncated_value) {
        return Err(unavailable(format!(
            "The value of {path} in {object} is too long to be reported as a whole: change the draft by hand."
        )));
    }
    // What somebody wrote on a cluster must not become an expression that is evaluated for every cluster.
    if field.live.as_ref().is_some_and(is_templated) {
        return Err(unavailable(format!(
            "The value of {path} in {object} has ${{{{, which begins a template in a draft: change the draft by hand."
        )));
    }
    Ok(())
}

/// Writes the live values of these fields into the file that has the object, all or none of them; every other byte of the files stays
/// as it is. `namespace` is that of objects that name none.
///
/// # Errors
/// No document of the files is the object, or more than one; a live value is not known as a whole; a field comes from a template; the
/// YAML can't be edited there.
pub fn adopt_into_files(
    files: &mut [SourceFile],
    namespace: &str,
    object: &ObjectRef,
    fields: &[DriftedField],
) -> Result<(), ActionUnavailable> {
    let elsewhere = "Adopt it into the override of this cluster instead.";
    let found = find_documents(files, namespace, object);
    let [(number, document, value)] = found.as_slice() else {
        let count = if found.is_empty() { "no document" } else { "more than one document" };
        return Err(unavailable(format!("In the files of the draft, {count} is {object}. {elsewhere}")));
    };
    let file = &mut files[*number];
    // Each field parses the file again.
    if !EditBudget::default().charge(file.text.len(), fields.len()) {
        return Err(unavailable(format!(
            "{} is too long for {} fields at once: adopt fewer of them. {elsewhere}",
            file.name,
            fields.len()
        )));
    }
    let mut text = file.text.clone();
    for field in fields {
        check_adoptable(object, field)?;
        let path = field.path.parse::<FieldPath>();
        let path = path.map_err(|error| unavailable(format!("{error}. {elsewhere}")))?;
        if path.get(value).is_some_and(is_templated) {
            return Err(unavailable(format!(
                "{} of {object} comes from a template in {}, with a value for each cluster. {elsewhere}",
                field.path, file.name
            )));
        }
        let edited = match &field.live {
            Some(live) => yaml_edit::set(&text, *document, &path, live),
            None => yaml_edit::remove(&text, *document, &path),
        };
        text = edited.map_err(|error| {
            unavailable(format!("{} of {object} in {}: {error} {elsewhere}", field.path, file.name))
        })?;
    }
    file.text = text;
    Ok(())
}

/// The documents that are the object: number of the file, number of the document in it, content.
fn find_documents(files: &[SourceFile], namespace: &str, object: &ObjectRef) -> Vec<(usize, usize, Value)> {
    let mut found = Vec::new();
    for (number, file) in files.iter().enumerate() {
        for (document, value) in yaml_edit::parse_documents(&file.text).into_iter().enumerate() {
            if let Some(value) = value.filter(|value| is_object(value, namespace, object)) {
                found.push((number, document, value));
            }
        }
    }
    found
}

fn is_object(value: &Value, namespace: &str, object: &ObjectRef) -> bool {
    let found = object_ref(value);
    let is_here = found.namespace == object.namespace
        || (found.namespace.is_empty() && object.namespace == namespace)
        // An object without a namespace on the cluster has none, whatever the manifest says.
        || object.namespace.is_empty();
    is_here && found.is_kind(&object.group, &object.kind) && found.name == object.name
}

/// The override for this cluster alone that is merged last.
pub fn find_override_of_cluster<'s>(overrides: &'s [Override], cluster: &str) -> Option<&'s Override> {
    let target = ClusterSelector { clusters: vec![cluster.to_owned()], ..ClusterSelector::default() };
    let own = overrides.iter().filter(|one| one.target == target);
    own.max_by_key(|one| (one.priority, one.name.clone()))
}

/// The override that names this cluster and has a patch for the field: the manifests do not decide it there.
pub fn find_deciding_override<'s>(
    overrides: &'s [Override],
    cluster: &str,
    object: &ObjectRef,
    path: &str,
) -> Option<&'s Override> {
    let fits = |selected: &str, actual: &str| selected.is_empty() || selected == actual;
    let decides = |patch: &Patch| {
        let ObjectSelector { kind, name, namespace } = &patch.object;
        let is_object =
            fits(kind, &object.kind) && fits(name, &object.name) && fits(namespace, &object.namespace);
        match &patch.op {
            PatchOp::Set { path: patched, .. } | PatchOp::Remove { path: patched } => {
                is_object && patched == path
            }
            PatchOp::Merge { .. } => false,
        }
    };
    let names_cluster = |one: &Override| one.target.clusters.iter().any(|name| name == cluster);
    overrides.iter().find(|one| names_cluster(one) && one.patches.iter().any(&decides))
}

/// Adds the patch that gives the field its live value, in place of one for the same field.
///
/// # Errors
/// The live value is not known as a whole, or the path can't be patched.
pub fn put_patch(
    patches: &mut Vec<Patch>,
    object: &ObjectRef,
    field: &DriftedField,
) -> Result<(), ActionUnavailable> {
    check_adoptable(object, field)?;
    let parsed = field.path.parse::<FieldPath>();
    parsed.map_err(|error| unavailable(format!("{error}: change the draft by hand.")))?;
    let ObjectRef { kind, name, namespace, .. } = object.clone();
    let selector = ObjectSelector { kind, name, namespace };
    let path = field.path.clone();
    let op = match &field.live {
        Some(live) => PatchOp::Set { path, value: live.clone() },
        None => PatchOp::Remove { path },
    };
    let is_same_field = |patch: &Patch| match &patch.op {
        PatchOp::Set { path, .. } | PatchOp::Remove { path } => {
            *path == field.path && patch.object == selector
        }
        PatchOp::Merge { .. } => false,
    };
    patches.retain(|patch| !is_same_field(patch));
    patches.push(Patch { object: selector, op });
    Ok(())
}
