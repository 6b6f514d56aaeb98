//! What an override applies to: its parts as chips, and a field that adds clusters, groups, labels and facts of the fleet.
//!
//! Without script the same parts are text fields. With script these are not shown, and are sent with what was picked.

use leptos::ev::{KeyboardEvent, MouseEvent};
use leptos::html::Input;
use leptos::prelude::*;

use super::form::OverrideForm;
use super::target_parts::{
    KnownTargets, SuggestedPart, TargetPart, add_part, describe_problem, is_complete, list_parts,
    parse_typed, remove_part, resolve_entered, suggest_parts,
};
use crate::components::{icon, pluralize};
use crate::live;
use crate::workloads::placement::candidates::Fleet;
use crate::workloads::placement::fleet_values::FleetValues;

/// Most suggestions of a text field without script.
const MAX_OPTIONS: usize = 200;

/// What the picker changes, and what it offers.
#[derive(Clone, Copy)]
pub(super) struct TargetPicker {
    /// Its label.
    pub label: &'static str,
    /// The form.
    pub form: RwSignal<OverrideForm>,
    /// The text of the field that adds.
    pub search: RwSignal<String>,
    /// The cluster that the override targets in any case; empty for none.
    pub cluster: Signal<String>,
    /// Clusters and groups.
    pub fleet: StoredValue<Fleet>,
    /// Their labels and facts.
    pub values: StoredValue<FleetValues>,
    /// Called after a part was added or removed.
    pub on_change: Callback<()>,
}

impl TargetPicker {
    fn with_known<T>(self, read: impl FnOnce(KnownTargets<'_>) -> T) -> T {
        self.fleet.with_value(|fleet| self.values.with_value(|values| read(KnownTargets { fleet, values })))
    }

    fn add(self, parts: &[TargetPart]) {
        self.form.update(|form| parts.iter().for_each(|part| add_part(form, part)));
        self.search.set(String::new());
        self.on_change.run(());
    }

    fn remove(self, part: &TargetPart) {
        self.form.update(|form| remove_part(form, part));
        self.on_change.run(());
    }
}

/// The state of the field that adds.
#[derive(Clone, Copy)]
struct PickerState {
    picker: TargetPicker,
    field: NodeRef<Input>,
    /// Whether suggestions are shown.
    is_open: RwSignal<bool>,
    /// Why the text can't be added; empty while nothing is wrong.
    problem: RwSignal<String>,
}

impl PickerState {
    /// Adds parts, and empties the field: what was wrong with its text is no longer shown.
    fn add(self, parts: &[TargetPart]) {
        self.problem.set(String::new());
        self.picker.add(parts);
    }

    /// Adds what the text names, also what does not exist: that has a finding.
    fn enter(self) {
        let text = self.picker.search.get_untracked();
        let cluster = self.picker.cluster.get_untracked();
        let form = OverrideForm { cluster, ..self.picker.form.get_untracked() };
        match self.picker.with_known(|known| resolve_entered(&text, &form, known)) {
            Ok(parts) if parts.is_empty() => {}
            Ok(parts) => self.add(&parts),
            Err(problem) => self.problem.set(problem),
        }
    }

    /// The field was left: adds what the text names completely. Anything else stays in the field, and a submission is rejected.
    fn leave(self) {
        let text = self.picker.search.get_untracked();
        let parts = self.picker.with_known(|known| {
            if is_complete(&text, known) { parse_typed(&text, known).unwrap_or_default() } else { Vec::new() }
        });
        if !parts.is_empty() {
            self.add(&parts);
        }
    }
}

/// The picker.
pub(super) fn target_picker(picker: TargetPicker) -> AnyView {
    let state = PickerState {
        picker,
        field: NodeRef::new(),
        is_open: RwSignal::new(false),
        problem: RwSignal::new(String::new()),
    };
    let parts = Memo::new(move |_| picker.form.with(list_parts));
    let message = move || {
        let problem = state.problem.get();
        if problem.is_empty() {
            "Enter adds what is typed: a name, or a condition such as region=eu. Labels and facts must match together."
                .into_any()
        } else {
            view! { <span class="field-message hue-degraded">{icon("error")} <span>{problem}</span></span> }
                .into_any()
        }
    };
    view! {
        <div class="field noscript:hidden">
            <label class="field-label" for="override-also">{picker.label}</label>
            <div class="value-box">
                <ul class="contents" aria-label="Parts of the target">
                    {move || parts.get().into_iter().map(|part| show_part(state, part)).collect_view()}
                </ul>
                {search_input(state)}
            </div>
            {suggestion_list(state)}
            <p class="field-help" id="override-also-help" aria-live="polite">{message}</p>
        </div>
        {text_fields(picker)}
    }
    .into_any()
}

fn show_part(state: PickerState, part: TargetPart) -> AnyView {
    let problem = state.picker.with_known(|known| describe_problem(&part, known));
    let mark = problem.map(|problem| {
        view! { <span class="target-problem hue-drifted">{icon("warning")} {problem}</span> }
    });
    let (noun, text) = (part.kind.noun(), part.text.clone());
    let label = format!("Remove {noun} {text}");
    let remove = move |_| {
        state.picker.remove(&part);
        live::page::focus_field(state.field);
    };
    view! {
        <li class="chip target-chip">
            <span class="text-3">{noun}</span>
            " "
            <span class="mono">{text}</span>
            " "
            {mark}
            <button class="chip-remove" type="button" aria-label=label on:click=remove>
                {icon("close")}
            </button>
        </li>
    }
    .into_any()
}

fn search_input(state: PickerState) -> AnyView {
    let PickerState { picker, field, is_open, problem } = state;
    let search = picker.search;
    let press_key = move |event: KeyboardEvent| {
        let key = event.key();
        if key == "Escape" {
            is_open.set(false);
        } else if key == "Enter" && !search.get_untracked().trim().is_empty() {
            // It adds to the target, and does not submit the form.
            event.prevent_default();
            state.enter();
        }
    };
    let type_text = move |event| {
        problem.set(String::new());
        is_open.set(true);
        search.set(event_target_value(&event));
    };
    view! {
        <input
            class="input-mono"
            id="override-also"
            name="form[also]"
            node_ref=field
            value=search.get_untracked()
            prop:value=move || search.get()
            placeholder="Add a cluster, group, label or fact"
            maxlength="2000"
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            aria-invalid=move || problem.with(|problem| !problem.is_empty()).to_string()
            aria-describedby="override-also-help"
            on:focus=move |_| is_open.set(true)
            on:input=type_text
            on:keydown=press_key
            on:change=move |_| state.leave()
        />
    }
    .into_any()
}

/// Buttons that add what the fleet has. They stay when the field is left, so that nothing moves below the pointer.
fn suggestion_list(state: PickerState) -> AnyView {
    let PickerState { picker, is_open, .. } = state;
    let suggested = Memo::new(move |_| {
        if !is_open.get() {
            return Vec::new();
        }
        let search = picker.search.get();
        let cluster = picker.cluster.get();
        let form = OverrideForm { cluster, ..picker.form.get() };
        picker.with_known(|known| suggest_parts(&search, &form, known))
    });
    // A press does not take the focus from the field: leaving it would add the text.
    view! {
        <div class="flex flex-wrap gap-1" on:mousedown=move |event: MouseEvent| event.prevent_default()>
            {move || suggested.get().into_iter().map(|one| suggestion_button(state, one)).collect_view()}
        </div>
    }
    .into_any()
}

fn suggestion_button(state: PickerState, suggested: SuggestedPart) -> AnyView {
    let SuggestedPart { part, clusters } = suggested;
    let (noun, text) = (part.kind.noun(), part.text.clone());
    let count =
        clusters.map(|clusters| view! { <span class="text-3">{pluralize(clusters, "cluster")}</span> });
    let add = move |_| {
        state.add(std::slice::from_ref(&part));
        live::page::focus_field(state.field);
    };
    view! {
        <button class="chip target-chip" type="button" on:click=add>
            {icon("plus")}
            <span class="sr-only">"Add"</span>
            " "
            <span class="text-3">{noun}</span>
            " "
            <span class="mono">{text}</span>
            " "
            {count}
        </button>
    }
    .into_any()
}

/// A text field with the parts of one kind.
struct TargetFieldProps {
    name: &'static str,
    label: &'static str,
    placeholder: &'static str,
    help: &'static str,
    options: Vec<String>,
}

/// The target as text, for a browser without script. The names of the fields are those of the form.
fn text_fields(picker: TargetPicker) -> AnyView {
    let (clusters, groups) = picker.fleet.with_value(|fleet| {
        // A fleet can have ten thousand clusters.
        let clusters: Vec<String> =
            fleet.clusters.iter().take(MAX_OPTIONS).map(|one| one.name.clone()).collect();
        let groups: Vec<String> = fleet.groups.iter().take(MAX_OPTIONS).map(|one| one.name.clone()).collect();
        (clusters, groups)
    });
    let (labels, facts) = picker.values.with_value(|values| (values.label_counts(), values.fact_counts()));
    let list_texts = |pairs: Vec<(String, u32)>| -> Vec<String> {
        pairs.into_iter().take(MAX_OPTIONS).map(|(text, _)| text).collect()
    };
    let clusters = TargetFieldProps {
        name: "clusters",
        label: "Clusters",
        placeholder: "eu-1, eu-2",
        help: "By name.",
        options: clusters,
    };
    let groups = TargetFieldProps {
        name: "groups",
        label: "Groups",
        placeholder: "edge",
        help: "By name.",
        options: groups,
    };
    let labels = TargetFieldProps {
        name: "selector",
        label: "Labels",
        placeholder: "region=eu",
        help: "Syntax of kubectl -l.",
        options: list_texts(labels),
    };
    let facts = TargetFieldProps {
        name: "facts",
        label: "Facts",
        placeholder: "provider=aws",
        help: "Confirmed provider, region, zone, distribution or kubernetesVersion; together with the labels.",
        options: list_texts(facts),
    };
    view! {
        <div class="override-target hidden noscript:grid">
            {text_field(picker, clusters, |form| &mut form.clusters)}
            {text_field(picker, groups, |form| &mut form.groups)}
            {text_field(picker, labels, |form| &mut form.selector)}
            {text_field(picker, facts, |form| &mut form.facts)}
        </div>
    }
    .into_any()
}

fn text_field(
    picker: TargetPicker,
    of: TargetFieldProps,
    part: fn(&mut OverrideForm) -> &mut String,
) -> AnyView {
    let id = format!("override-{}", of.name);
    let (list, help) = (format!("known-{}", of.name), format!("{id}-help"));
    let read = move || part(&mut picker.form.get()).clone();
    let begin = untrack(read);
    let option = |value: String| view! { <option value=value></option> };
    view! {
        <div class="field">
            <label class="field-label" for=id.clone()>{of.label}</label>
            <input
                class="input input-mono"
                id=id
                name=format!("form[{}]", of.name)
                value=begin
                prop:value=read
                placeholder=of.placeholder
                maxlength="2000"
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                list=list.clone()
                aria-describedby=help.clone()
                on:input=move |event| picker.form.update(|form| *part(form) = event_target_value(&event))
            />
            <p class="field-help" id=help>{of.help}</p>
            <datalist id=list>{of.options.into_iter().map(option).collect_view()}</datalist>
        </div>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::ClusterId;
    use domain::cluster::{Cluster, ClusterKind};

    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn parts_are_chips_that_can_be_removed_and_text_fields_without_script() {
        let page = render_html(|| {
            let id = ClusterId::from_parts(1, 1);
            let cluster = Cluster::new(id, "eu-1", ClusterKind::default(), domain::Timestamp::default());
            let fleet = Fleet { clusters: vec![cluster], ..Fleet::default() };
            let form = OverrideForm {
                clusters: "eu-1, moon-1".into(),
                selector: "region=eu".into(),
                ..OverrideForm::default()
            };
            target_picker(TargetPicker {
                label: "Applies to",
                form: RwSignal::new(form),
                search: RwSignal::new(String::new()),
                cluster: Signal::stored(String::new()),
                values: StoredValue::new(FleetValues::count(&fleet)),
                fleet: StoredValue::new(fleet),
                on_change: Callback::new(|()| ()),
            })
        });
        for part in [
            "Applies to",
            "aria-label=\"Remove cluster eu-1\"",
            "aria-label=\"Remove cluster moon-1\"",
            "aria-label=\"Remove label region=eu\"",
            "name=\"form[clusters]\"",
            "value=\"eu-1, moon-1\"",
            "value=\"region=eu\"",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert_eq!(page.matches("does not exist").count(), 1, "{page}");
        assert_eq!(page.matches("matches no cluster").count(), 1, "{page}");
        assert!(!page.contains("Add</span>"), "nothing is suggested before the field has the focus: {page}");
    }
}
