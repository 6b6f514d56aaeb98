//! What stands in one text field: tolerations, and the whole placement as YAML.

use domain::Finding;
use domain::cluster::TaintEffect;
use domain::manifest::plain;
use domain::placement::{Placement, Toleration, TolerationOperator};

use super::field;

const EFFECTS: [(TaintEffect, &str); 3] = [
    (TaintEffect::NoSelect, "NoSelect"),
    (TaintEffect::PreferNoSelect, "PreferNoSelect"),
    (TaintEffect::NoSelectIfNew, "NoSelectIfNew"),
];

/// The word of an effect.
pub fn effect_word(effect: TaintEffect) -> &'static str {
    EFFECTS.into_iter().find(|(e, _)| *e == effect).map_or("", |(_, word)| word)
}

/// The effect with this word.
fn effect_of(word: &str) -> Option<TaintEffect> {
    EFFECTS.into_iter().find(|(_, w)| *w == word).map(|(effect, _)| effect)
}

pub(super) fn toleration(text: &str) -> Result<Toleration, Finding> {
    let (rest, effect) = match text.rsplit_once(':') {
        Some((rest, word)) => {
            let why = || {
                field(
                    "tolerations",
                    format!("{word:?} is no taint effect."),
                    "Write NoSelect, PreferNoSelect or NoSelectIfNew.",
                )
            };
            (rest, Some(effect_of(word).ok_or_else(why)?))
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

pub(super) fn written(toleration: &Toleration) -> String {
    let key = if toleration.key.is_empty() { "*" } else { &toleration.key };
    let value = match toleration.operator {
        TolerationOperator::Equal => format!("={}", toleration.value),
        TolerationOperator::Exists => String::new(),
    };
    let effect = toleration.effect.map(|effect| format!(":{}", effect_word(effect))).unwrap_or_default();
    format!("{key}{value}{effect}")
}

/// The placement as YAML.
pub fn in_yaml(placement: &Placement) -> String {
    serde_json::to_value(placement).map(|value| plain::write(&value)).unwrap_or_default()
}

pub(super) fn read(text: &str) -> Result<Placement, Vec<Finding>> {
    let hint = "Write it as the command line shows a placement, such as predicates: [{names: [eu-1]}].";
    let value = plain::read(text).map_err(|finding| vec![finding.at("/placement/text")])?;
    let Some(value) = value else { return Ok(Placement::default()) };
    serde_json::from_value(value)
        .map_err(|error| vec![field("text", format!("This is no placement: {error}."), hint)])
}
