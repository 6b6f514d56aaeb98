//! The drifted fields of a release: applied, live and desired value, who changed each, and the action that ignores one.

use domain::authorization::UserAction;
use domain::object::ObjectRef;
use domain::overrides::ObjectSelector;
use domain::release::{DesiredValues, ReleaseView};
use domain::report::{DriftedField, ResourceStatus};
use leptos::prelude::*;
use serde_json::Value;

use super::causes::qualified_name;
use crate::components::error::action_error;
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;
use crate::workloads::publish::changes::{dotted_path, format_value};

/// Adds a rule to the policies of the draft that ignores changes of this field, and redirects to the review of the draft.
#[server(prefix = "/api/fn", endpoint = "drift_ignore")]
pub async fn drift_ignore(name: String, object: ObjectSelector, path: String) -> AppResult<()> {
    use crate::host;
    let hub = host::hub()?;
    host::into_app_result(hub.ignore_drift(&host::actor()?, &name, object, &path).await)?;
    leptos_axum::redirect(&crate::paths::publish(&name));
    Ok(())
}

/// Requests the cluster to write this field back, and nothing else of the object, and redirects to the inbox, which shows the outcome.
#[server(prefix = "/api/fn", endpoint = "drift_revert_field")]
pub async fn drift_revert_field(
    name: String,
    cluster: String,
    object: ObjectSelector,
    path: String,
) -> AppResult<()> {
    use crate::host;
    let hub = host::hub()?;
    let reverted = hub.revert_drift_field_of(&host::actor()?, (&name, &cluster), &object, &path).await;
    host::into_app_result(reverted)?;
    leptos_axum::redirect(&crate::paths::drift_of(&name, &cluster));
    Ok(())
}

/// What can be done about a drifted field.
#[derive(Clone, Copy)]
struct FieldActions {
    ignore: ServerAction<DriftIgnore>,
    revert: ServerAction<DriftRevertField>,
}

/// The section with the drifted fields; nothing without drift.
#[component]
pub(super) fn DriftedFields(view: ReleaseView, desired: DesiredValues) -> impl IntoView {
    let actions = FieldActions { ignore: ServerAction::new(), revert: ServerAction::new() };
    let drifted: Vec<ResourceStatus> =
        view.resources.iter().filter(|resource| !resource.drifted.is_empty()).cloned().collect();
    if drifted.is_empty() {
        return ().into_any();
    }
    let applied = view.release.applied_revision().map_or_else(String::new, |number| format!(" r{number}"));
    let wanted = view.release.revision().map_or_else(String::new, |number| format!(" r{number}"));
    let inbox = paths::drift_of(&view.workload_name, &view.cluster_name);
    let rows = drifted.into_iter().flat_map(|resource| {
        let (workload, cluster) = (view.workload_name.clone(), view.cluster_name.clone());
        let (object, desired) = (resource.object.clone(), desired.clone());
        resource.list_drifted_fields().into_iter().map(move |field| {
            let wanted = describe_desired(&object, &field, &desired);
            field_row((&workload, &cluster), &object, field, wanted, actions)
        })
    });
    view! {
        <section class="stack-sm pt-6">
            <div class="flex flex-wrap items-baseline justify-between gap-2">
                <h2 class="section">"Drift"</h2>
                <a class="link meta" href=inbox>
                    "Adopt or snooze in the inbox"
                </a>
            </div>
            <table class="table">
                <thead>
                    <tr>
                        <th scope="col">"Field"</th>
                        <th scope="col">{format!("Applied{applied}")}</th>
                        <th scope="col">"Live"</th>
                        <th scope="col">{format!("Desired{wanted}")}</th>
                        <th scope="col">"Changed by"</th>
                        <th scope="col">
                            <span class="sr-only">"Actions"</span>
                        </th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
            {action_error(actions.ignore.value())}
            {action_error(actions.revert.value())}
        </section>
    }
    .into_any()
}

fn field_row(
    (workload, cluster): (&str, &str),
    object: &ObjectRef,
    field: DriftedField,
    wanted: String,
    actions: FieldActions,
) -> AnyView {
    let has_values = field.has_values();
    let value = |value: &Option<Value>| match value {
        Some(value) => format_value(value),
        None if has_values => "not set".to_owned(),
        None => "not reported".to_owned(),
    };
    let label = format!("{} {} {}", object.kind, qualified_name(object), dotted_path(&field.path));
    let manager = if field.manager.is_empty() { "unknown".to_owned() } else { field.manager.clone() };
    let (kind, name) = (object.kind.clone(), qualified_name(object));
    let (to_revert, to_ignore) =
        (field_inputs(workload, object, &field), field_inputs(workload, object, &field));
    let (cluster, revert_label) = (cluster.to_owned(), label.clone());
    view! {
        <tr>
            <th scope="row" class="cell-name">
                <span class="text-2">{kind}</span>
                " "
                <span class="name">{name}</span>
                <div class="mono">{dotted_path(&field.path)}</div>
            </th>
            <td class="mono" data-label="Applied">{value(&field.applied)}</td>
            <td class="mono strong" data-label="Live">{value(&field.live)}</td>
            <td class="mono" data-label="Desired">{wanted}</td>
            <td class="mono" data-label="Changed by">{manager}</td>
            <td class="right">
                <div class="flex flex-wrap justify-end gap-2">
                    <ActionForm action=actions.revert>
                        <Permission action=UserAction::Sync>
                            {to_revert}
                            <input type="hidden" name="cluster" value=cluster />
                            <button class="btn btn-sm" type="submit" title="Writes this field back on the cluster, and nothing else">
                                "Revert this field"
                                <span class="sr-only">": " {revert_label}</span>
                            </button>
                        </Permission>
                    </ActionForm>
                    <ActionForm action=actions.ignore>
                        <Permission action=UserAction::Edit>
                            {to_ignore}
                            <button class="btn btn-sm" type="submit" title="Adds a rule to the policies of the draft and opens its review">
                                "Ignore this field"
                                <span class="sr-only">": " {label}</span>
                            </button>
                        </Permission>
                    </ActionForm>
                </div>
            </td>
        </tr>
    }
    .into_any()
}

/// The hidden inputs that name a field.
fn field_inputs(workload: &str, object: &ObjectRef, field: &DriftedField) -> AnyView {
    let ObjectRef { kind, name, namespace, .. } = object.clone();
    let (workload, path) = (workload.to_owned(), field.path.clone());
    view! {
        <input type="hidden" name="name" value=workload />
        <input type="hidden" name="object[kind]" value=kind />
        <input type="hidden" name="object[name]" value=name />
        <input type="hidden" name="object[namespace]" value=namespace />
        <input type="hidden" name="path" value=path />
    }
    .into_any()
}

fn describe_desired(object: &ObjectRef, field: &DriftedField, desired: &DesiredValues) -> String {
    match desired {
        DesiredValues::AsApplied => match &field.applied {
            Some(value) => format_value(value),
            None if field.has_values() => "not set".to_owned(),
            None => "as applied".to_owned(),
        },
        DesiredValues::Unreadable => "can't be read now".to_owned(),
        DesiredValues::Other(fields) => {
            let found = fields.iter().find(|one| one.object.is_same_object(object) && one.path == field.path);
            found.and_then(|one| one.value.as_ref()).map_or_else(|| "not set".to_owned(), format_value)
        }
    }
}
