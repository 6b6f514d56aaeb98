//! The position in an object while it is checked.

use super::path_step::FieldPathStep;
use super::{ObjectType, Schema};

/// The position of a check: the path from the object to the current value, and the types on it.
pub(super) struct SchemaPosition<'a> {
    pub schema: &'a Schema,
    pub steps: Vec<FieldPathStep<'a>>,
    /// The types of the enclosing objects, each with the number of steps to it.
    pub enclosing: Vec<(usize, &'a ObjectType)>,
}

impl<'a> SchemaPosition<'a> {
    /// The position of the object itself.
    pub fn new(schema: &'a Schema) -> Self {
        Self { schema, steps: Vec::new(), enclosing: Vec::new() }
    }
}
