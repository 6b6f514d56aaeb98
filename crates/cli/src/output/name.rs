//! `-o name`: the names of what is printed, one a line, as commands take them.

use serde_json::Value;

use super::sanitize;
use crate::failure::Failure;

/// The fields by which commands name an object of the API; the first that it has.
const NAME_FIELDS: [&str; 3] = ["name", "chart", "id"];

/// The names of a list, of a page of a list, or of one object.
///
/// # Errors
/// Something in it has no name.
pub fn list_names(value: &Value) -> Result<String, Failure> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        object => match object.get("items") {
            Some(Value::Array(items)) => items.as_slice(),
            _ => std::slice::from_ref(value),
        },
    };
    items.iter().map(|item| Ok(name_of(item)? + "\n")).collect()
}

fn name_of(item: &Value) -> Result<String, Failure> {
    let mut names = NAME_FIELDS.iter().filter_map(|field| item.get(*field)?.as_str());
    let unnamed = || Failure::usage("This output has no names.", "Use -o json, or -o jsonpath=TEMPLATE.");
    names.next().map(sanitize).ok_or_else(unnamed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_a_page_and_an_object_have_names_and_anything_else_is_an_error() {
        let names = |value: Value| list_names(&value).ok();
        assert_eq!(names(json!([{"name": "web"}, {"name": "api", "id": "01K"}])).unwrap(), "web\napi\n");
        assert_eq!(names(json!({"items": [{"chart": "acme/web"}]})).unwrap(), "acme/web\n");
        assert_eq!(names(json!({"id": "01K"})).unwrap(), "01K\n");
        assert_eq!(names(json!([])).unwrap(), "");
        assert_eq!(names(json!([{"count": 3}])), None);
    }
}
