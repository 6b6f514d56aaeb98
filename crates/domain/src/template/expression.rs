//! Reads what stands between `${{` and `}}`.

use super::variable::{ROOTS, Variable};
use crate::nearest::nearest;

/// A variable and what is done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expression {
    pub variable: Variable,
    pub filters: Vec<Filter>,
}

/// What can be done with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Filter {
    /// Stands in while the value is not known.
    Default(String),
    /// Makes one text of a list.
    Join(String),
    /// Makes a whole number of a text.
    Int,
    /// Makes the letters small, for names.
    Lower,
}

const FILTERS: [&str; 4] = ["default", "join", "int", "lower"];

/// Why something is no expression, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadExpression {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

fn bad(message: impl Into<String>, hint: impl Into<String>) -> BadExpression {
    BadExpression { message: message.into(), hint: hint.into() }
}

/// What an expression is, or `None` if it is another tool's.
pub(super) fn read(inner: &str) -> Option<Result<Expression, BadExpression>> {
    let trimmed = inner.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(trimmed.len());
    ROOTS.contains(&&trimmed[..end]).then(|| Reader { rest: trimmed }.expression())
}

/// The root that was probably meant by an expression of nobody we know.
pub(super) fn probable_root(inner: &str) -> Option<&'static str> {
    let trimmed = inner.trim();
    let end = trimmed.find('.').unwrap_or(0);
    nearest(&trimmed[..end], ROOTS)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn expression(&mut self) -> Result<Expression, BadExpression> {
        let variable = self.variable()?;
        let mut filters = Vec::new();
        while self.take("|") {
            filters.push(self.filter()?);
        }
        self.skip_space();
        if self.rest.is_empty() {
            return Ok(Expression { variable, filters });
        }
        let shown: String = self.rest.chars().take(20).collect();
        Err(bad(
            format!("{shown:?} can't stand here."),
            "Write a variable, then filters behind \"|\": cluster.labels.size | default(\"3\") | int.",
        ))
    }

    fn variable(&mut self) -> Result<Variable, BadExpression> {
        let mut parts = vec![self.word()];
        loop {
            if self.take(".") {
                parts.push(self.word());
            } else if self.take("[") {
                parts.push(self.quoted()?);
                if !self.take("]") {
                    return Err(bad("A \"[\" is not closed.", "Write cluster.labels[\"example.com/key\"]."));
                }
            } else {
                break;
            }
        }
        Variable::named(&parts).map_err(|meant| {
            let hint = meant.map_or_else(
                || "There are cluster.name, cluster.labels.KEY, fleet.targets and others: see docs/templates.md.".to_owned(),
                |name| format!("Did you mean {name}?"),
            );
            bad(format!("There is no variable {}.", parts.join(".")), hint)
        })
    }

    fn filter(&mut self) -> Result<Filter, BadExpression> {
        self.skip_space();
        let name = self.word();
        match name {
            "default" => self.argument().map(Filter::Default),
            "join" => self.argument().map(Filter::Join),
            "int" => Ok(Filter::Int),
            "lower" => Ok(Filter::Lower),
            _ => {
                let meant = nearest(name, FILTERS);
                let hint = meant.map_or_else(
                    || format!("There are {}.", FILTERS.join(", ")),
                    |meant| format!("Did you mean {meant}?"),
                );
                Err(bad(format!("There is no filter {name:?}."), hint))
            }
        }
    }

    fn argument(&mut self) -> Result<String, BadExpression> {
        let open = || bad("The filter needs a text in brackets.", "Write default(\"eu\") or join(\",\").");
        if !self.take("(") {
            return Err(open());
        }
        let text = self.quoted()?.to_owned();
        if self.take(")") { Ok(text) } else { Err(open()) }
    }

    fn quoted(&mut self) -> Result<&'a str, BadExpression> {
        self.skip_space();
        let unquoted = || bad("A text needs quotes around it.", "Write it as \"eu\" or 'eu'.");
        let quote = self.rest.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or_else(unquoted)?;
        let end = self.rest[1..].find(quote).ok_or_else(unquoted)?;
        let text = &self.rest[1..=end];
        self.rest = &self.rest[end + 2..];
        Ok(text)
    }

    /// Letters, digits, `_` and `-`; may be empty.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn take(&mut self, token: &str) -> bool {
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
