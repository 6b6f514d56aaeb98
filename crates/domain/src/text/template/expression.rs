//! Parser of expressions: the text between `${{` and `}}`.

use super::variable::{ROOTS, Variable};
use crate::kubernetes::nearest::find_nearest;

/// What an expression begins with in a text.
pub(super) const OPEN: &str = "${{";

/// A variable and its filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expression {
    pub variable: Variable,
    pub filters: Vec<ExpressionFilter>,
}

/// A filter of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpressionFilter {
    /// The value if the variable is not known.
    Default(String),
    /// Writes every item of a list into this text, in place of `{}`.
    Map(String),
    /// Joins a list into one text.
    Join(String),
    /// Converts a text into an integer.
    Int,
    /// Converts to lower case, for names.
    Lower,
}

const FILTERS: [&str; 5] = ["default", "map", "join", "int", "lower"];

/// The part of the text of the filter `map` that an item replaces.
pub(super) const ITEM: &str = "{}";

/// Error: the text is not a valid expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidExpression {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

fn invalid(message: impl Into<String>, hint: impl Into<String>) -> InvalidExpression {
    InvalidExpression { message: message.into(), hint: hint.into() }
}

/// Parses an expression; `None` if it belongs to another tool.
pub(super) fn parse(inner: &str) -> Option<Result<Expression, InvalidExpression>> {
    let trimmed = inner.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(trimmed.len());
    ROOTS.contains(&&trimmed[..end]).then(|| ExpressionParser { rest: trimmed }.parse_expression())
}

/// The nearest root for an expression with an unknown root.
pub(super) fn suggest_root(inner: &str) -> Option<&'static str> {
    let trimmed = inner.trim();
    let end = trimmed.find('.').unwrap_or(0);
    find_nearest(&trimmed[..end], ROOTS)
}

struct ExpressionParser<'a> {
    rest: &'a str,
}

impl<'a> ExpressionParser<'a> {
    fn parse_expression(&mut self) -> Result<Expression, InvalidExpression> {
        let variable = self.parse_variable()?;
        let mut filters = Vec::new();
        while self.consume("|") {
            filters.push(self.parse_filter()?);
        }
        self.skip_space();
        if self.rest.is_empty() {
            return Ok(Expression { variable, filters });
        }
        let shown: String = self.rest.chars().take(20).collect();
        Err(invalid(
            format!("{shown:?} is not allowed here."),
            "Write a variable and filters after \"|\": cluster.labels.size | default(\"3\") | int.",
        ))
    }

    fn parse_variable(&mut self) -> Result<Variable, InvalidExpression> {
        let mut parts = vec![self.parse_word()];
        loop {
            if self.consume(".") {
                parts.push(self.parse_word());
            } else if self.consume("[") {
                parts.push(self.parse_quoted()?);
                if !self.consume("]") {
                    return Err(invalid(
                        "A \"[\" is not closed.",
                        "Write cluster.labels[\"example.com/key\"].",
                    ));
                }
            } else {
                break;
            }
        }
        Variable::parse(&parts).map_err(|meant| {
            let hint = meant.map_or_else(
                || "Use cluster.name, cluster.labels.KEY, fleet.targets or another variable from docs/templates.md.".to_owned(),
                |name| format!("Did you mean {name}?"),
            );
            invalid(format!("There is no variable {}.", parts.join(".")), hint)
        })
    }

    fn parse_filter(&mut self) -> Result<ExpressionFilter, InvalidExpression> {
        self.skip_space();
        let name = self.parse_word();
        match name {
            "default" => self.parse_argument().map(ExpressionFilter::Default),
            "map" => match self.parse_argument()? {
                text if text.contains(ITEM) => Ok(ExpressionFilter::Map(text)),
                _ => Err(invalid(
                    "The text of map has no {} for the item.",
                    "Write map(\"db-{}.example.com\").",
                )),
            },
            "join" => self.parse_argument().map(ExpressionFilter::Join),
            "int" => Ok(ExpressionFilter::Int),
            "lower" => Ok(ExpressionFilter::Lower),
            _ => {
                let meant = find_nearest(name, FILTERS);
                let hint = meant.map_or_else(
                    || format!("The filters are {}.", FILTERS.join(", ")),
                    |meant| format!("Did you mean {meant}?"),
                );
                Err(invalid(format!("There is no filter {name:?}."), hint))
            }
        }
    }

    fn parse_argument(&mut self) -> Result<String, InvalidExpression> {
        let open = || {
            invalid(
                "The filter needs a quoted text in parentheses.",
                "Write default(\"eu\"), map(\"db-{}\") or join(\",\").",
            )
        };
        if !self.consume("(") {
            return Err(open());
        }
        let text = self.parse_quoted()?.to_owned();
        if self.consume(")") { Ok(text) } else { Err(open()) }
    }

    fn parse_quoted(&mut self) -> Result<&'a str, InvalidExpression> {
        self.skip_space();
        let unquoted = || invalid("A text needs quotes around it.", "Write it as \"eu\" or 'eu'.");
        let quote = self.rest.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or_else(unquoted)?;
        let end = self.rest[1..].find(quote).ok_or_else(unquoted)?;
        let text = &self.rest[1..=end];
        self.rest = &self.rest[end + 2..];
        Ok(text)
    }

    /// Letters, digits, `_` and `-`; may be empty.
    fn parse_word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn consume(&mut self, token: &str) -> bool {
        let ahead = self.rest.trim_start();
        let found = ahead.strip_prefix(token);
        if let Some(rest) = found {
            self.rest = rest;
        }
        found.is_some()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }
}
