//! The budget of template expressions: a filter can make a value longer, and filters follow each other, so that a line of text
//! could produce more than a machine holds. Each result is charged before it is written.

use super::expression::{InvalidExpression, OPEN};

/// Most bytes that one expression produces, the results of all its filters together. The names of 10 000 clusters, mapped and
/// joined, take about 1 MiB.
const MAX_EXPRESSION_BYTES: usize = 2 << 20;
/// Most bytes that the expressions of one object produce. An API server stores at most 1.5 MiB.
const MAX_OBJECT_BYTES: usize = 4 << 20;
/// Most bytes that the expressions of one bundle produce; the bundle itself has a lower limit (G111).
const MAX_BUNDLE_BYTES: usize = 16 << 20;
/// The same, for who reserves memory for them.
pub const MAX_EXPANSION_BYTES: u64 = MAX_BUNDLE_BYTES as u64;
/// Most bytes that expressions make of the values of a chart for one cluster, in all layers together; the values themselves have a lower
/// limit (G111).
pub const MAX_VALUES_BYTES: usize = 4 << 20;
/// What every item of a list costs beside its text, so that many empty items are not free.
const ITEM_COST: usize = 16;

/// How YAML and JSON write `$` and `{` by their numbers, after a backslash.
const ESCAPED_MARKS: [&str; 6] = ["x24", "u0024", "U00000024", "x7b", "u007b", "U0000007b"];
/// The end of a line after a backslash, in a text and in one within JSON.
const LINE_ENDS: [&[u8]; 4] = [b"\n", b"\r", b"\\\\n", b"\\\\r"];

/// Most errors of one kind that are listed for one object, and for one bundle.
const MAX_OBJECT_ERRORS: usize = 50;
const MAX_BUNDLE_ERRORS: usize = 200;

/// A kind of error. Each is counted alone, because they differ in what they prevent: at least one of each that occurs is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorKind {
    MissingValue,
    Invalid,
    UnknownRoot,
}

/// What the expressions of a bundle may still produce.
#[derive(Debug)]
pub struct TemplateBudget {
    bundle: usize,
    /// What the bundle had at first.
    max_bundle: usize,
    object: usize,
    expression: usize,
    is_exceeded: bool,
    /// Listed errors by kind.
    object_errors: [usize; 3],
    bundle_errors: [usize; 3],
}

impl Default for TemplateBudget {
    /// The budget of a whole bundle.
    fn default() -> Self {
        Self::new(MAX_BUNDLE_BYTES)
    }
}

impl TemplateBudget {
    /// The budget of all layers of the values of a chart.
    pub(crate) fn of_values() -> Self {
        Self::new(MAX_VALUES_BYTES)
    }

    fn new(max_bundle: usize) -> Self {
        Self {
            bundle: max_bundle,
            max_bundle,
            object: MAX_OBJECT_BYTES,
            expression: MAX_EXPRESSION_BYTES,
            is_exceeded: false,
            object_errors: [0; 3],
            bundle_errors: [0; 3],
        }
    }

    /// Begins the next object.
    pub(super) fn begin_object(&mut self) {
        self.object = MAX_OBJECT_BYTES;
        self.object_errors = [0; 3];
    }

    /// Begins the next expression.
    pub(super) fn begin_expression(&mut self) {
        self.expression = MAX_EXPRESSION_BYTES;
    }

    /// Whether the bundle has used its budget: no further expression is evaluated, and the error has been reported.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    /// Counts an error; false if too many of its kind are listed.
    pub(super) fn charge_error(&mut self, kind: ErrorKind) -> bool {
        let at = match kind {
            ErrorKind::MissingValue => 0,
            ErrorKind::Invalid => 1,
            ErrorKind::UnknownRoot => 2,
        };
        if self.object_errors[at] >= MAX_OBJECT_ERRORS || self.bundle_errors[at] >= MAX_BUNDLE_ERRORS {
            return false;
        }
        self.object_errors[at] += 1;
        self.bundle_errors[at] += 1;
        true
    }

    /// Charges a result of `items` texts with `bytes` in sum, before it is written.
    pub(super) fn charge(&mut self, items: usize, bytes: usize) -> Result<(), InvalidExpression> {
        let cost = items.saturating_mul(ITEM_COST).saturating_add(bytes);
        let max_bundle = self.max_bundle;
        let levels = [
            (&mut self.expression, "The expression", MAX_EXPRESSION_BYTES, false),
            (&mut self.object, "The expressions of this object", MAX_OBJECT_BYTES, false),
            (&mut self.bundle, "The expressions of the workload", max_bundle, true),
        ];
        for (left, subject, limit, is_last) in levels {
            let Some(rest) = left.checked_sub(cost) else {
                *left = 0;
                self.is_exceeded |= is_last;
                return Err(InvalidExpression {
                    message: format!("{subject} would produce more than {} MiB.", limit >> 20),
                    hint: "Use fewer filters map(…), or a shorter text in them.".to_owned(),
                });
            };
            *left = rest;
        }
        Ok(())
    }
}

/// What the expressions in a text of manifests produce at most on one cluster, in bytes: nothing without expressions. The text may be a part
/// of JSON. YAML can write the marks of an expression with escapes; those count as an expression that produces as much as is allowed.
pub fn estimate_expansion(text: &[u8]) -> u64 {
    let is_mark = |at: usize| text[at..].starts_with(OPEN.as_bytes()) || is_escaped_mark(text, at);
    let may_have_expression = (0..text.len()).any(|at| matches!(text[at], b'$' | b'\\') && is_mark(at));
    if may_have_expression { MAX_EXPANSION_BYTES } else { 0 }
}

/// Whether the backslash here writes a `$` or a `{` by its number, or continues the line between two marks.
fn is_escaped_mark(text: &[u8], at: usize) -> bool {
    let Some((b'\\', rest)) = text[at..].split_first() else { return false };
    let is_number = |number: &&str| {
        rest.get(..number.len()).is_some_and(|found| found.eq_ignore_ascii_case(number.as_bytes()))
    };
    if ESCAPED_MARKS.iter().any(is_number) {
        return true;
    }
    let is_after_mark = at > 0 && matches!(text[at - 1], b'$' | b'{');
    is_after_mark && LINE_ENDS.iter().any(|end| rest.starts_with(end))
}
