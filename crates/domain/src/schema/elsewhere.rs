//! Where a field belongs that stands at the wrong depth: the slip of who indents by hand.

use super::check::Walk;
use super::step::{Step, shown};
use super::{Object, Schema, Type};

/// How deep below its place a field is looked for.
const DEEPEST: usize = 4;
/// Most types that are looked at.
const MOST: usize = 400;

/// The one place of the kind where this field belongs: the nearest object around its place that has such a field, or the
/// shallowest below. `None` if there is none, or if two are as near.
pub(super) fn find(walk: &Walk<'_>, object: &Object, field: &str) -> Option<String> {
    let above = walk.above.iter().rev().find(|(_, above)| above.fields.contains_key(field));
    if let Some((steps, _)) = above {
        return Some(match steps {
            0 => "the object itself".to_owned(),
            _ => shown(&walk.steps[..*steps]),
        });
    }
    let mut level: Vec<(Vec<Step<'_>>, &Object)> = vec![(walk.steps.clone(), object)];
    let mut looked = 0;
    for _ in 0..DEEPEST {
        let mut next = Vec::new();
        for (steps, object) in &level {
            for (name, field) in &object.fields {
                looked += 1;
                let mut steps = steps.clone();
                steps.push(Step::Key(name));
                next.extend(inside(walk.schema, &field.of, steps));
            }
        }
        let mut homes = next.iter().filter(|(_, object)| object.fields.contains_key(field));
        match (homes.next(), homes.next()) {
            (Some((steps, _)), None) => return Some(shown(steps)),
            (None, _) if looked < MOST => level = next,
            _ => return None,
        }
    }
    None
}

/// The object that a type is, or that its items are.
fn inside<'a>(
    schema: &'a Schema,
    of: &'a Type,
    mut steps: Vec<Step<'a>>,
) -> Option<(Vec<Step<'a>>, &'a Object)> {
    match schema.resolve(of) {
        Type::Object(object) => Some((steps, object)),
        Type::List(list) => match schema.resolve(&list.item) {
            Type::Object(object) => {
                steps.push(Step::Each);
                Some((steps, object))
            }
            _ => None,
        },
        _ => None,
    }
}
