//! PATCH: server-side apply and the three older kinds.

use serde_json::Value;

use super::{Done, FieldValidation, TRIES, Target, Write, create, settle, shape, update};
use crate::apply::{Writer, apply as lay};
use crate::cluster::Sim;
use crate::decode;
use crate::object::{self, text};
use crate::patch;
use crate::status::{Answer, Refusal};

/// The kinds of patch.
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
/// Missing, a conflict, a patch that does not fit, invalid.
pub(crate) fn patch(
    sim: &Sim,
    target: &Target,
    body: &[u8],
    how: PatchKind,
    write: &Write<'_>,
) -> Answer<Done> {
    if let PatchKind::Apply { force } = how {
        return apply(sim, target, body, force, write);
    }
    if how == PatchKind::Strategic && target.kind.custom {
        return Err(Refusal::unsupported_media_type(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        ));
    }
    let sent = if how == PatchKind::Json { Value::Null } else { decode::parse(body, false)? };
    let warnings = std::cell::RefCell::new(Vec::new());
    let expected = text(&sent, "metadata.resourceVersion").to_owned();
    let object = update::edit(sim, target, write, |live| {
        if !expected.is_empty() && expected != text(live, "metadata.resourceVersion") {
            return Err(Refusal::modified(&target.kind, &target.name));
        }
        let mut value = crate::convert::outward_value(&target.kind, target.version, live);
        match how {
            PatchKind::Json => patch::json(&target.kind, &target.name, &mut value, body)?,
            PatchKind::Merge => patch::merge(&mut value, &sent),
            _ => patch::strategic(&mut value, &sent, target.version().ty()),
        }
        *warnings.borrow_mut() = shape(target, &mut value, write.validation)?;
        if object::name(&value) != target.name {
            let cause = crate::status::Cause::invalid(
                "metadata.name",
                &object::name(&value).into(),
                "field is immutable",
            );
            return Err(Refusal::invalid(&target.kind, &target.name, &[cause]));
        }
        crate::convert::inward(&target.kind, target.version, &mut value);
        *live = value;
        Ok(())
    })?;
    Ok(Done { object, created: false, warnings: warnings.into_inner() })
}

fn apply(sim: &Sim, target: &Target, body: &[u8], force: bool, write: &Write<'_>) -> Answer<Done> {
    let mut config = decode::parse(body, true)?;
    let uid = text(&config, "metadata.uid").to_owned();
    check(target, &mut config)?;
    let expected = text(&config, "metadata.resourceVersion").to_owned();
    crate::convert::inward(&target.kind, target.version, &mut config);
    let now = sim.clock.stamp();
    let writer = Writer {
        manager: write.manager,
        subresource: write.subresource,
        api_version: &target.version().api_version,
        now: &now,
    };
    let ty = target.kind.storage().ty();
    for _ in 0..TRIES {
        let live = sim.store.get(target.kind.id, &target.key());
        match live.as_ref().map(|live| object::uid(&live.value)) {
            _ if uid.is_empty() => {}
            None => {
                let why =
                    format!("uid mismatch: the provided object specified uid {uid}, and none was found");
                return Err(Refusal::conflict(&target.kind, &target.name, &why));
            }
            Some(there) if there != uid => {
                let value = uid.as_str().into();
                let cause = crate::status::Cause::invalid("metadata.uid", &value, "field is immutable");
                return Err(Refusal::invalid(&target.kind, &target.name, &[cause]));
            }
            Some(_) => {}
        }
        let done = match live {
            None if write.subresource.is_empty() => {
                let bare = serde_json::json!({"apiVersion": config["apiVersion"], "kind": config["kind"]});
                let mut new = lay(&bare, &config, ty, writer, force)?;
                settle::fresh(sim, target, &mut new, write, true)?;
                create::insert(sim, target, new, write)?.map(|object| (object, true))
            }
            None => return Err(Refusal::not_found(&target.kind, &target.name)),
            Some(old) => {
                if !expected.is_empty() && expected != text(&old.value, "metadata.resourceVersion") {
                    return Err(Refusal::modified(&target.kind, &target.name));
                }
                let mut new = lay(&old.value, &config, ty, writer, force)?;
                if target.kind.custom {
                    decode::schema_defaults(&mut new, ty);
                }
                let differs = settle::changed(sim, target, (&old.value, &mut new), write, true)?;
                update::commit(sim, target, &old, differs.then_some(new), write)?
                    .map(|object| (object, false))
            }
        };
        if let Some((object, created)) = done {
            return Ok(Done { object, created, warnings: Vec::new() });
        }
    }
    Err(Refusal::modified(&target.kind, &target.name))
}

/// Checks an apply configuration; unlike other writes it may not hold a field its kind does not have.
fn check(target: &Target, config: &mut Value) -> Answer<()> {
    let wanted = &target.version().api_version;
    if text(config, "apiVersion").is_empty() || text(config, "kind").is_empty() {
        return Err(Refusal::bad_request("apiVersion and kind must be set in an apply configuration"));
    }
    let full = format!(
        "({}{}; {wanted}, Kind={})",
        if target.namespace.is_empty() { String::new() } else { format!("{}/", target.namespace) },
        target.name,
        target.kind.kind
    );
    if object::at(config, "metadata.managedFields")
        .is_some_and(|m| m.as_array().is_none_or(|l| !l.is_empty()))
    {
        return Err(Refusal::bad_request("metadata.managedFields must be nil"));
    }
    let mut probe = config.clone();
    let findings = decode::conform(&mut probe, target.version().ty());
    if let Some(path) = findings.unknown.first() {
        let message =
            format!("failed to create typed patch object {full}: .{path}: field not declared in schema");
        return Err(Refusal::new(500, "", message));
    }
    if let Some(detail) = findings.mistyped.iter().find_map(decode::Mistyped::in_apply) {
        return Err(Refusal::new(500, "", format!("failed to create typed patch object {full}: {detail}")));
    }
    if let Some(duplicate) = duplicate(&probe, target.version().ty(), String::new()) {
        let message = format!("failed to create typed patch object {full}: {duplicate}");
        return Err(Refusal::new(500, "", message));
    }
    super::intake(target, config, FieldValidation::Ignore)?;
    let sent = object::name(config);
    if sent.is_empty() {
        object::put(config, "metadata.name", target.name.clone());
    } else if sent != target.name {
        let message =
            format!("the name of the object ({sent}) does not match the name on the URL ({})", target.name);
        return Err(Refusal::bad_request(message));
    }
    for path in ["metadata.creationTimestamp", "metadata.uid", "metadata.generation"] {
        object::remove(config, path);
    }
    Ok(())
}

fn duplicate(value: &Value, ty: crate::schema::Ty<'_>, path: String) -> Option<String> {
    use crate::schema::{Shape, item_key};
    match ty.shape(value) {
        Shape::Leaf => None,
        Shape::Map(map) => map.iter().find_map(|(k, v)| duplicate(v, ty.child(k)?, format!("{path}.{k}"))),
        Shape::Items(items, kind) => {
            let mut seen = std::collections::HashSet::new();
            for item in items {
                let Some(key) = item_key(kind, item) else {
                    return Some(format!(
                        "{path}: element 0: associative list with keys has an element that omits key field"
                    ));
                };
                if let Some(found) = duplicate(item, ty.elem(), format!("{path}[{key}]")) {
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
