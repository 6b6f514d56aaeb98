//! `-o jsonpath=TEMPLATE`: text with expressions in braces, as in kubectl. A path is one of RFC 9535 without its `$`.

use std::fmt::Write as _;

use jsonpath_rust::JsonPath;
use jsonpath_rust::parser::parse_json_path;
use serde_json::Value;

/// A parsed template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPathTemplate(Vec<TemplatePart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    /// A path from the current value, as RFC 9535 writes it.
    Path(String),
    /// For every value at the path, the parts.
    Range(String, Vec<TemplatePart>),
}

impl JsonPathTemplate {
    /// Reads a template such as `{.name}` or `{range .items[*]}{.name}{"\n"}{end}`; a text without braces is one path.
    ///
    /// # Errors
    /// A brace is not closed, a range has no end, or a path is not valid or searches what a search has found; the position is named.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("write a template, such as jsonpath='{.items[*].name}'".to_owned());
        }
        let wrapped = format!("{{{text}}}");
        let text = if text.contains('{') { text } else { &wrapped };
        let mut reader = TemplateReader { text, at: 0, searches: 0 };
        let parts = reader.read_parts(None)?;
        Ok(Self(parts))
    }

    /// The text for a value. Several values of a path are separated by a space; a path without a value is nothing.
    pub fn render(&self, value: &Value) -> String {
        let mut out = String::new();
        render_parts(&self.0, value, &mut out);
        out
    }
}

struct TemplateReader<'a> {
    text: &'a str,
    at: usize,
    /// How many `..` the paths of the ranges have that are open.
    searches: usize,
}

impl TemplateReader<'_> {
    /// Reads until the end of the text, or of the range that begins at `range`.
    fn read_parts(&mut self, range: Option<usize>) -> Result<Vec<TemplatePart>, String> {
        let mut parts = Vec::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(open) = rest.find('{') else {
                if let Some(at) = range {
                    return Err(format!("the range at character {} has no {{end}}", self.column(at)));
                }
                if !rest.is_empty() {
                    parts.push(TemplatePart::Text(rest.to_owned()));
                }
                return Ok(parts);
            };
            if open > 0 {
                parts.push(TemplatePart::Text(rest[..open].to_owned()));
            }
            let start = self.at + open;
            let expression = self.read_expression(start)?;
            let expression = expression.trim();
            if expression == "end" {
                return match range {
                    Some(_) => Ok(parts),
                    None => Err(format!("{{end}} at character {} ends no range", self.column(start))),
                };
            }
            parts.push(match expression.strip_prefix("range ") {
                Some(path) => {
                    let path = self.to_path(path, start)?;
                    let searches = count_searches(&path);
                    self.searches += searches;
                    let inner = self.read_parts(Some(start))?;
                    self.searches -= searches;
                    TemplatePart::Range(path, inner)
                }
                None if expression.starts_with('"') => self.to_literal(expression, start)?,
                None => TemplatePart::Path(self.to_path(expression, start)?),
            });
        }
    }

    /// The text between the brace at `start` and the one that closes it; braces in quotes belong to the text.
    fn read_expression(&mut self, start: usize) -> Result<String, String> {
        let mut quote = None;
        let mut escaped = false;
        for (at, c) in self.text[start + 1..].char_indices() {
            match (quote, c) {
                _ if escaped => escaped = false,
                (Some(_), '\\') => escaped = true,
                (Some(open), c) if c == open => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, '}') => {
                    self.at = start + 1 + at + 1;
                    return Ok(self.text[start + 1..start + 1 + at].to_owned());
                }
                _ => {}
            }
        }
        Err(format!("the brace at character {} is not closed", self.column(start)))
    }

    fn to_literal(&self, expression: &str, start: usize) -> Result<TemplatePart, String> {
        let text = serde_json::from_str(expression);
        text.map(TemplatePart::Text)
            .map_err(|_| format!("{expression} at character {} is no text in quotes", self.column(start)))
    }

    fn to_path(&self, expression: &str, start: usize) -> Result<String, String> {
        let path = expression.trim();
        let path = path.strip_prefix(['$', '@']).unwrap_or(path);
        let path = match path.chars().next() {
            None => "$".to_owned(),
            // kubectl also accepts a dot before a bracket.
            Some('.') if path.starts_with(".[") => format!("${}", &path[1..]),
            Some('.' | '[') => format!("${path}"),
            Some(_) => format!("$.{path}"),
        };
        // Each finds up to all values below each value that the one before has found.
        if self.searches + count_searches(&path) > 1 {
            return Err(format!(
                "{expression:?} at character {} searches with .. what another .. has found; write the path of one of both",
                self.column(start)
            ));
        }
        match parse_json_path(&path) {
            Ok(_) => Ok(path),
            Err(_) => Err(format!(
                "{expression:?} at character {} is no path, such as .items[*].name",
                self.column(start)
            )),
        }
    }

    fn column(&self, at: usize) -> usize {
        self.text[..at].chars().count() + 1
    }
}

/// How many `..` a path has outside of quotes.
fn count_searches(path: &str) -> usize {
    let (mut quote, mut escaped, mut previous, mut count) = (None, false, ' ', 0);
    for c in path.chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '.') if previous == '.' => count += 1,
            (None, _) => {}
        }
        previous = c;
    }
    count
}

fn render_parts(parts: &[TemplatePart], value: &Value, out: &mut String) {
    for part in parts {
        match part {
            TemplatePart::Text(text) => out.push_str(text),
            TemplatePart::Path(path) => {
                let texts: Vec<String> = find(value, path).into_iter().map(format_value).collect();
                out.push_str(&texts.join(" "));
            }
            TemplatePart::Range(path, inner) => {
                for one in find(value, path) {
                    // The path of a range names a list or its items.
                    match one {
                        Value::Array(items) => items.iter().for_each(|item| render_parts(inner, item, out)),
                        one => render_parts(inner, one, out),
                    }
                }
            }
        }
    }
}

/// The values at a path that was parsed before.
fn find<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    value.query(path).unwrap_or_default()
}

fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => {
            let mut text = String::new();
            let _ = write!(text, "{other}");
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render(template: &str) -> String {
        let value = json!({"items": [
            {"name": "web", "counts": {"Healthy": 3}, "labels": {"app.kubernetes.io/name": "web"}},
            {"name": "api", "counts": {"Healthy": 0}, "labels": {}},
        ]});
        JsonPathTemplate::parse(template).unwrap().render(&value)
    }

    #[test]
    fn a_path_searches_once_so_that_its_time_is_bounded() {
        assert_eq!(render("{..name}"), "web api");
        assert_eq!(render("{..name}, {..Healthy}"), "web api, 3 0");
        assert_eq!(render("{.items[?(@.name=='a..b..c')].name}"), "");
        for template in [
            "{..*..*}",
            "{..*..name}",
            r"{['a\\']..*..*}",
            "{range ..*}{..name}{end}",
            "{range ..*}{range .a}{..b}{end}{end}",
        ] {
            let error = JsonPathTemplate::parse(template).unwrap_err();
            assert!(error.contains("searches with .."), "{template}: {error}");
        }
    }

    #[test]
    fn a_template_of_kubectl_prints_the_same() {
        for (template, expected) in [
            ("{.items[*].name}", "web api"),
            ("{.items[0].name}", "web"),
            ("{.items[0].counts}", "{\"Healthy\":3}"),
            ("{range .items[*]}{.name}={.counts.Healthy}{\"\\n\"}{end}", "web=3\napi=0\n"),
            ("{range .items}{@.name},{end}", "web,api,"),
            ("{.items[?(@.counts.Healthy==0)].name}", "api"),
            ("{.items[0].labels['app.kubernetes.io/name']}", "web"),
            ("{.none}", ""),
            ("first: {$.items[0].name}.", "first: web."),
            (".items[1].name", "api"),
            ("{range .[*]}{.name},{end}", "web,api,"),
        ] {
            assert_eq!(render(template), expected, "{template}");
        }
    }

    #[test]
    fn a_template_that_is_not_valid_is_rejected_with_its_position() {
        for (template, reason) in [
            ("", "write a template"),
            ("{.name", "the brace at character 1 is not closed"),
            ("ä{.items[}", "at character 2 is no path"),
            ("{range .items[*]}{.name}", "the range at character 1 has no {end}"),
            ("{.name}{end}", "{end} at character 8 ends no range"),
        ] {
            let error = JsonPathTemplate::parse(template).unwrap_err();
            assert!(error.contains(reason), "{template}: {error}");
        }
    }
}
