//! Terms of Kubernetes and of JSON, and plain values: they know nothing of manifests, workloads and clusters.

pub mod digest;
pub mod field_path;
pub mod id;
pub mod image;
pub mod json_path;
pub mod labels;
pub mod managed_fields;
pub mod name;
pub mod nearest;
pub mod object;
pub mod quantity;
pub mod time;
