//! Finds the object that an unknown field belongs to: a frequent mistake is wrong indentation.

use super::path_step::{FieldPathStep, format_path};
use super::position::SchemaPosition;
use super::{ObjectType, Schema, ValueType};

/// Maximum number of levels searched below the object.
const MAX_DEPTH: usize = 4;
/// Maximum number of fields visited.
const MAX_VISITED: usize = 400;

/// The object of the kind that has this field: the nearest enclosing one, else the shallowest one below. `None` if there is
/// none, or if several are equally deep.
pub(super) fn find_owner(position: &SchemaPosition<'_>, object: &ObjectType, field: &str) -> Option<String> {
    let above = position.enclosing.iter().rev().find(|(_, above)| above.fields.contains_key(field));
    if let Some((steps, _)) = above {
        return Some(match steps {
            0 => "the object itself".to_owned(),
            _ => format_path(&position.steps[..*steps]),
        });
    }
    let mut level: Vec<(Vec<FieldPathStep<'_>>, &ObjectType)> = vec![(position.steps.clone(), object)];
    let mut visited = 0;
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for (steps, object) in &level {
            for (name, field) in &object.fields {
                visited += 1;
                let mut steps = steps.clone();
                steps.push(FieldPathStep::Key(name));
                next.extend(nested_object(position.schema, &field.value_type, steps));
            }
        }
        let mut found = next.iter().filter(|(_, object)| object.fields.contains_key(field));
        match (found.next(), found.next()) {
            (Some((steps, _)), None) => return Some(format_path(steps)),
            (None, _) if visited < MAX_VISITED => level = next,
            _ => return None,
        }
    }
    None
}

/// The object type of a field, or of the items of a list field.
fn nested_object<'a>(
    schema: &'a Schema,
    of: &'a ValueType,
    mut steps: Vec<FieldPathStep<'a>>,
) -> Option<(Vec<FieldPathStep<'a>>, &'a ObjectType)> {
    match schema.resolve(of) {
        ValueType::Object(object) => Some((steps, object)),
        ValueType::List(list) => match schema.resolve(&list.item) {
            ValueType::Object(object) => {
                steps.push(FieldPathStep::Each);
                Some((steps, object))
            }
            _ => None,
        },
        _ => None,
    }
}
