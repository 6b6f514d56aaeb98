//! An open entry of the drift inbox: last applied, live and desired values, who changed them, and the decisions.

use domain::Timestamp;
use domain::drift::{DriftField, DriftItem, DriftState, DriftVerb};
use domain::policy::DriftPolicy;
use leptos::prelude::*;
use serde_json::Value;

use super::DriftFilter;
use super::decisions::InboxActions;
use crate::components::error::action_error;
use crate::components::{Age, icon};
use crate::paths::{self, WorkloadTab};
use crate::workloads::publish::changes::{dotted_path, format_value};

/// For how many days an entry can be snoozed.
const SNOOZE_DAYS: [(&str, &str); 4] = [("1", "1 day"), ("3", "3 days"), ("7", "7 days"), ("30", "30 days")];

/// The details below an open row.
pub(super) fn show_entry(
    item: DriftItem,
    filter: &DriftFilter,
    at: Timestamp,
    actions: InboxActions,
) -> AnyView {
    let reasons = list_reasons(&item);
    let facts = entry_facts(&item, at);
    let fields = decide_form(&item, &reasons, at, actions);
    let revert = revert_form(&item, &reasons, filter, actions);
    let snooze = snooze_form(&item, &reasons, filter, actions);
    let why = reasons.into_iter().enumerate().map(|(number, why)| {
        view! {
            <p class="reason hue-unknown" id=reason_id(number)>
                {icon("lock")}
                <span>{why}</span>
            </p>
        }
    });
    let why = why.collect_view();
    let links = entry_links(&item);
    view! {
        <div class="panel stack-md">
            {facts}
            {fields}
            <div class="flex flex-wrap items-end gap-4">
                {revert}
                {snooze}
            </div>
            {why}
            {action_error(actions.decide.value())}
            {action_error(actions.revert.value())}
            {action_error(actions.snooze.value())}
            {links}
        </div>
    }
    .into_any()
}

fn entry_facts(item: &DriftItem, at: Timestamp) -> AnyView {
    let policy = match item.policy {
        DriftPolicy::Revert if item.contested => {
            "Self-heal (revert), given up: another manager changes it again and again"
        }
        DriftPolicy::Revert => "Self-heal (revert)",
        DriftPolicy::Notify => "Notify only",
    };
    let revision =
        |number: Option<u32>| number.map_or_else(|| "none".to_owned(), |number| format!("r{number}"));
    let (applied, desired) = (revision(item.applied_revision), revision(item.desired_revision));
    let snooze = item.snooze.clone().map(|snooze| {
        let text = format!("until {}, by {}", crate::components::age::format_utc(snooze.until), snooze.by);
        view! { <div><dt>"Snoozed"</dt><dd>{text}</dd></div> }
    });
    let revert = item.revert.clone().map(|revert| {
        let paths: Vec<String> = revert.paths.iter().map(|path| dotted_path(path)).collect();
        let text = match revert.error {
            Some(why) => format!("{}: not executed. {why}", paths.join(", ")),
            None => format!("{}, by {}: the cluster has not answered yet", paths.join(", "), revert.by),
        };
        view! { <div><dt>"Revert of fields"</dt><dd>{text}</dd></div> }
    });
    let since = item.since;
    view! {
        <dl class="facts">
            <div>
                <dt>"Object"</dt>
                <dd class="name">{item.object.to_string()}</dd>
            </div>
            <div>
                <dt>"Known"</dt>
                <dd>
                    "for "
                    <Age since=since at=at />
                </dd>
            </div>
            <div>
                <dt>"Policy"</dt>
                <dd>{policy}</dd>
            </div>
            <div>
                <dt>"Applied"</dt>
                <dd class="mono">{applied}</dd>
            </div>
            <div>
                <dt>"Desired"</dt>
                <dd class="mono">{desired}</dd>
            </div>
            {snooze}
            {revert}
        </dl>
    }
    .into_any()
}

/// The fields, each with a box that selects it, and the decisions that change the draft.
fn decide_form(item: &DriftItem, reasons: &[String], at: Timestamp, actions: InboxActions) -> AnyView {
    if item.fields.is_empty() {
        let text = if item.is_missing() {
            "The object is missing on the cluster. Revert creates it again."
        } else {
            "These objects are not listed, because too many objects of the workload drift on this cluster."
        };
        return view! { <p class="text-2">{text}</p> }.into_any();
    }
    let more = (item.more_fields() > 0).then(|| {
        let text = format!("and {} more fields, which the cluster did not report", item.more_fields());
        view! { <p class="meta">{text}</p> }
    });
    // Several are selected one by one: a selection that an update of the page ends must not become all fields.
    let is_only = item.fields.len() == 1;
    let rows = item.fields.iter().cloned().map(|field| field_row(field, is_only, at)).collect_view();
    let adopt_override = format!("Adopt on {} only", item.cluster);
    let buttons = [
        (DriftVerb::AdoptBase, "Adopt into the manifests".to_owned()),
        (DriftVerb::AdoptOverride, adopt_override),
        (DriftVerb::Ignore, "Ignore the fields".to_owned()),
    ];
    let buttons = buttons.map(|(verb, label)| decision_button(item, reasons, verb, label)).collect_view();
    let revert = decision_button(item, reasons, DriftVerb::Revert, "Revert the fields".to_owned());
    let (id, version, digest) =
        (item.id.to_string(), item.workload_version.to_string(), item.digest.to_string());
    view! {
        <ActionForm action=actions.decide>
            <div class="stack-sm">
                <input type="hidden" name="id" value=id />
                <input type="hidden" name="version" value=version />
                <input type="hidden" name="digest" value=digest />
                <table class="table">
                    <thead>
                        <tr>
                            <th scope="col">"Field"</th>
                            <th scope="col">"Applied"</th>
                            <th scope="col">"Live"</th>
                            <th scope="col">"Desired"</th>
                            <th scope="col">"Changed by"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
                {more}
                <div class="flex flex-wrap gap-2">{buttons}</div>
                <p class="meta">"These change the draft, which opens for review. Nothing is published."</p>
                <div class="flex flex-wrap gap-2">{revert}</div>
                <p class="meta">"Only the selected fields are written back on the cluster."</p>
            </div>
        </ActionForm>
    }
    .into_any()
}

fn field_row(field: DriftField, is_only: bool, at: Timestamp) -> AnyView {
    let value = |value: &Option<Value>, is_known: bool| match value {
        Some(value) => format_value(value),
        None if is_known => "not set".to_owned(),
        None => "not reported".to_owned(),
    };
    let applied = value(&field.applied, field.values_known);
    let live = value(&field.live, field.values_known);
    let desired = value(&field.desired, field.desired_known);
    let manager = if field.manager.is_empty() { "unknown".to_owned() } else { field.manager.clone() };
    let operation = (!field.operation.is_empty()).then(|| format!(" ({})", field.operation));
    let age = field
        .changed_at
        .map(|since| view! { <div class="meta"><Age since=since at=at suffix=" ago" /></div> });
    let path = dotted_path(&field.path);
    view! {
        <tr>
            <th scope="row" class="cell-name">
                <label class="choice">
                    <input type="checkbox" class="checkbox" name="fields[]" value=field.path checked=is_only />
                    <span class="mono">{path}</span>
                </label>
            </th>
            <td class="mono" data-label="Applied">{applied}</td>
            <td class="mono strong" data-label="Live">{live}</td>
            <td class="mono" data-label="Desired">{desired}</td>
            <td data-label="Changed by">
                <span class="mono">{manager}</span>
                {operation}
                {age}
            </td>
        </tr>
    }
    .into_any()
}

/// A button that sends a decision, or is disabled with its reason.
fn decision_button(item: &DriftItem, reasons: &[String], verb: DriftVerb, label: String) -> AnyView {
    let name: &'static str = verb.into();
    match describing_reason(item, reasons, verb) {
        None => {
            view! { <button class="btn btn-sm" type="submit" name="decision" value=name>{label}</button> }
                .into_any()
        }
        Some(why) => disabled_button(label, why),
    }
}

fn disabled_button(label: String, why: String) -> AnyView {
    view! { <button class="btn btn-sm" type="button" aria-disabled="true" aria-describedby=why>{label}</button> }
        .into_any()
}

fn revert_form(item: &DriftItem, reasons: &[String], filter: &DriftFilter, actions: InboxActions) -> AnyView {
    let label = format!("Revert on {}", item.cluster);
    if let Some(why) = describing_reason(item, reasons, DriftVerb::Revert) {
        return disabled_button(label, why);
    }
    let filter = filter_fields(filter);
    let title = format!("Applies everything of {} on {} again", item.workload, item.cluster);
    let id = item.id.to_string();
    view! {
        <ActionForm action=actions.revert>
            <input type="hidden" name="id" value=id />
            {filter}
            <button class="btn btn-sm" type="submit" title=title>
                {icon("undo")}
                {label}
            </button>
        </ActionForm>
    }
    .into_any()
}

fn snooze_form(item: &DriftItem, reasons: &[String], filter: &DriftFilter, actions: InboxActions) -> AnyView {
    let is_snoozed = item.state == DriftState::Snoozed;
    let label = if is_snoozed { "Show again" } else { "Snooze" };
    if let Some(why) = describing_reason(item, reasons, DriftVerb::Snooze) {
        return disabled_button(label.to_owned(), why);
    }
    let filter = filter_fields(filter);
    let options = SNOOZE_DAYS.map(|(days, word)| view! { <option value=days>{word}</option> }).collect_view();
    let days = if is_snoozed {
        view! { <input type="hidden" name="days" value="0" /> }.into_any()
    } else {
        view! { <select class="select w-auto" name="days" aria-label="Snooze for">{options}</select> }
            .into_any()
    };
    let (id, digest) = (item.id.to_string(), item.digest.to_string());
    view! {
        <ActionForm action=actions.snooze>
            <input type="hidden" name="id" value=id />
            <input type="hidden" name="digest" value=digest />
            {filter}
            <div class="flex flex-wrap items-center gap-2">
                {days}
                <button class="btn btn-sm" type="submit">
                    {label}
                </button>
            </div>
        </ActionForm>
    }
    .into_any()
}

/// The filters of the list, to which a decision leads back.
fn filter_fields(filter: &DriftFilter) -> AnyView {
    let field = |(name, value): (&'static str, &str)| {
        view! { <input type="hidden" name=format!("filter[{name}]") value=value.to_owned() /> }
    };
    filter.parts().map(field).collect_view().into_any()
}

fn entry_links(item: &DriftItem) -> AnyView {
    let links = [
        ("Open the release", paths::release(&item.workload, &item.cluster)),
        ("Ignore rules", paths::workload_tab(&item.workload, WorkloadTab::Policies)),
        ("Events", paths::query(paths::EVENTS, &[("workload", &item.workload), ("cluster", &item.cluster)])),
    ];
    let links = links.map(|(label, href)| view! { <a class="link" href=href>{label}</a> }).collect_view();
    view! { <p class="flex flex-wrap gap-4">{links}</p> }.into_any()
}

/// Why decisions are not possible, each reason once.
fn list_reasons(item: &DriftItem) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for why in DriftVerb::ALL.iter().filter_map(|verb| item.why_not(*verb)) {
        if !reasons.iter().any(|known| known == why) {
            reasons.push(why.to_owned());
        }
    }
    reasons
}

fn reason_id(number: usize) -> String {
    format!("drift-reason-{number}")
}

/// The id of the reason why something is not possible; `None` if it is.
fn describing_reason(item: &DriftItem, reasons: &[String], verb: DriftVerb) -> Option<String> {
    let why = item.why_not(verb)?;
    reasons.iter().position(|known| known == why).map(reason_id)
}
