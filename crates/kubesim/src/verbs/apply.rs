//! PATCH: server-side apply and the three other patch types.

use serde_json::Value;

use super::{
    FieldValidation, MAX_TRIES, ResourcePath, WriteOptions, WriteResult, create, prepare, prune_and_default,
    update,
};
use crate::apply::{FieldManager, apply_config as merge_config};
use crate::cluster::SimState;
use crate::decode;
use crate::object::{self, str_at};
use crate::patch;
use crate::status::{ApiResult, StatusError};

/// The patch types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply { force: bool },
}

/// Patches an object; an apply also creates it.
///
/// # Errors
/// Not found, conflict, a patch that cannot be applied, invalid.
pub(crate) fn patch_object(
    sim: &SimState,
    target: &ResourcePath,
    body: &[u8],
    how: PatchKind,
    write: &WriteOptions<'_>,
) -> ApiResult<WriteResult> {
    if let PatchKind::Apply { force } = how {
        return apply_object(sim, target, body, force, write);
    }
    if how == PatchKind::Strategic && target.kind.is_custom {
        return Err(StatusError::unsupported_media_type(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        ));
    }
    let sent = if how == PatchKind::Json { Value::Null } else { decode::parse_body(body, false)? };
    let warnings = std::cell::RefCell::new(Vec::new());
    let expected = str_at(&sent, "metadata.resourceVersion").to_owned();
    let object = update::edit_object(sim, target, write, |live| {
        if !expected.is_empty() && expected != str_at(live, "metadata.resourceVersion") {
            return Err(StatusError::modified(&target.kind, &target.name));
        }
        let mut value = crate::convert::convert_value_from_storage(&target.kind, target.version, live);
        match how {
            PatchKind::Json => patch::apply_json_patch(&target.kind, &target.name, &mut value, body)?,
            PatchKind::Merge => patch::apply_merge_patch(&mut value, &sent),
            _ => patch::apply_strategic_patch(&mut value, &sent, target.version().ty()),
        }
        *warnings.borrow_mut() = prune_and_default(target, &mut value, write.field_validation)?;
        if object::name(&value) != target.name {
            let cause = crate::status::StatusCause::invalid(
                "metadata.name",
                &object::name(&value).into(),
                "field is immutable",
            );
            return Err(StatusError::invalid(&target.kind, &target.name, &[cause]));
        }
        crate::convert::convert_to_storage(&target.kind, target.version, &mut value);
        *live = value;
        Ok(())
    })?;
    Ok(WriteResult { object, created: false, warnings: warnings.into_inner() })
}

fn apply_object(
    sim: &SimState,
    target: &ResourcePath,
    body: &[u8],
    force: bool,
    write: &WriteOptions<'_>,
) -> ApiResult<WriteResult> {
    let mut config = decode::parse_body(body, true)?;
    let uid = str_at(&config, "metadata.uid").to_owned();
    check_config(target, &mut config)?;
    let expected = str_at(&config, "metadata.resourceVersion").to_owned();
    crate::convert::convert_to_storage(&target.kind, target.version, &mut config);
    let now = sim.clock.now_rfc3339();
    let writer = FieldManager {
        manager: write.manager,
        subresource: write.subresource,
        api_version: &target.version().api_version,
        now: &now,
    };
    let ty = target.kind.storage_version().ty();
    for _ in 0..MAX_TRIES {
        let live = sim.store.get(target.kind.id, &target.key());
        match live.as_ref().map(|live| object::uid(&live.value)) {
            _ if uid.is_empty() => {}
            None => {
                let why =
                    format!("uid mismatch: the provided object specified uid {uid}, and none was found");
                return Err(StatusError::conflict(&target.kind, &target.name, &why));
            }
            Some(there) if there != uid => {
                let value = uid.as_str().into();
                let cause = crate::status::StatusCause::invalid("metadata.uid", &value, "field is immutable");
                return Err(StatusError::invalid(&target.kind, &target.name, &[cause]));
            }
            Some(_) => {}
        }
        let done = match live {
            None if write.subresource.is_empty() => {
                let bare = serde_json::json!({"apiVersion": config["apiVersion"], "kind": config["kind"]});
                let mut new = merge_config(&bare, &config, ty, writer, force)?;
                prepare::prepare_create(sim, target, &mut new, write, true)?;
                create::commit_new(sim, target, new, write)?.map(|object| (object, true))
            }
            None => return Err(StatusError::not_found(&target.kind, &target.name)),
            Some(old) => {
                if !expected.is_empty() && expected != str_at(&old.value, "metadata.resourceVersion") {
                    return Err(StatusError::modified(&target.kind, &target.name));
                }
                let mut new = merge_config(&old.value, &config, ty, writer, force)?;
                if target.kind.is_custom {
                    decode::apply_schema_defaults(&mut new, ty);
                }
                let differs = prepare::prepare_update(sim, target, (&old.value, &mut new), write, true)?;
                update::commit_change(sim, target, &old, differs.then_some(new), write)?
                    .map(|object| (object, false))
            }
        };
        if let Some((object, created)) = done {
            return Ok(WriteResult { object, created, warnings: Vec::new() });
        }
    }
    Err(StatusError::modified(&target.kind, &target.name))
}

/// Checks an apply configuration; unlike in other writes, unknown fields are an error.
fn check_config(target: &ResourcePath, config: &mut Value) -> ApiResult<()> {
    let api_version = &target.version().api_version;
    if str_at(config, "apiVersion").is_empty() || str_at(config, "kind").is_empty() {
        return Err(StatusError::bad_request("apiVersion and kind must be set in an apply configuration"));
    }
    let full = format!(
        "({}{}; {api_version}, Kind={})",
        if target.namespace.is_empty() { String::new() } else { format!("{}/", target.namespace) },
        target.name,
        target.kind.kind
    );
    if object::value_at(config, "metadata.managedFields")
        .is_some_and(|m| m.as_array().is_none_or(|l| !l.is_empty()))
    {
        return Err(StatusError::bad_request("metadata.managedFields must be nil"));
    }
    let mut probe = config.clone();
    let findings = decode::conform_to_schema(&mut probe, target.version().ty());
    if let Some(path) = findings.unknown_fields.first() {
        let message =
            format!("failed to create typed patch object {full}: .{path}: field not declared in schema");
        return Err(StatusError::new(500, "", message));
    }
    if let Some(detail) = findings.type_mismatches.iter().find_map(decode::TypeMismatch::apply_message) {
        return Err(StatusError::new(
            500,
            "",
            format!("failed to create typed patch object {full}: {detail}"),
        ));
    }
    if let Some(duplicate) = find_duplicate_key(&probe, target.version().ty(), String::new()) {
        let message = format!("failed to create typed patch object {full}: {duplicate}");
        return Err(StatusError::new(500, "", message));
    }
    super::prepare_object(target, config, FieldValidation::Ignore)?;
    let sent = object::name(config);
    if sent.is_empty() {
        object::set_value(config, "metadata.name", target.name.clone());
    } else if sent != target.name {
        let message =
            format!("the name of the object ({sent}) does not match the name on the URL ({})", target.name);
        return Err(StatusError::bad_request(message));
    }
    for path in ["metadata.creationTimestamp", "metadata.uid", "metadata.generation"] {
        object::remove_value(config, path);
    }
    Ok(())
}

fn find_duplicate_key(value: &Value, ty: crate::schema::TypeRef<'_>, path: String) -> Option<String> {
    use crate::schema::{ValueShape, item_key};
    match ty.shape(value) {
        ValueShape::Leaf => None,
        ValueShape::Map(map) => {
            map.iter().find_map(|(k, v)| find_duplicate_key(v, ty.child(k)?, format!("{path}.{k}")))
        }
        ValueShape::Items(items, kind) => {
            let mut seen = std::collections::HashSet::new();
            for item in items {
                let Some(key) = item_key(kind, item) else {
                    return Some(format!(
                        "{path}: element 0: associative list with keys has an element that omits key field"
                    ));
                };
                if let Some(found) = find_duplicate_key(item, ty.elem(), format!("{path}[{key}]")) {
                    return Some(found);
                }
                if !seen.insert(key.clone()) {
                    let shown = key.trim_start_matches("k:").trim_start_matches("v:");
                    return Some(format!("{path}: duplicate entries for key {shown}"));
                }
            }
            None
        }
    }
}
