//! A Git repository as the source of a workload: address, policy for new commits, and what is known about the ref.

mod commit;
pub mod fields;
pub mod queries;
pub mod status;
