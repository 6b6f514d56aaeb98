//! The shown cluster; name, target and priority of the edited override.

use domain::cluster::Cluster;
use domain::overrides::DEFAULT_PRIORITY;
use domain::placement::ClusterGroup;
use leptos::prelude::*;

use super::form::OverrideForm;
use super::state::EditorState;
use super::target_picker::{TargetPicker, target_picker};
use crate::components::join_names;

struct TextInputProps {
    name: &'static str,
    label: &'static str,
    placeholder: &'static str,
    help: &'static str,
}

/// Whether the edited override is a new one that has no target yet.
pub(super) fn is_untargeted(state: EditorState) -> bool {
    let has_target = state.target_cluster.with_untracked(|cluster| !cluster.is_empty())
        || state.target_group.with_value(|group| !group.is_empty());
    state.edited_name.with_value(String::is_empty) && !has_target
}

/// Whether nothing is entered for a new override yet.
pub(super) fn is_blank(state: EditorState) -> bool {
    let is_new = state.edited_name.with_value(String::is_empty);
    let is_typed = state.search.with(|text| !text.trim().is_empty());
    is_new && !is_typed && state.form.with(OverrideForm::is_blank)
}

/// Whether a new override targets the shown cluster.
fn is_for_cluster(state: EditorState) -> bool {
    let is_group = state.target_group.with_value(|group| !group.is_empty());
    state.edited_name.with_value(String::is_empty) && !is_group && !is_untargeted(state)
}

/// The shown cluster, its groups, how many fields differ there, and which override is edited. A new one for this cluster is named beside
/// its target, once something is entered.
pub(super) fn subject(state: EditorState) -> AnyView {
    let cluster = move || {
        let name = state.cluster.with(|cluster| cluster.as_ref().map(|one| one.name.clone()));
        name.map(|name| view! { <h2 class="font-mono text-section font-semibold">{name}</h2> })
    };
    let facts = move || {
        let groups = state.cluster.with(|cluster| cluster.as_ref().map(|one| list_groups(state, one)));
        [groups.unwrap_or_default(), count_differing(state)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" · ")
    };
    view! {
        <header class="grid gap-1">
            <div class="flex flex-wrap items-baseline gap-x-3">
                {cluster}
                <p class="text-3">{facts}</p>
            </div>
            {(!is_for_cluster(state)).then(|| view! { <h3 class="strong">{edited_title(state)}</h3> })}
            {move || describe_mismatch(state).map(|text| view! { <p class="text-2">{text}</p> })}
        </header>
    }
    .into_any()
}

/// `Override europe`, `Override for eu-west-1`, `Override for group edge` or `New override`.
fn edited_title(state: EditorState) -> AnyView {
    let (name, group) = (state.edited_name.get_value(), state.target_group.get_value());
    if !name.is_empty() {
        view! { "Override " <span class="name">{name}</span> }.into_any()
    } else if !group.is_empty() {
        view! { "Override for group " <span class="name">{group}</span> }.into_any()
    } else if is_untargeted(state) {
        "New override".into_any()
    } else {
        view! { "Override for " <span class="name">{move || state.target_cluster.get()}</span> }.into_any()
    }
}

/// `in groups europe and gold`; empty for none.
fn list_groups(state: EditorState, cluster: &Cluster) -> String {
    let names: Vec<String> = state.fleet.with_value(|fleet| {
        let member = |group: &&ClusterGroup| group.contains(cluster);
        fleet.groups.iter().filter(member).map(|group| group.name.clone()).collect()
    });
    let noun = if names.len() == 1 { "group" } else { "groups" };
    if names.is_empty() { String::new() } else { format!("in {noun} {}", join_names(&names, names.len(), 3)) }
}

/// `1 of 7 fields differs`; empty for a chart, whose objects are not known here.
fn count_differing(state: EditorState) -> String {
    let known = state.fields.with_value(Vec::len);
    let differ = state.effective.with(|effective| effective.provenance.len());
    match (known, differ) {
        (0, _) => String::new(),
        (known, 0) => format!("none of {known} fields differs"),
        (known, 1) => format!("1 of {known} fields differs"),
        (known, differ) => format!("{differ} of {} fields differ", known.max(differ)),
    }
}

/// The edited override if it does not apply to the shown cluster, as a sentence.
fn describe_mismatch(state: EditorState) -> Option<String> {
    let name = state.edited_name.get_value();
    let target = state.form.with(OverrideForm::target);
    let cluster = state.cluster.get().filter(|_| !name.is_empty())?;
    let applies = state.fleet.with_value(|fleet| target.specificity(&cluster, &fleet.groups).is_some());
    (!applies).then(|| format!("It does not apply to {}.", cluster.name))
}

/// What the edited override applies to. An override without a target of its own gets its name here too.
pub(super) fn target_fields(state: EditorState, on_change: Callback<()>) -> AnyView {
    let is_untargeted = is_untargeted(state);
    // A stored override or a new one without a target has its whole target here.
    let has_own = state.edited_name.with_value(String::is_empty) && !is_untargeted;
    let is_for_cluster = is_for_cluster(state);
    // Without script nothing could show it later.
    let class = move || match is_for_cluster && is_blank(state) {
        true => "stack-sm hidden noscript:grid",
        false => "stack-sm",
    };
    let picker = TargetPicker {
        label: if has_own { "Also for" } else { "Applies to" },
        form: state.form,
        search: state.search,
        cluster: state.target_cluster.into(),
        fleet: state.fleet,
        values: state.fleet_values,
        on_change,
    };
    view! {
        <div class=class>
            {is_for_cluster.then(|| view! { <h3 class="strong">{edited_title(state)}</h3> })}
            {target_picker(picker)}
            {is_untargeted.then(|| view! { {everywhere_box(state)} {name_field(state)} })}
        </div>
    }
    .into_any()
}

/// What is seldom changed: the name and whether it is for every cluster, unless they are beside the target, and the priority.
pub(super) fn more_fields(state: EditorState) -> AnyView {
    let is_untargeted = is_untargeted(state);
    let summary = move || {
        let form = OverrideForm { cluster: state.target_cluster.get(), ..state.form.get() };
        describe_more(&form, is_untargeted)
    };
    let priority =
        TextInputProps { name: "priority", label: "Priority", placeholder: "500", help: "0 to 1000." };
    view! {
        <details class="fold">
            <summary>"More " <span class="text-3">{summary}</span></summary>
            <div class="stack-sm pb-4">
                <div class="override-more">
                    {(!is_untargeted).then(|| name_field(state))}
                    {text_input(state, priority, false, |form| &mut form.priority)}
                </div>
                {(!is_untargeted).then(|| everywhere_box(state))}
            </div>
        </details>
    }
    .into_any()
}

/// `name eu-west-1 · priority 500`, as it is typed.
fn describe_more(form: &OverrideForm, is_untargeted: bool) -> String {
    let priority = match form.priority.trim() {
        "" => DEFAULT_PRIORITY.to_string(),
        typed => typed.to_owned(),
    };
    let name = form.resolved_name();
    let name = if is_untargeted || name.is_empty() { String::new() } else { format!("name {name} · ") };
    let everywhere = if !is_untargeted && form.everywhere == "yes" { "every cluster · " } else { "" };
    format!("{name}{everywhere}priority {priority}")
}

fn name_field(state: EditorState) -> AnyView {
    let is_new = state.edited_name.with_value(String::is_empty);
    let name = TextInputProps {
        name: "name",
        label: "Name",
        placeholder: "eu",
        help: "Defaults to the name of the only cluster or group.",
    };
    text_input(state, name, !is_new, |form| &mut form.name)
}

fn everywhere_box(state: EditorState) -> AnyView {
    let everywhere = state.form.with_untracked(|form| form.everywhere == "yes");
    view! {
        <label class="choice">
            <input
                class="checkbox"
                type="checkbox"
                name="form[everywhere]"
                value="yes"
                checked=everywhere
                on:change=move |ev| {
                    let value = if event_target_checked(&ev) { "yes".to_owned() } else { String::new() };
                    state.form.update(|form| form.everywhere = value);
                }
            />
            "For every cluster"
        </label>
    }
    .into_any()
}

fn text_input(
    state: EditorState,
    of: TextInputProps,
    locked: bool,
    part: fn(&mut OverrideForm) -> &mut String,
) -> AnyView {
    let id = format!("override-{}", of.name);
    let begin = part(&mut state.form.get_untracked()).clone();
    let path = format!("/override/{}", of.name);
    let help = if locked { "Fixed. Create another override to use another name." } else { of.help };
    let is_bad = move || {
        let wrong = state.input.with(|input| input.clone().err().unwrap_or_default());
        wrong.iter().any(|finding| finding.path == path).to_string()
    };
    view! {
        <div class="field">
            <label class="field-label" for=id.clone()>
                {of.label}
            </label>
            <input
                class="input input-mono"
                id=id.clone()
                name=format!("form[{}]", of.name)
                value=begin
                placeholder=of.placeholder
                maxlength="2000"
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                readonly=locked
                aria-invalid=is_bad
                aria-describedby=(!help.is_empty()).then(|| format!("{id}-help"))
                on:input=move |ev| state.form.update(|form| *part(form) = event_target_value(&ev))
            />
            {(!help.is_empty()).then(|| view! { <p class="field-help" id=format!("{id}-help")>{help}</p> })}
        </div>
    }
    .into_any()
}
