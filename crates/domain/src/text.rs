//! What a user writes, and the findings that report a problem at its position.

pub mod finding;
pub mod manifest;
pub mod schema;
pub mod template;
pub mod yaml_edit;
