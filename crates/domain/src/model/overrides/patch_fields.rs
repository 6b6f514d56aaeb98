//! The fields of a patch as they stand in text.
//!
//! One struct instead of a flattened, tagged enum: serde passes the fields of those through untyped buffers, in which
//! [`crate::text::strict_input`] can't find the unknown ones.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{ObjectSelector, Patch, PatchOp};

/// All fields of all operations.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PatchFields {
    #[serde(default)]
    object: ObjectSelector,
    op: PatchOpName,
    path: Option<String>,
    /// `Some(Value::Null)` for an explicit `null`.
    #[serde(default, deserialize_with = "read_present")]
    value: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum PatchOpName {
    Merge,
    Set,
    Remove,
}

fn read_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl TryFrom<PatchFields> for Patch {
    type Error = String;

    fn try_from(fields: PatchFields) -> Result<Self, String> {
        let op = match (fields.op, fields.path, fields.value) {
            (PatchOpName::Merge, None, Some(value)) => PatchOp::Merge { value },
            (PatchOpName::Set, Some(path), Some(value)) => PatchOp::Set { path, value },
            (PatchOpName::Remove, Some(path), None) => PatchOp::Remove { path },
            (PatchOpName::Merge, ..) => {
                return Err("a patch with op merge has a value and no path".to_owned());
            }
            (PatchOpName::Set, ..) => return Err("a patch with op set has a path and a value".to_owned()),
            (PatchOpName::Remove, ..) => {
                return Err("a patch with op remove has a path and no value".to_owned());
            }
        };
        Ok(Self { object: fields.object, op })
    }
}
