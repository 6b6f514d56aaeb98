//! The things that Flotilla manages, their states, and the functions that decide about one of them alone.

pub mod action_unavailable;
pub mod api_token;
pub mod bundle;
pub mod chart;
pub mod chart_repository;
pub mod cluster;
pub mod condition;
pub mod event;
pub mod fleet;
pub mod health;
pub mod join;
pub mod overrides;
pub mod page;
pub mod placement;
pub mod policy;
pub mod release;
pub mod report;
pub mod request;
pub mod rollout;
pub mod rollup;
pub mod source;
pub mod values;
pub mod workload;
