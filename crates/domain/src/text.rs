//! What a user writes, and the findings that report a problem at its position.

pub mod api_message;
pub mod bounded_json;
pub mod finding;
pub mod manifest;
pub mod message_redactor;
pub mod name_check;
pub mod name_list;
pub mod null_character;
pub(crate) mod object_name;
pub mod schema;
pub(crate) mod secret_name;
pub mod secret_text;
pub mod secret_values;
pub mod source_file;
pub mod strict_input;
pub mod template;
pub mod yaml_edit;
