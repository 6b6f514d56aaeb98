//! Where a compared value is.

use serde_json::Value;

use super::fields::FieldContext;
use crate::kubernetes::field_path::{FieldPath, PathSegment};
use crate::kubernetes::managed_fields::FieldOwners;

/// The position of a value in a desired and in a live object.
pub(super) struct FieldPosition<'a> {
    pub path: FieldPath,
    /// What its field means; for a list item, that of the list.
    pub context: FieldContext<'a>,
    /// Who owns it in the live object.
    pub owners: FieldOwners<'a>,
}

impl<'a> FieldPosition<'a> {
    /// The whole object.
    pub fn root(kind: &'a str, live: &'a Value) -> Self {
        Self {
            path: FieldPath::default(),
            context: FieldContext::root(kind),
            owners: FieldOwners::of_object(live),
        }
    }

    /// A field of a map here.
    pub fn field<'f>(&self, field: &'f str) -> FieldPosition<'f>
    where
        'a: 'f,
    {
        let segment = PathSegment::Key(field.to_owned());
        FieldPosition { context: self.context.child(field), ..self.item(segment) }
    }

    /// An item of a list here.
    pub fn item(&self, segment: PathSegment) -> Self {
        let owners = self.owners.child(&segment);
        Self { path: self.path.with_segment(segment), context: self.context, owners }
    }
}
