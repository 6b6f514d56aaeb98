//! Text representations: tolerations, and the placement as YAML.

use domain::Finding;
use domain::cluster::TaintEffect;
use domain::manifest::yaml_value;
use domain::placement::{INVALID_GROUP, Placement, Toleration, TolerationOperator};
use domain::strict_input;

use crate::parsing::parse_text;

/// Parses a taint effect.
fn parse_effect(word: &str) -> Option<TaintEffect> {
    TaintEffect::ALL.iter().copied().find(|effect| effect.as_str() == word)
}

pub(super) fn parse_toleration(text: &str) -> Result<Toleration, Finding> {
    let (rest, effect) = match text.rsplit_once(':') {
        Some((rest, word)) => {
            let why = || {
                field_finding(
                    "tolerations",
                    format!("{word:?} is not a taint effect."),
                    "Write NoSelect, PreferNoSelect or NoSelectIfNew.",
                )
            };
            (rest, Some(parse_effect(word).ok_or_else(why)?))
        }
        None => (text, None),
    };
    Ok(match rest.split_once('=') {
        Some((key, value)) => Toleration {
            key: key.to_owned(),
            operator: TolerationOperator::Equal,
            value: value.to_owned(),
            effect,
        },
        None => {
            let key = if rest == "*" { String::new() } else { rest.to_owned() };
            Toleration { key, operator: TolerationOperator::Exists, value: String::new(), effect }
        }
    })
}

pub(super) fn format_toleration(toleration: &Toleration) -> String {
    let key = if toleration.key.is_empty() { "*" } else { &toleration.key };
    let value = match toleration.operator {
        TolerationOperator::Equal => format!("={}", toleration.value),
        TolerationOperator::Exists => String::new(),
    };
    let effect = toleration.effect.map(|effect| format!(":{}", effect.as_str())).unwrap_or_default();
    format!("{key}{value}{effect}")
}

/// Formats a placement as YAML.
pub fn to_yaml(placement: &Placement) -> String {
    serde_json::to_value(placement).map(|value| yaml_value::write(&value)).unwrap_or_default()
}

pub(super) fn parse_yaml(text: &str) -> Result<Placement, Vec<Finding>> {
    let hint = "Use the placement syntax of the command line, such as predicates: [{names: [eu-1]}].";
    let value = parse_text(|| yaml_value::read(text))
        .map_err(|finding| vec![finding.with_path("/placement/text")])?;
    let Some(value) = value else { return Ok(Placement::default()) };
    strict_input::parse(&value)
        .map_err(|error| vec![field_finding("text", format!("The placement is invalid: {error}."), hint)])
}

/// A finding about a field of the form.
pub(super) fn field_finding(name: &str, message: impl ToString, hint: &str) -> Finding {
    Finding::error(INVALID_GROUP, message.to_string(), hint).with_path(format!("/placement/{name}"))
}
