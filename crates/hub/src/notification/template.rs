//! The texts of messages by templates: checked when they are saved, evaluated with a budget when a message is sent.

mod grammar;
#[cfg(test)]
mod tests;

use domain::Finding;
use domain::finding::SourceLocation;
use domain::notification::{
    ChannelKind, MAX_TEMPLATE_BYTES, MAX_TEMPLATE_TEXT_BYTES, MessageContent, MessageValues, TEMPLATE_LISTS,
    TEMPLATE_TEXTS, escape_slack,
};
use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, Output, State, UndefinedBehavior};

use grammar::{TemplateFault, check_grammar};

/// Most steps of an evaluation. Every 64 bytes that it writes or makes are a step too, so that this bounds its memory.
const MAX_STEPS: u64 = 10_000;

/// What is wrong with a template: its place and the cause. It is evaluated for the sample messages.
pub(super) fn check_template(kind: ChannelKind, text: &str, samples: &[MessageContent]) -> Vec<Finding> {
    let render = |content: &MessageContent| render_template(kind, text, content, "https://example.com").err();
    samples.iter().find_map(render).map(describe_fault).into_iter().collect()
}

/// The fault of a template that is not stored.
pub(super) fn describe_fault(fault: TemplateFault) -> Finding {
    let TemplateFault { line, message } = fault;
    let location = SourceLocation {
        file: "template".to_owned(),
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: 1,
    };
    let message = format!("Line {line} of the template: {message}");
    let hint = "Correct the template; docs/incidents.md lists what it may contain. Nothing was stored.";
    Finding::error("Template", message, hint).with_path("/template").with_location(Some(location))
}

/// The text of a template for a message, with the values escaped for the receiver.
///
/// # Errors
/// The template is not valid, needs more steps than a template may, or makes a text that is too long.
pub(super) fn render_template(
    kind: ChannelKind,
    text: &str,
    content: &MessageContent,
    link: &str,
) -> Result<String, TemplateFault> {
    if text.len() > MAX_TEMPLATE_BYTES {
        let message = format!("It has {} bytes, more than {MAX_TEMPLATE_BYTES}.", text.len());
        return Err(TemplateFault { line: 1, message });
    }
    // Also at evaluation: one that another version of the server stored can contain more.
    check_grammar(text)?;
    let environment = create_environment(kind);
    let template = environment.template_from_str(text).map_err(|error| to_fault(&error))?;
    let values = MessageValues::of_message(content, link);
    let texts = TEMPLATE_TEXTS.into_iter().zip(values.texts.into_iter().map(Value::from));
    let lists = values.lists.into_iter().map(|items| items.into_iter().collect::<Value>());
    let context = Value::from_pairs(texts.chain(TEMPLATE_LISTS.into_iter().zip(lists)));
    let rendered = template.render(context).map_err(|error| to_fault(&error))?;
    if rendered.len() > MAX_TEMPLATE_TEXT_BYTES {
        let message = format!("Its text has {} bytes, more than {MAX_TEMPLATE_TEXT_BYTES}.", rendered.len());
        return Err(TemplateFault { line: 1, message });
    }
    Ok(rendered)
}

/// An evaluator without loader, functions and tests, and with the listed filters.
fn create_environment<'t>(kind: ChannelKind) -> Environment<'t> {
    let mut environment = Environment::empty();
    environment.set_fuel(Some(MAX_STEPS));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("upper", |text: String| text.to_uppercase());
    environment.add_filter("lower", |text: String| text.to_lowercase());
    environment.add_filter("trim", |text: String| text.trim().to_owned());
    environment.add_filter("length", |value: Value| value.len().unwrap_or_default());
    // Slack reads links and mentions in what it is sent. JSON and HTML are escaped where the text becomes a part of them.
    let escape: fn(&str) -> String = if kind == ChannelKind::Slack { escape_slack } else { str::to_owned };
    environment.set_formatter(move |output: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value| {
        output.write_str(&escape(&value.to_string())).map_err(Error::from)
    });
    environment
}

/// What the evaluator reports, without the values that it was about.
fn to_fault(error: &Error) -> TemplateFault {
    let message = match error.kind() {
        ErrorKind::OutOfFuel => format!("It needs more than {MAX_STEPS} steps."),
        kind => format!("It can't be evaluated: {kind}."),
    };
    TemplateFault { line: error.line().unwrap_or(1), message }
}
