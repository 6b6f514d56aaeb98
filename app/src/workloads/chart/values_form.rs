//! The form for the values of a chart, beside their text: a field for every value that the chart knows.

use domain::Finding;
use domain::manifest::yaml_value;
use domain::values_form::{FieldKind, ValuesField, ValuesForm};
use leptos::prelude::*;
use serde_json::Value;

use super::values_text::{ValuesText, format_scalar};
use crate::components::{StatusStyle, icon, pluralize};

/// Fields that a search shows at most.
const MAX_MATCHES: usize = 100;

/// What every field needs.
#[derive(Clone, Copy)]
struct ValuesFieldContext {
    text: ValuesText,
    findings: Memo<Vec<Finding>>,
}

/// The form.
#[component]
pub fn ValuesFormFields(form: ValuesForm, text: ValuesText, findings: Memo<Vec<Finding>>) -> impl IntoView {
    let context = ValuesFieldContext { text, findings };
    let ValuesForm { fields, has_schema, is_schema_too_large, is_truncated } = form;
    if fields.is_empty() && !is_truncated && !is_schema_too_large {
        return view! { <p class="text-2">"The chart has no default values and no schema to make a form of; write its values as YAML."</p> }
            .into_any();
    }
    let origin = if has_schema {
        "Fields as the schema and the default values of the chart describe them."
    } else if is_schema_too_large {
        "The schema of the chart is larger than 1 MiB or has more than 50 000 values, too large for a form: the fields follow from its default values. The chart still checks what is entered when it is rendered."
    } else {
        "The chart has no schema: the fields follow from its default values, and their types are not checked."
    };
    let searched = RwSignal::new(String::new());
    let only_set = RwSignal::new(false);
    let fields = StoredValue::new(fields);
    view! {
        <div class="stack-sm">
            <p class="field-help">{origin}</p>
            <div class="flex flex-wrap items-center gap-3">
                <label class="search grow">
                    {icon("search")}
                    <input type="search" placeholder="Find a value" aria-label="Find a value" autocomplete="off"
                        on:input=move |ev| searched.set(event_target_value(&ev).to_lowercase()) />
                </label>
                <label class="choice">
                    <input type="checkbox" class="checkbox" on:change=move |ev| only_set.set(event_target_checked(&ev)) />
                    "Only set ones"
                </label>
            </div>
            {move || text.error().map(|why| view! { <p class="field-message hue-degraded" role="status">{icon("error")} <span>{why}</span></p> })}
        </div>
        {move || {
            let words = searched.get();
            if words.trim().is_empty() && !only_set.get() {
                return fields.with_value(|fields| show_fields(fields, context));
            }
            let is_shown = |field: &ValuesField| {
                field.matches(&words) && (!only_set.get() || untrack(|| text.is_set(&field.path)))
            };
            let found = fields.with_value(|fields| collect_leaves(fields, &is_shown));
            show_matches(&found, context)
        }}
        {is_truncated.then(|| view! { <p class="field-help">"The chart has more values than the form shows; set them as YAML."</p> })}
    }
    .into_any()
}

/// The fields of the maps at every level that `is_shown` accepts.
fn collect_leaves(fields: &[ValuesField], is_shown: &impl Fn(&ValuesField) -> bool) -> Vec<ValuesField> {
    let mut found = Vec::new();
    for field in fields {
        match &field.kind {
            FieldKind::Section { fields } => found.extend(collect_leaves(fields, is_shown)),
            _ if is_shown(field) => found.push(field.clone()),
            _ => {}
        }
    }
    found
}

fn show_matches(found: &[ValuesField], context: ValuesFieldContext) -> AnyView {
    if found.is_empty() {
        return view! { <p class="text-2">"No value matches."</p> }.into_any();
    }
    let more = found.len().saturating_sub(MAX_MATCHES);
    let more = u32::try_from(more).unwrap_or(u32::MAX);
    view! {
        <div class="fields">{found.iter().take(MAX_MATCHES).map(|field| show_field(field, true, context)).collect_view()}</div>
        {(more > 0).then(|| view! { <p class="field-help">{format!("{} more; type another word.", pluralize(more, "value"))}</p> })}
    }
    .into_any()
}

fn show_fields(fields: &[ValuesField], context: ValuesFieldContext) -> AnyView {
    let shown = fields.iter().map(|field| match &field.kind {
        FieldKind::Section { fields } => show_section(field, fields.clone(), context),
        _ => show_field(field, false, context),
    });
    view! { <div class="fields">{shown.collect_view()}</div> }.into_any()
}

/// A map, folded. Its fields are created when it is opened, because a chart may have hundreds.
fn show_section(field: &ValuesField, fields: Vec<ValuesField>, context: ValuesFieldContext) -> AnyView {
    let path = StoredValue::new(field.path.clone());
    let is_open = RwSignal::new(false);
    let fields = StoredValue::new(fields);
    let set = move || {
        let count = path.with_value(|path| context.text.value(path)).as_ref().map_or(0, count_leaves);
        (count > 0).then(|| view! { <span class="tag">{format!("{count} set")}</span> })
    };
    let wrong = move || {
        let prefix = path.with_value(|path| format!("/source/values{path}/"));
        let is_below = |finding: &Finding| finding.is_blocking() && finding.path.starts_with(&prefix);
        let found = context.findings.with(|all| all.iter().any(is_below));
        found.then(|| view! { <span class="hue-degraded flex" title="A value in it is invalid">{icon("error")}</span> })
    };
    let description = field.description.clone();
    view! {
        <details class="fold" on:toggle=move |_| is_open.set(true)>
            <summary>
                <span class="name">{field.key.clone()}</span> {set} {wrong}
                <span class="text-3 truncate min-w-0 font-normal">{description}</span>
            </summary>
            <div class="form-inside pt-3">
                {move || is_open.get().then(|| fields.with_value(|fields| show_fields(fields, context)))}
            </div>
        </details>
    }
    .into_any()
}

fn count_leaves(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.values().map(count_leaves).sum(),
        _ => 1,
    }
}

/// One value: label, control, the button that removes it, description and findings.
fn show_field(field: &ValuesField, with_path: bool, context: ValuesFieldContext) -> AnyView {
    let id = field_id(&field.path);
    let notes = format!("{id}-notes");
    let path = StoredValue::new(field.path.clone());
    let label =
        if with_path { field.path.trim_start_matches('/').replace('/', ".") } else { field.key.clone() };
    let reset_label = format!("Use default of {label}");
    let reset = move || {
        let label = reset_label.clone();
        path.with_value(|path| context.text.is_set(path)).then(|| {
            view! {
                <button class="btn btn-sm btn-quiet" type="button" aria-label=label
                    on:click=move |_| path.with_value(|path| context.text.unset(path))>
                    "Use default"
                </button>
            }
        })
    };
    let found = Memo::new(move |_| {
        let path = path.with_value(|path| format!("/source/values{path}"));
        context.findings.with(|all| all.iter().filter(|one| one.path == path).cloned().collect::<Vec<_>>())
    });
    let control = show_control(field, &id, context.text);
    view! {
        <div class="field">
            <div class="flex items-center justify-between gap-3">
                <label class="field-label name" for=id>
                    {label}
                    {field.is_required.then(|| view! { <span class="meta font-normal">" required"</span> })}
                </label>
                {reset}
            </div>
            {control}
            <div id=notes>
                {(!field.description.is_empty()).then(|| view! { <p class="field-help">{field.description.clone()}</p> })}
                {move || found.get().into_iter().map(show_finding).collect_view()}
            </div>
        </div>
    }
    .into_any()
}

fn show_finding(finding: Finding) -> AnyView {
    let look = StatusStyle::from_severity(finding.severity);
    view! {
        <p class=format!("field-message {}", look.hue)>
            {icon(look.icon)}
            <span><b class="code">{finding.code}</b> {format!(" {} {}", finding.message, finding.hint)}</span>
        </p>
    }
    .into_any()
}

/// An HTML id for a path; distinct paths have distinct ids.
fn field_id(path: &str) -> String {
    let mut id = "value".to_owned();
    for c in path.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => id.push(c),
            '/' => id.push('-'),
            c => id.push_str(&format!("_{:x}_", u32::from(c))),
        }
    }
    id
}

fn show_control(field: &ValuesField, id: &str, text: ValuesText) -> AnyView {
    match &field.kind {
        FieldKind::Boolean => {
            let options = [Value::Bool(true), Value::Bool(false)];
            select(field, id, &options, text)
        }
        FieldKind::Choice { options } => select(field, id, options, text),
        FieldKind::Number { .. } => input(field, id, text, "decimal", parse_number),
        FieldKind::Text => input(field, id, text, "text", |typed| Value::from(typed)),
        FieldKind::Scalar => input(field, id, text, "text", parse_scalar),
        FieldKind::List => area(field, id, text, join_lines, |typed| {
            Ok(Value::from(typed.lines().map(parse_scalar).collect::<Vec<_>>()))
        }),
        FieldKind::Yaml | FieldKind::Section { .. } => area(field, id, text, yaml_value::write, |typed| {
            yaml_value::read(typed).map(Option::unwrap_or_default).map_err(|finding| finding.message)
        }),
    }
}

/// A number, or the text as it is: the schema's finding says what is wrong.
fn parse_number(typed: &str) -> Value {
    let typed = typed.trim();
    match typed.parse::<i64>() {
        Ok(number) => Value::from(number),
        Err(_) => {
            let number = typed.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            number.map_or_else(|| Value::from(typed), Value::Number)
        }
    }
}

/// A text, a number or a boolean, as YAML reads it.
fn parse_scalar(typed: &str) -> Value {
    match yaml_value::read(typed) {
        Ok(Some(value)) if !value.is_object() && !value.is_array() && !value.is_null() => value,
        _ => Value::from(typed),
    }
}

fn join_lines(value: &Value) -> String {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| format_scalar(Some(item))).collect::<Vec<_>>().join("\n")
}

/// A select whose first option is the default.
fn select(field: &ValuesField, id: &str, options: &[Value], text: ValuesText) -> AnyView {
    let path = StoredValue::new(field.path.clone());
    let options = StoredValue::new(options.to_vec());
    let default = match &field.default {
        Some(value) => match format_scalar(Some(value)) {
            empty if empty.is_empty() => "Default (empty)".to_owned(),
            default => format!("Default ({default})"),
        },
        None => "Not set".to_owned(),
    };
    let shown = Signal::derive(move || {
        let value = path.with_value(|path| text.value(path));
        let at = options.with_value(|options| options.iter().position(|one| Some(one) == value.as_ref()));
        match (at, value) {
            (Some(at), _) => at.to_string(),
            (None, None) => String::new(),
            (None, Some(_)) => "other".to_owned(),
        }
    });
    let choose = move |chosen: String| {
        let value = chosen.parse::<usize>().ok();
        let value = value.and_then(|at| options.with_value(|options| options.get(at).cloned()));
        path.with_value(|path| match (value, chosen.as_str()) {
            (Some(value), _) => text.set(path, &value),
            (None, "") => text.unset(path),
            (None, _) => {}
        });
    };
    let begin = shown.get_untracked();
    let items = options.with_value(|options| {
        let one = |(at, value): (usize, &Value)| {
            let at = at.to_string();
            let selected = at == begin;
            view! { <option value=at selected=selected>{format_scalar(Some(value))}</option> }
        };
        options.iter().enumerate().map(one).collect_view()
    });
    // A value that is none of the options stays until another one is chosen.
    let other = move || {
        (shown.get() == "other")
            .then(|| view! { <option value="other">"Another value, in the YAML"</option> })
    };
    view! {
        <select class="select" id=id.to_owned() prop:value=shown aria-describedby=format!("{id}-notes")
            on:change=move |ev| choose(event_target_value(&ev))>
            <option value="">{default}</option>
            {items}
            {other}
        </select>
    }
    .into_any()
}

/// An input whose placeholder is the default. It is emptied to use the default.
fn input(
    field: &ValuesField,
    id: &str,
    text: ValuesText,
    mode: &'static str,
    parse: fn(&str) -> Value,
) -> AnyView {
    let path = StoredValue::new(field.path.clone());
    let shown = Signal::derive(move || path.with_value(|path| text.scalar(path)));
    view! {
        <input class="input input-mono" id=id.to_owned() placeholder=format_scalar(field.default.as_ref()) inputmode=mode
            value=shown.get_untracked() prop:value=shown aria-describedby=format!("{id}-notes") autocomplete="off" autocapitalize="off" spellcheck="false"
            on:input=move |ev| {
                let typed = event_target_value(&ev);
                if !typed.is_empty() {
                    path.with_value(|path| text.set(path, &parse(&typed)));
                }
            }
            // Removed only when the field is left, so that a value that is typed again keeps its place.
            on:change=move |ev| {
                if event_target_value(&ev).is_empty() {
                    path.with_value(|path| text.unset(path));
                }
            } />
    }
    .into_any()
}

/// A text of several lines, read when the field is left.
fn area(
    field: &ValuesField,
    id: &str,
    text: ValuesText,
    format: fn(&Value) -> String,
    parse: fn(&str) -> Result<Value, String>,
) -> AnyView {
    let path = StoredValue::new(field.path.clone());
    let default = field.default.as_ref().filter(|value| !value.is_null()).map(format).unwrap_or_default();
    let rejected = RwSignal::new(None::<String>);
    let shown = Signal::derive(move || {
        path.with_value(|path| text.value(path)).as_ref().map(format).unwrap_or_default()
    });
    let rows = shown.get_untracked().lines().count().max(default.lines().count()).clamp(1, 8);
    let change = move |typed: String| {
        rejected.set(None);
        path.with_value(|path| match typed.trim() {
            "" => text.unset(path),
            _ => match parse(&typed) {
                Ok(value) => text.set(path, &value),
                Err(why) => rejected.set(Some(why)),
            },
        });
    };
    view! {
        <textarea class="textarea input-mono min-h-0" id=id.to_owned() rows=rows.to_string() placeholder=default prop:value=shown
            aria-describedby=format!("{id}-notes") autocomplete="off" autocapitalize="off" spellcheck="false"
            on:change=move |ev| change(event_target_value(&ev))></textarea>
        {move || rejected.get().map(|why| view! { <p class="field-message hue-degraded" role="status">{icon("error")} <span>"Not taken over: " {why}</span></p> })}
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_typed_keeps_its_type() {
        assert_eq!(parse_number("3"), json!(3));
        assert_eq!(parse_number("0.5"), json!(0.5));
        assert_eq!(parse_number("three"), json!("three"));
        assert_eq!(
            [parse_scalar("80"), parse_scalar("http"), parse_scalar("{a")],
            [json!(80), json!("http"), json!("{a")]
        );
        assert_eq!(join_lines(&json!(["-v", 2])), "-v\n2");
    }

    #[test]
    fn distinct_paths_have_distinct_ids() {
        assert_eq!(field_id("/a/b"), "value-a-b");
        assert_ne!(field_id("/a.b"), field_id("/a-b"));
        assert_ne!(field_id("/a-b"), field_id("/a/b"));
    }

    #[test]
    fn a_search_finds_values_at_every_level() {
        let form = ValuesForm::build(
            &json!({"image": {"tag": "", "pull": ""}, "replicas": 1}),
            None,
            &Default::default(),
        );
        let paths = |words: &str| {
            let found = collect_leaves(&form.fields, &|field: &ValuesField| field.matches(words));
            found.into_iter().map(|field| field.path).collect::<Vec<_>>()
        };
        assert_eq!(paths("image"), ["/image/tag", "/image/pull"]);
        assert_eq!(paths("tag"), ["/image/tag"]);
    }
}
