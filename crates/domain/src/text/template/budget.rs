//! The budget of template expressions: a filter can make a value longer, and filters follow each other, so that a line of text
//! could produce more than a machine holds. Each result is charged before it is written.

use super::expression::InvalidExpression;

/// Most bytes that one expression produces, the results of all its filters together. The names of 10 000 clusters, mapped and
/// joined, take about 1 MiB.
const MAX_EXPRESSION_BYTES: usize = 2 << 20;
/// Most bytes that the expressions of one object produce. An API server stores at most 1.5 MiB.
const MAX_OBJECT_BYTES: usize = 4 << 20;
/// Most bytes that the expressions of one bundle produce; the bundle itself has a lower limit (G111).
const MAX_BUNDLE_BYTES: usize = 16 << 20;
/// What every item of a list costs beside its text, so that many empty items are not free.
const ITEM_COST: usize = 16;

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
        Self {
            bundle: MAX_BUNDLE_BYTES,
            object: MAX_OBJECT_BYTES,
            expression: MAX_EXPRESSION_BYTES,
            is_exceeded: false,
            object_errors: [0; 3],
            bundle_errors: [0; 3],
        }
    }
}

impl TemplateBudget {
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
        let levels = [
            (&mut self.expression, "The expression", MAX_EXPRESSION_BYTES),
            (&mut self.object, "The expressions of this object", MAX_OBJECT_BYTES),
            (&mut self.bundle, "The expressions of the workload", MAX_BUNDLE_BYTES),
        ];
        for (left, subject, limit) in levels {
            let Some(rest) = left.checked_sub(cost) else {
                *left = 0;
                self.is_exceeded |= limit == MAX_BUNDLE_BYTES;
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
