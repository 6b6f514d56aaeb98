//! Name, target and priority of the edited override.

use leptos::prelude::*;

use super::form::OverrideForm;
use super::state::EditorState;

struct TextInputProps {
    name: &'static str,
    label: &'static str,
    placeholder: &'static str,
    help: &'static str,
    list: &'static str,
}

pub(super) fn target_fields(state: EditorState) -> AnyView {
    let is_new = state.edited_name.with_value(String::is_empty);
    let title = if is_new {
        "New override".to_owned()
    } else {
        state.edited_name.with_value(|name| format!("Override {name}"))
    };
    let everywhere = state.form.with_untracked(|form| form.everywhere == "yes");
    let (clusters, groups) = state.fleet.with_value(|fleet| {
        // At most 200 suggestions: a fleet can have ten thousand clusters.
        let clusters: Vec<String> = fleet.clusters.iter().take(200).map(|one| one.name.clone()).collect();
        let groups: Vec<String> = fleet.groups.iter().take(200).map(|one| one.name.clone()).collect();
        (clusters, groups)
    });
    let name = TextInputProps {
        name: "name",
        label: "Name",
        placeholder: "eu",
        help: "Defaults to the cluster's name if there is only one.",
        list: "",
    };
    let cluster = TextInputProps {
        name: "clusters",
        label: "Clusters",
        placeholder: "eu-1, eu-2",
        help: "By name.",
        list: "known-clusters",
    };
    let group = TextInputProps {
        name: "groups",
        label: "Groups",
        placeholder: "edge",
        help: "By name.",
        list: "known-groups",
    };
    let labels = TextInputProps {
        name: "selector",
        label: "Labels",
        placeholder: "region=eu",
        help: "Syntax of kubectl -l.",
        list: "",
    };
    let priority = TextInputProps {
        name: "priority",
        label: "Priority",
        placeholder: "500",
        help: "0 to 1000.",
        list: "",
    };
    view! {
        <h2 class="section">{title}</h2>
        <div class="override-target">
            {text_input(state, name, !is_new, |form| &mut form.name)}
            {text_input(state, cluster, false, |form| &mut form.clusters)}
            {text_input(state, group, false, |form| &mut form.groups)}
            {text_input(state, labels, false, |form| &mut form.selector)}
            {text_input(state, priority, false, |form| &mut form.priority)}
        </div>
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
        {datalist("known-clusters", clusters)}
        {datalist("known-groups", groups)}
    }
    .into_any()
}

fn datalist(id: &'static str, values: Vec<String>) -> impl IntoView {
    let option = |value: String| view! { <option value=value></option> };
    view! { <datalist id=id>{values.into_iter().map(option).collect_view()}</datalist> }
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
                list=(!of.list.is_empty()).then_some(of.list)
                aria-invalid=is_bad
                aria-describedby=format!("{id}-help")
                on:input=move |ev| state.form.update(|form| *part(form) = event_target_value(&ev))
            />
            <p class="field-help" id=format!("{id}-help")>
                {if locked { "Fixed. Create another override to use another name." } else { of.help }}
            </p>
        </div>
    }
    .into_any()
}
