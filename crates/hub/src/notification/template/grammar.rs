//! What a template may contain: variables with filters, conditions, and one level of loops over the lists. The evaluator's language is
//! larger, and is charged for what it makes. This part of it is closed: nothing makes a value from others, a name that does not exist is
//! found in branches too that no sample takes, and nothing is nested deeply, because the evaluator's parser and compiler call themselves
//! for each level.

use domain::notification::{TEMPLATE_FILTERS, TEMPLATE_LISTS, TEMPLATE_TEXTS};

/// Most filters of a variable, parts of a condition, blocks inside each other, and `elif` of a template.
const MAX_NESTING: usize = 32;
/// The fields of `loop`.
const LOOP_FIELDS: [&str; 3] = ["index", "first", "last"];
/// Words that are no names of an item.
const RESERVED: [&str; 14] = [
    "and", "else", "elif", "endfor", "endif", "false", "for", "if", "in", "is", "loop", "none", "not", "true",
];

/// What is not allowed, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::notification) struct TemplateFault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, as a sentence.
    pub message: String,
}

/// A word or sign inside a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TemplateToken<'t> {
    Name(&'t str),
    /// A text in quotes.
    Literal,
    Dot,
    Pipe,
    /// `==` or `!=`.
    Comparison,
}

use TemplateToken::{Comparison, Dot, Literal, Name, Pipe};

/// Checks a template.
///
/// # Errors
/// It contains something else than what is allowed: the first such place.
pub(super) fn check_grammar(text: &str) -> Result<(), TemplateFault> {
    let mut reader = GrammarReader { open: Vec::new(), elifs: 0 };
    let (mut rest, mut line) = (text, 1);
    while let Some(at) = rest.find('{') {
        let (before, tail) = rest.split_at(at);
        line += count_lines(before);
        let fault = |message: String| TemplateFault { line, message };
        let close = match tail.as_bytes().get(1) {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            Some(b'#') => "#}",
            _ => {
                rest = &tail[1..];
                continue;
            }
        };
        let Some((inner, after)) = tail[2..].split_once(close) else {
            return Err(fault(format!("{:?} is not closed with {close:?}.", &tail[..2])));
        };
        match close {
            "}}" => reader.read_output(inner).map_err(fault)?,
            "%}" => reader.read_tag(inner, line).map_err(fault)?,
            _ => {}
        }
        line += count_lines(inner);
        rest = after;
    }
    match reader.open.last() {
        None => Ok(()),
        Some((line, block)) => {
            let message = format!("{{% {} %}} has no {{% end{} %}}.", block.word(), block.word());
            Err(TemplateFault { line: *line, message })
        }
    }
}

fn count_lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// A block that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TemplateBlock<'t> {
    If,
    /// A loop with the name of its item.
    For(&'t str),
}

impl TemplateBlock<'_> {
    const fn word(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::For(_) => "for",
        }
    }
}

/// What was read so far.
struct GrammarReader<'t> {
    /// The open blocks, each with its line.
    open: Vec<(usize, TemplateBlock<'t>)>,
    /// The number of `elif`.
    elifs: usize,
}

impl<'t> GrammarReader<'t> {
    /// Reads `{{ variable | filter }}`.
    fn read_output(&self, inner: &'t str) -> Result<(), String> {
        let tokens = read_tokens(inner)?;
        let mut rest = self.read_path(&tokens)?;
        let mut filters = 0;
        while let [Pipe, Name(filter), after @ ..] = rest {
            filters = count("filters of a variable", filters)?;
            if !TEMPLATE_FILTERS.contains(filter) {
                return Err(format!(
                    "There is no filter {filter}; there are {}.",
                    TEMPLATE_FILTERS.join(", ")
                ));
            }
            rest = after;
        }
        if rest.is_empty() {
            Ok(())
        } else {
            Err("Only variables with filters are allowed here, such as {{ workload | upper }}.".to_owned())
        }
    }

    /// Reads `{% if … %}`, `{% for … %}` and what belongs to them.
    fn read_tag(&mut self, inner: &'t str, line: usize) -> Result<(), String> {
        let tokens = read_tokens(inner)?;
        let last = self.open.last().map(|(_, block)| *block);
        match tokens.as_slice() {
            [Name("if"), condition @ ..] => {
                self.read_condition(condition)?;
                count("blocks inside each other", self.open.len())?;
                self.open.push((line, TemplateBlock::If));
            }
            [Name("elif"), condition @ ..] if last == Some(TemplateBlock::If) => {
                self.read_condition(condition)?;
                self.elifs = count("elif", self.elifs)?;
            }
            [Name("else")] if last == Some(TemplateBlock::If) => {}
            [Name("endif")] if last == Some(TemplateBlock::If) => {
                self.open.pop();
            }
            [Name("endfor")] if matches!(last, Some(TemplateBlock::For(_))) => {
                self.open.pop();
            }
            [Name("for"), Name(item), Name("in"), Name(list)] => {
                if self.item().is_some() {
                    return Err("A loop inside a loop is not allowed.".to_owned());
                }
                if !TEMPLATE_LISTS.contains(list) {
                    return Err(format!("{list} is no list; the lists are {}.", TEMPLATE_LISTS.join(", ")));
                }
                let is_taken =
                    RESERVED.contains(item) || TEMPLATE_TEXTS.contains(item) || TEMPLATE_LISTS.contains(item);
                if is_taken {
                    return Err(format!("{item} is the name of something else: choose another name."));
                }
                count("blocks inside each other", self.open.len())?;
                self.open.push((line, TemplateBlock::For(item)));
            }
            [Name(word @ ("elif" | "else" | "endif" | "endfor")), ..] => {
                return Err(format!("{word} belongs to no open block."));
            }
            _ => {
                return Err(
                    "Only if, elif, else, endif, endfor and for ITEM in LIST are allowed here.".to_owned()
                );
            }
        }
        Ok(())
    }

    /// The name of the item of the open loop.
    fn item(&self) -> Option<&'t str> {
        self.open.iter().find_map(|(_, block)| match block {
            TemplateBlock::For(item) => Some(*item),
            TemplateBlock::If => None,
        })
    }

    /// Reads comparisons with `and` and `or` between them.
    fn read_condition(&self, tokens: &[TemplateToken<'t>]) -> Result<(), String> {
        let mut rest = tokens;
        let mut parts = 0;
        loop {
            parts = count("parts of a condition", parts)?;
            if let [Name("not"), after @ ..] = rest {
                rest = after;
            }
            rest = self.read_path(rest)?;
            if let [Comparison, after @ ..] = rest {
                let [Literal, after @ ..] = after else {
                    return Err("A variable is compared with a text in double quotes only.".to_owned());
                };
                rest = after;
            }
            match rest {
                [] => return Ok(()),
                [Name("and" | "or"), after @ ..] => rest = after,
                _ => {
                    return Err(
                        "A condition is a variable, or one that is compared with a text; between several is and or or."
                            .to_owned(),
                    );
                }
            }
        }
    }

    /// Reads the name of a variable; returns what follows it.
    fn read_path<'s>(&self, tokens: &'s [TemplateToken<'t>]) -> Result<&'s [TemplateToken<'t>], String> {
        match tokens {
            [Name("loop"), Dot, Name(field), rest @ ..] if self.item().is_some() => {
                if LOOP_FIELDS.contains(field) {
                    Ok(rest)
                } else {
                    Err(format!("loop has no {field}; it has {}.", LOOP_FIELDS.join(", ")))
                }
            }
            [Name(name), rest @ ..] => {
                let is_known = TEMPLATE_TEXTS.contains(name)
                    || TEMPLATE_LISTS.contains(name)
                    || self.item() == Some(*name);
                if !is_known {
                    let all: Vec<&str> = TEMPLATE_TEXTS.into_iter().chain(TEMPLATE_LISTS).collect();
                    return Err(format!("There is no variable {name}; there are {}.", all.join(", ")));
                }
                match rest {
                    [Dot, ..] => Err(format!("{name} has no fields.")),
                    _ => Ok(rest),
                }
            }
            _ => Err("The name of a variable is missing.".to_owned()),
        }
    }
}

/// One more than there were.
fn count(what: &str, before: usize) -> Result<usize, String> {
    if before < MAX_NESTING {
        Ok(before + 1)
    } else {
        Err(format!("There are more than {MAX_NESTING} {what}."))
    }
}

/// The words and signs inside a tag, without the `-` and `+` at its ends that remove white space.
fn read_tokens(inner: &str) -> Result<Vec<TemplateToken<'_>>, String> {
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    let mut rest = inner.strip_suffix(['-', '+']).unwrap_or(inner).trim_start();
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (token, after) = if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (Name(&rest[..end]), &rest[end..])
        } else if let Some(after) = rest.strip_prefix("==").or_else(|| rest.strip_prefix("!=")) {
            (Comparison, after)
        } else if let Some(after) = rest.strip_prefix('.') {
            (Dot, after)
        } else if let Some(after) = rest.strip_prefix('|') {
            (Pipe, after)
        } else if let Some(after) = rest.strip_prefix('"') {
            let (literal, after) = after.split_once('"').ok_or("A text has no second double quote.")?;
            if literal.contains(['\\', '{', '}', '%', '#']) {
                return Err("A text in quotes contains none of \\ { } % #.".to_owned());
            }
            (Literal, after)
        } else {
            return Err(format!("{first:?} is not allowed in a tag."));
        };
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}
