//! The commands, one file each: a file declares the arguments of its command and runs it.

pub mod apply;
pub mod chart;
pub mod cluster;
pub mod completion;
pub mod context;
pub mod delete;
pub mod diagnose;
pub mod events;
pub mod explain;
pub mod get;
pub mod git;
pub mod group;
pub mod history;
pub mod login;
pub mod operation;
pub mod plan;
pub mod publish;
pub mod retain;
pub mod rollback;
pub mod rollout;
pub mod status;
pub mod sync;
pub mod unpublish;
pub mod validate;
pub mod values;
pub mod version;
