//! The input fields of a rollout: waves, window and failure timeout.

use std::collections::BTreeSet;

use domain::rollout::{MAX_WAVES, OnFailure, Weekday};
use leptos::prelude::*;

use super::form::{RolloutForm, WaveForm};
use crate::components::icon;
use crate::workloads::text_field::{FieldFindings, TextFieldProps, finding_or_help, text_field};

/// The waves, and the button that adds one. `is_hydrated`: whether the page is hydrated.
pub fn wave_list(form: RwSignal<RolloutForm>, wrong: FieldFindings, is_hydrated: RwSignal<bool>) -> AnyView {
    let count = Memo::new(move |_| form.with(|form| form.waves.len()));
    view! {
        <For each=move || 0..count.get() key=|at| *at children=move |at| wave_fields(WaveRow { form, wrong, count, is_hydrated, at }) />
        <p class="field-help">{finding_or_help(wrong, "/rollout/waves".to_owned(), "")}</p>
        <div>
            <button
                class="btn btn-sm btn-quiet btn-add"
                type="button"
                disabled=move || { count.get() >= MAX_WAVES }
                on:click=move |_| form.update(|form| form.waves.push(WaveForm::default()))
            >
                {icon("plus")}
                {move || if count.get() == 0 { "Add a wave" } else { "Another wave" }}
            </button>
        </div>
    }
    .into_any()
}

/// Properties of a text field of a wave.
#[derive(Clone, Copy)]
struct WaveFieldProps {
    key: &'static str,
    label: &'static str,
    placeholder: &'static str,
    help: &'static str,
    value_mut: fn(&mut WaveForm) -> &mut String,
}

const TARGET_FIELDS: [WaveFieldProps; 5] = [
    WaveFieldProps {
        key: "name",
        label: "Name",
        placeholder: "canary",
        help: "Lower-case letters, digits, dashes.",
        value_mut: |row| &mut row.name,
    },
    WaveFieldProps {
        key: "clusters",
        label: "Clusters",
        placeholder: "all remaining",
        help: "Names; or in a group, or with labels.",
        value_mut: |row| &mut row.clusters,
    },
    WaveFieldProps {
        key: "groups",
        label: "Groups",
        placeholder: "eu",
        help: "",
        value_mut: |row| &mut row.groups,
    },
    WaveFieldProps {
        key: "selector",
        label: "Labels",
        placeholder: "ring=canary",
        help: "Syntax of kubectl -l.",
        value_mut: |row| &mut row.selector,
    },
    WaveFieldProps {
        key: "facts",
        label: "Facts",
        placeholder: "provider=aws",
        help: "Confirmed facts; together with the labels.",
        value_mut: |row| &mut row.facts,
    },
];

const LIMIT_FIELDS: [WaveFieldProps; 5] = [
    WaveFieldProps {
        key: "max_clusters",
        label: "Max clusters",
        placeholder: "all",
        help: "1, or 25% of all selected.",
        value_mut: |row| &mut row.max_clusters,
    },
    WaveFieldProps {
        key: "concurrency",
        label: "Max concurrent",
        placeholder: "all",
        help: "2, or 25% of the wave.",
        value_mut: |row| &mut row.concurrency,
    },
    WaveFieldProps {
        key: "failures",
        label: "Max failures",
        placeholder: "0",
        help: "With more, On failure applies.",
        value_mut: |row| &mut row.failures,
    },
    WaveFieldProps {
        key: "deferred",
        label: "Max deferred",
        placeholder: "20%",
        help: "Offline before the update; canary: 0.",
        value_mut: |row| &mut row.deferred,
    },
    WaveFieldProps {
        key: "soak",
        label: "Soak time",
        placeholder: "none",
        help: "90s, 10m, 1h30m, 2d.",
        value_mut: |row| &mut row.soak,
    },
];

/// The checkboxes of a wave.
const APPROVAL_BOXES: [ApprovalBox; 2] = [
    ApprovalBox {
        key: "approval",
        label: "Requires approval before it starts",
        value_mut: |row| &mut row.approval,
    },
    ApprovalBox {
        key: "approval_after",
        label: "Its result requires an approval before the next wave starts",
        value_mut: |row| &mut row.approval_after,
    },
];

/// Properties of a checkbox of a wave.
#[derive(Clone, Copy)]
struct ApprovalBox {
    key: &'static str,
    label: &'static str,
    value_mut: fn(&mut WaveForm) -> &mut String,
}

/// One wave of the form.
#[derive(Clone, Copy)]
struct WaveRow {
    form: RwSignal<RolloutForm>,
    wrong: FieldFindings,
    /// Number of waves.
    count: Memo<usize>,
    /// Whether the page is hydrated.
    is_hydrated: RwSignal<bool>,
    at: usize,
}

fn wave_fields(row: WaveRow) -> AnyView {
    let WaveRow { form, wrong, count, is_hydrated, at } = row;
    let field = move |part: &WaveFieldProps| {
        let WaveFieldProps { key, label, placeholder, help, value_mut: of } = *part;
        let read = move || {
            let mut row = form.with(|form| form.waves.get(at).cloned().unwrap_or_default());
            std::mem::take(of(&mut row))
        };
        let write = move |text: String| {
            form.update(|form| {
                if let Some(row) = form.waves.get_mut(at) {
                    *of(row) = text;
                }
            });
        };
        let of = TextFieldProps {
            form: "rollout",
            path: format!("waves/{at}/{key}"),
            label,
            placeholder,
            help,
            ..TextFieldProps::default()
        };
        text_field(wrong, of, read, write)
    };
    let title = move || {
        let name =
            form.with(|form| form.waves.get(at).map(|row| row.name.trim().to_owned())).unwrap_or_default();
        if name.is_empty() { format!("Wave {}", at + 1) } else { format!("Wave {}: {name}", at + 1) }
    };
    let (id, name) = (format!("wave-{at}"), format!("wave-{at}"));
    // The spare row is only for browsers without JavaScript.
    let spare = move || {
        let blank = form.with(|form| form.waves.get(at).is_some_and(WaveForm::is_blank));
        !is_hydrated.get() && blank && at + 1 == count.get()
    };
    view! {
        <div role="group" class="wave" class:wave-spare=spare aria-labelledby=name>
            <div class="flex items-center gap-1">
                <h2 class="field-label" id=id>
                    {title}
                </h2>
                {wave_buttons(form, count, at)}
            </div>
            <div class="grid gap-x-3 gap-y-2 sm:grid-cols-2 xl:grid-cols-4">{TARGET_FIELDS.iter().map(field).collect_view()}</div>
            <div class="grid grid-cols-2 gap-x-3 gap-y-2 xl:grid-cols-4">{LIMIT_FIELDS.iter().map(field).collect_view()}</div>
            {APPROVAL_BOXES.iter().map(|part| approval_box(form, at, part)).collect_view()}
        </div>
    }
    .into_any()
}

/// Whether something of the wave has to be approved.
fn approval_box(form: RwSignal<RolloutForm>, at: usize, part: &ApprovalBox) -> AnyView {
    let ApprovalBox { key, label, value_mut: of } = *part;
    let is_on = move || {
        let mut row = form.with(|form| form.waves.get(at).cloned().unwrap_or_default());
        of(&mut row).as_str() == "yes"
    };
    view! {
        <label class="choice">
            <input
                class="checkbox"
                type="checkbox"
                name=format!("rollout[waves][{at}][{key}]")
                value="yes"
                checked=untrack(is_on)
                prop:checked=is_on
                on:change=move |ev| {
                    let value = if event_target_checked(&ev) { "yes" } else { "" };
                    form.update(|form| {
                        if let Some(row) = form.waves.get_mut(at) {
                            *of(row) = value.to_owned();
                        }
                    });
                }
            />
            {label}
        </label>
    }
    .into_any()
}

/// Buttons that move and remove a wave. Without JavaScript a wave is removed by clearing its fields.
fn wave_buttons(form: RwSignal<RolloutForm>, count: Memo<usize>, at: usize) -> AnyView {
    let swap = move |other: usize| {
        form.update(|form| {
            if at.max(other) < form.waves.len() {
                form.waves.swap(at, other);
            }
        });
    };
    let remove = move || {
        form.update(|form| {
            if at < form.waves.len() {
                form.waves.remove(at);
            }
        });
    };
    let tool =
        |mark: &'static str, word: &'static str, off: Signal<bool>, act: Box<dyn Fn() + Send + Sync>| {
            view! {
                <button
                    class="btn btn-sm btn-icon"
                    type="button"
                    aria-label=format!("{word} wave {}", at + 1)
                    title=word
                    disabled=move || off.get()
                    on:click=move |_| act()
                >
                    {icon(mark)}
                </button>
            }
        };
    let last = Signal::derive(move || at + 1 >= count.get());
    view! {
        <span class="ml-auto flex gap-1">
            {tool("arrow-up", "Move up", Signal::stored(at == 0), Box::new(move || swap(at.saturating_sub(1))))}
            {tool("arrow-down", "Move down", last, Box::new(move || swap(at + 1)))}
            {tool("close", "Remove", Signal::stored(false), Box::new(remove))}
        </span>
    }
    .into_any()
}

/// Whether another user has to approve.
fn approver_field(form: RwSignal<RolloutForm>) -> AnyView {
    let is_another = move || form.with(|form| form.approver == "yes");
    view! {
        <label class="choice">
            <input
                class="checkbox"
                type="checkbox"
                name="rollout[approver]"
                value="yes"
                checked=untrack(is_another)
                prop:checked=is_another
                on:change=move |ev| {
                    let value = if event_target_checked(&ev) { "yes" } else { "" };
                    form.update(|form| form.approver = value.to_owned());
                }
            />
            "Waves are approved only by another user than the one who publishes"
        </label>
    }
    .into_any()
}

/// What happens when clusters fail.
pub fn on_failure_field(form: RwSignal<RolloutForm>, wrong: FieldFindings) -> AnyView {
    // The default is the empty value, so that an unchanged form is blank.
    let value = |one: OnFailure| if one.is_pause() { "" } else { one.as_str() };
    let selected = untrack(move || form.with(|form| form.on_failure.clone()));
    let option = |one: OnFailure| {
        let label = match one {
            OnFailure::Pause => "Pause",
            OnFailure::RollbackCluster => "Roll back each cluster",
            OnFailure::RollbackWave => "Roll back the wave",
            OnFailure::RollbackAll => "Roll back every wave",
            OnFailure::Continue => "Continue",
        };
        let is_selected = value(one) == selected;
        view! {
            <option value=value(one) selected=is_selected>
                {label}
            </option>
        }
    };
    let options = OnFailure::ALL.iter().copied().map(option).collect_view();
    let help = "Roll back each cluster: after the failure timeout it returns to the revision before, and a first installation is \
                removed there. The others happen with more failures than a wave allows; then a cluster that had no \
                revision before keeps the new one.";
    view! {
        <div class="field">
            <label class="field-label" for="on-failure">
                "On failure"
            </label>
            <select
                class="select"
                id="on-failure"
                name="rollout[on_failure]"
                on:change=move |ev| form.update(|form| form.on_failure = event_target_value(&ev))
            >
                {options}
            </select>
            <p class="field-help">{finding_or_help(wrong, "/rollout/on_failure".to_owned(), help)}</p>
        </div>
    }
    .into_any()
}

/// The window, the approver and the failure timeout.
pub fn schedule_fields(form: RwSignal<RolloutForm>, wrong: FieldFindings) -> AnyView {
    let text = move |key: &'static str, label, placeholder, help, of: fn(&mut RolloutForm) -> &mut String| {
        let read = move || form.with(|form| of(&mut form.clone()).clone());
        let write = move |text: String| form.update(|form| *of(form) = text);
        let of = TextFieldProps {
            form: "rollout",
            path: key.to_owned(),
            label,
            placeholder,
            help,
            ..TextFieldProps::default()
        };
        text_field(wrong, of, read, write)
    };
    let open = untrack(move || {
        form.with(|form| {
            [&form.from, &form.fail_after, &form.approver].iter().any(|text| !text.is_empty())
                || !form.days.is_empty()
        })
    });
    let day = move |day: Weekday| {
        let on = move || form.with(|form| form.days.iter().any(|one| one == day.as_str()));
        view! {
            <label class="choice">
                <input
                    class="checkbox"
                    type="checkbox"
                    name="rollout[days][]"
                    value=day.as_str()
                    checked=untrack(on)
                    prop:checked=on
                    on:change=move |ev| {
                        let ticked = event_target_checked(&ev);
                        form.update(|form| {
                            let mut days: BTreeSet<String> = form.days.drain(..).collect();
                            if ticked {
                                days.insert(day.as_str().to_owned());
                            } else {
                                days.remove(day.as_str());
                            }
                            form.days = days.into_iter().collect();
                        });
                    }
                />
                {capitalize(day.as_str())}
            </label>
        }
    };
    view! {
        <details class="fold" open=open>
            <summary>"Schedule, approver and failure timeout"</summary>
            <div class="fields pt-3">
                <fieldset class="field">
                    <legend class="field-label mb-1">"Start clusters only on these days"</legend>
                    <div class="flex flex-wrap gap-x-4 gap-y-1">{Weekday::ALL.iter().copied().map(day).collect_view()}</div>
                    <p class="field-help">"None ticked means every day."</p>
                </fieldset>
                <div class="grid grid-cols-2 gap-x-3 gap-y-2 xl:grid-cols-4">
                    {text("from", "From", "22:00", "Empty for any time.", |form| &mut form.from)}
                    {text("to", "To", "04:00", "May be on the next day.", |form| &mut form.to)}
                    {text("offset", "Ahead of UTC", "+00:00", "Such as +01:00.", |form| &mut form.offset)}
                    {text("fail_after", "Failure timeout", "1m", "How long a cluster may fail.", |form| &mut form.fail_after)}
                </div>
                {approver_field(form)}
            </div>
        </details>
    }
    .into_any()
}

fn capitalize(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}
