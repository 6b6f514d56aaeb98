//! The fields with base, value of the edited override, effective value and origin. Overridden values are grey; fields without
//! an override are folded.

use std::collections::BTreeSet;

use domain::field_path::FieldPath;
use domain::overrides::{Override, Provenance, ProvenanceLayer};
use domain::values::{ValueProvenance, ValuesLayer};
use leptos::prelude::*;
use serde_json::Value;

use super::form::OverrideForm;
use super::form::format_scalar;
use super::overridable::OverridableField;
use super::state::{EditorState, TracedValues};
use crate::components::{FindingList, editor::TextArea, pluralize};

/// A row: a field of the source, or another path that an override sets.
#[derive(Debug, Clone, PartialEq)]
struct FieldRow {
    object_index: u32,
    /// The label of the object.
    object: String,
    path: String,
    base: Option<Value>,
    /// Index of its input in the form; `None` if only YAML sets it.
    input_index: Option<usize>,
    is_secret: bool,
}

pub(super) fn field_table(state: EditorState) -> AnyView {
    let known =
        state.fields.with_value(|fields| fields.iter().enumerate().map(field_row).collect::<Vec<_>>());
    let set: BTreeSet<(u32, String)> =
        state.effective.with_untracked(|effective| effective.provenance.iter().map(provenance_key).collect());
    let is_typed = |row: &FieldRow| {
        let typed = |at: usize| state.form.with_untracked(|form| !form.fields[at].value.is_empty());
        set.contains(&(row.object_index, row.path.clone())) || row.input_index.is_some_and(typed)
    };
    // Rows are not reordered during input: their section is determined when the form is created.
    let (top, folded): (Vec<FieldRow>, Vec<FieldRow>) = known.clone().into_iter().partition(is_typed);
    let beside = Memo::new(move |_| {
        let known: BTreeSet<(u32, &str)> =
            known.iter().map(|row| (row.object_index, row.path.as_str())).collect();
        state.effective.with(|effective| {
            let others =
                effective.provenance.iter().filter(|one| !known.contains(&(one.object, one.path.as_str())));
            others.map(|one| provenance_row(state, one)).collect::<Vec<_>>()
        })
    });
    let is_chart = state.workload.with_value(|all| all.draft.source.is_chart());
    let values = is_chart.then(|| chart_values_editor(state));
    // A chart is rendered by the server, so its objects are not known here.
    let nothing = top.is_empty() && !is_chart;
    let how_many = pluralize(u32::try_from(folded.len()).unwrap_or(u32::MAX), "field");
    view! {
        <section class="stack-sm" aria-label="Fields">
            {values}
            {(!is_chart).then(|| view! {
                {(!nothing).then(|| table_of_rows(state, top, Some(beside), true))}
                <details class="fold" open=nothing>
                    <summary>{how_many} " " <span class="text-3">"without an override"</span></summary>
                    {table_of_rows(state, folded, nothing.then_some(beside), nothing)}
                </details>
            })}
            {template_suggestions(state)}
        </section>
    }
    .into_any()
}

fn provenance_key(one: &Provenance) -> (u32, String) {
    (one.object, one.path.clone())
}

fn field_row((at, field): (usize, &OverridableField)) -> FieldRow {
    FieldRow {
        object_index: field.object_index,
        object: field.object.to_string(),
        path: field.path.clone(),
        base: field.base.clone(),
        input_index: Some(at),
        is_secret: false,
    }
}

fn provenance_row(state: EditorState, one: &Provenance) -> FieldRow {
    let object = state.objects.with_value(|objects| {
        usize::try_from(one.object).ok().and_then(|at| objects.get(at)).cloned().unwrap_or_default()
    });
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let base = one.path.parse::<FieldPath>().ok().and_then(|path| path.get(&object).cloned());
    FieldRow {
        object_index: one.object,
        object: format!("{} {}", text("/kind"), text("/metadata/name")),
        path: one.path.clone(),
        base,
        input_index: None,
        is_secret: text("/kind") == "Secret",
    }
}

/// A table. `has_head`: whether the head is visible; one of two tables below each other shows it.
fn table_of_rows(
    state: EditorState,
    rows: Vec<FieldRow>,
    beside: Option<Memo<Vec<FieldRow>>>,
    has_head: bool,
) -> AnyView {
    view! {
        <table class="table override-table">
            <caption class="sr-only">"Fields with base, override and effective value"</caption>
            <thead class:sr-only=!has_head>
                <tr>
                    <th scope="col">"Field"</th>
                    <th scope="col">"Base"</th>
                    <th scope="col">"This override"</th>
                    <th scope="col">"Effective"</th>
                </tr>
            </thead>
            <tbody>
                {rows.into_iter().map(move |one| table_row(state, one)).collect_view()}
                {move || beside.map(|beside| beside.get().into_iter().map(|one| table_row(state, one)).collect_view())}
            </tbody>
        </table>
    }
    .into_any()
}

fn table_row(state: EditorState, row: FieldRow) -> AnyView {
    let FieldRow { object_index: position, object, path, base, input_index: input, is_secret } = row;
    let secret = move |text: String| if is_secret { "hidden".to_owned() } else { text };
    let shown =
        move |value: Option<&Value>| value.map_or("not set".to_owned(), |value| secret(format_scalar(value)));
    let provenance = {
        let path = path.clone();
        Memo::new(move |_| {
            state.effective.with(|effective| {
                effective.provenance.iter().find(|one| one.object == position && one.path == path).cloned()
            })
        })
    };
    let now = {
        let path = path.clone();
        move || {
            let value = state.effective.with(|effective| {
                let object = usize::try_from(position).ok().and_then(|at| effective.objects.get(at))?.clone();
                path.parse::<FieldPath>().ok()?.get(&object).cloned()
            });
            shown(value.as_ref())
        }
    };
    let field = match input {
        Some(at) => value_input(state, at, &object, &path),
        None => view! { <span class="text-3">"by YAML"</span> }.into_any(),
    };
    let short = short_path(&path);
    view! {
        <tr class="override-row" class:override-set=move || provenance.with(Option::is_some)>
            <th scope="row" class="override-field">
                <span class="name" title=path.clone()>{short}</span>
                <p class="meta">{object}</p>
            </th>
            <td class="mono text-2" data-label="Base">{shown(base.as_ref())}</td>
            <td data-label="This override">{field}</td>
            <td class="mono override-effective" data-label="Effective">
                <span class="override-value">{now}</span>
            </td>
        </tr>
        {move || {
            provenance.get().map(|provenance| {
                view! { <tr class="override-from"><td colspan="4">{provenance_chain(state, &provenance, is_secret)}</td></tr> }
            })
        }}
    }
    .into_any()
}

/// Removes the common prefix of a path.
fn short_path(path: &str) -> String {
    let heads = ["/spec/jobTemplate/spec/template/spec/", "/spec/template/spec/", "/spec/", "/"];
    let rest = heads.iter().find_map(|head| path.strip_prefix(head));
    rest.unwrap_or(path).to_owned()
}

fn value_input(state: EditorState, at: usize, object: &str, path: &str) -> AnyView {
    let part = move |form: &OverrideForm| form.fields.get(at).cloned().unwrap_or_default();
    let begin = state.form.with_untracked(part);
    let key_path = format!("/override/fields/{}", begin.key);
    // The edge of a field without a value of this override is quiet: the values that are set stand out.
    let class = move || {
        let is_set = state.form.with(|form| form.fields.get(at).is_some_and(|row| !row.value.is_empty()));
        if is_set { "input input-mono" } else { "input input-mono border-line" }
    };
    let is_bad = move || {
        let wrong = state.input.with(|input| input.clone().err().unwrap_or_default());
        wrong.iter().any(|finding| finding.path == key_path).to_string()
    };
    view! {
        <input type="hidden" name=format!("form[fields][{at}][key]") value=begin.key />
        <input type="hidden" name=format!("form[fields][{at}][value_type]") value=begin.value_type />
        <input
            class=class
            name=format!("form[fields][{at}][value]")
            value=begin.value
            placeholder="set here"
            maxlength="2000"
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            list="template-variables"
            aria-label=format!("{object} {}", short_path(path))
            aria-invalid=is_bad
            on:input=move |ev| {
                let value = event_target_value(&ev);
                state.form.update(|form| if let Some(row) = form.fields.get_mut(at) { row.value = value });
            }
        />
    }
    .into_any()
}

/// What an override is for, with its name unless that says it: `eu-west-1`, `labels tier=gold (gold-replicas)`.
fn describe_layer(over: &Override) -> String {
    let (name, target) = (over.name.as_str(), &over.target);
    let is_named = !target.has_selector()
        && ((target.clusters == [name] && target.groups.is_empty())
            || (target.groups == [name] && target.clusters.is_empty()));
    if is_named { name.to_owned() } else { format!("{target:.2} ({name})") }
}

/// `5 from eu-west-1 ← 4 from labels tier=gold (gold-replicas) ← 2 base`: the effective value first, the overridden ones grey.
fn provenance_chain(state: EditorState, provenance: &Provenance, is_secret: bool) -> AnyView {
    let describe = |name: &str| {
        let described =
            state.overrides.with(|all| all.iter().find(|over| over.name == name).map(describe_layer));
        described.unwrap_or_else(|| name.to_owned())
    };
    let value = |at: usize| match provenance.values.get(at) {
        _ if is_secret => "hidden".to_owned(),
        Some(Some(value)) => format_scalar(value).chars().take(60).collect(),
        _ => "removed".to_owned(),
    };
    let part = |(at, layer): (usize, &ProvenanceLayer)| {
        let from = match layer {
            ProvenanceLayer::Base => " base".to_owned(),
            ProvenanceLayer::Override { name } => format!(" from {}", describe(name)),
        };
        let text = format!("{}{from}", value(at));
        if at == 0 {
            view! { <b class="font-semibold text-ink">{text}</b> }.into_any()
        } else {
            view! { <span class="text-3">{format!(" ← {text}")}</span> }.into_any()
        }
    };
    view! { <p class="meta override-chain">{provenance.layers.iter().enumerate().map(part).collect_view()}</p> }
        .into_any()
}

/// The values of the chart that the override sets.
fn chart_values_editor(state: EditorState) -> AnyView {
    let values = state.form.with_untracked(|form| form.chart_values.clone());
    view! {
        <div class="field">
            <span class="field-label">"Chart values"</span>
            <TextArea class="textarea input-mono min-h-40" field="form[chart_values]" text=values label="Chart values as YAML"
                on_text=Callback::new(move |text| state.form.update(|form| form.chart_values = text)) />
            <p class="field-help">
                "Merged over the common values: maps are merged, lists and other values replaced; null removes the chart's default."
            </p>
        </div>
        {move || state.values.get().map(show_values)}
    }
    .into_any()
}

/// The effective values of the chart, or the limit that they exceed.
fn show_values(values: TracedValues) -> AnyView {
    match values {
        Ok(values) => value_table(values),
        Err(finding) => view! { <FindingList findings=vec![*finding] /> }.into_any(),
    }
}

/// The effective values of the chart, each with the layers that set it.
fn value_table(values: Vec<ValueProvenance>) -> AnyView {
    if values.is_empty() {
        return view! { <p class="text-3">"No values are set: the chart's defaults apply."</p> }.into_any();
    }
    let row = |leaf: ValueProvenance| {
        let mut settings = leaf.settings.into_iter();
        let effective = settings.next();
        let is_overridden =
            effective.as_ref().is_some_and(|one| matches!(one.layer, ValuesLayer::Override { .. }));
        let from = effective.as_ref().map(|one| one.layer.to_string()).unwrap_or_default();
        let below: Vec<String> =
            settings.map(|one| format!("{} ← {}", format_scalar(&one.value), one.layer)).collect();
        view! {
            <tr class:override-set=is_overridden>
                <th scope="row" class="override-field"><span class="name">{leaf.path[1..].to_owned()}</span></th>
                <td class="mono override-effective" data-label="Effective">
                    <span class="override-value">{effective.map(|one| format_scalar(&one.value))}</span>
                </td>
                <td class="pl-3" data-label="From">{from}</td>
                <td class="text-2" data-label=(!below.is_empty()).then_some("Instead of")>{below.join(", ")}</td>
            </tr>
        }
    };
    view! {
        <table class="table override-table">
            <caption class="sr-only">"Effective values of the chart"</caption>
            <thead>
                <tr>
                    <th scope="col">"Value"</th>
                    <th scope="col">"Effective"</th>
                    <th scope="col">"From"</th>
                    <th scope="col">"Instead of"</th>
                </tr>
            </thead>
            <tbody>{values.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

pub(super) fn yaml_editors(state: EditorState) -> AnyView {
    let (values, patches) = state.form.with_untracked(|form| (form.values.clone(), form.patches.clone()));
    let open = !values.is_empty() || !patches.is_empty();
    view! {
        <details class="fold" open=open>
            <summary>"Merges and patches of objects " <span class="text-3">"as YAML"</span></summary>
            <div class="grid gap-5 pt-3 lg:grid-cols-2">
                <div class="field">
                    <span class="field-label">"Fields to merge"</span>
                    <TextArea class="textarea input-mono min-h-40" field="form[values]" text=values label="Fields to merge as YAML"
                        on_text=Callback::new(move |text| state.form.update(|form| form.values = text)) />
                    <p class="field-help">"Merged first. By object: Deployment/web, then its fields; null removes one."</p>
                </div>
                <div class="field">
                    <span class="field-label">"Patches"</span>
                    <TextArea class="textarea input-mono min-h-40" field="form[patches]" text=patches label="Patches as YAML"
                        on_text=Callback::new(move |text| state.form.update(|form| form.patches = text)) />
                    <p class="field-help">"Applied last. A list of object, op (merge, set, remove), path and value."</p>
                </div>
            </div>
        </details>
    }
    .into_any()
}

/// Suggestions of template variables, whose values differ per cluster.
fn template_suggestions(state: EditorState) -> AnyView {
    const VARIABLES: [&str; 7] = [
        "cluster.name",
        "cluster.region",
        "cluster.provider",
        "cluster.kubernetesVersion",
        "cluster.storageClass",
        "cluster.ingressClass",
        "workload.name",
    ];
    let labels: BTreeSet<String> = state.fleet.with_value(|fleet| {
        let keys = fleet.clusters.iter().take(200).flat_map(|cluster| cluster.labels.keys());
        let plain = keys.filter(|key| !key.contains(['.', '/']));
        plain.map(|key| format!("cluster.labels.{key}")).collect()
    });
    let all = VARIABLES.iter().map(|name| (*name).to_owned()).chain(labels);
    let option = |name: String| view! { <option value=format!("${{{{ {name} }}}}")></option> };
    view! { <datalist id="template-variables">{all.map(option).collect_view()}</datalist> }.into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::OverrideId;
    use domain::overrides::ClusterSelector;
    use domain::values::{LayerValues, trace_values};
    use serde_json::json;

    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn p19_g111_values_whose_paths_are_too_long_are_shown_as_that_and_not_as_no_values() {
        let long = "k".repeat(1 << 20);
        let below: serde_json::Map<String, Value> = (0..9).map(|n| (n.to_string(), Value::Null)).collect();
        let layer = LayerValues { layer: ValuesLayer::Common, values: json!({ long: below }) };
        let traced = trace_values(&[layer]);
        let page = render_html(move || show_values(traced));
        assert!(page.contains("G111") && page.contains("more than 8 MiB"), "{page}");
        let page = render_html(move || show_values(Ok(Vec::new())));
        assert!(page.contains("No values are set"), "{page}");
    }

    #[test]
    fn a_layer_says_what_its_override_is_for_unless_its_name_does() {
        let describe = |name: &str, target: ClusterSelector| {
            describe_layer(&Override {
                id: OverrideId::from_parts(1, 1),
                name: name.to_owned(),
                target,
                priority: 500,
                values: String::new(),
                patches: Vec::new(),
            })
        };
        let cluster = || ClusterSelector { clusters: vec!["eu-1".into()], ..ClusterSelector::default() };
        let group = ClusterSelector { groups: vec!["edge".into()], ..ClusterSelector::default() };
        let gold =
            ClusterSelector { selector: Some("tier=gold".parse().unwrap()), ..ClusterSelector::default() };
        assert_eq!(describe("eu-1", cluster()), "eu-1");
        assert_eq!(describe("edge", group), "edge");
        assert_eq!(describe("first", cluster()), "cluster eu-1 (first)");
        assert_eq!(describe("gold-replicas", gold), "labels tier=gold (gold-replicas)");
    }

    #[test]
    fn common_prefixes_of_paths_are_removed() {
        assert_eq!(
            short_path("/spec/template/spec/containers[name=web]/image"),
            "containers[name=web]/image"
        );
        assert_eq!(short_path("/spec/replicas"), "replicas");
        assert_eq!(short_path("/data/key"), "data/key");
    }
}
