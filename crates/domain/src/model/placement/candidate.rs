//! A cluster while a placement is decided.

use super::FilterResult;
use crate::model::cluster::{Cluster, Taint};

/// A cluster during evaluation.
pub(super) struct Candidate<'a> {
    pub cluster: &'a Cluster,
    /// Whether it runs the workload now.
    pub is_current: bool,
    /// Results of the filters evaluated so far.
    pub filters: Vec<FilterResult>,
    /// Number of changes needed for it to be selected; 0 while every filter passed.
    pub needed_changes: u32,
    /// Untolerated `PreferNoSelect` taints.
    pub prefer_no_select_taints: Vec<Taint>,
    /// Weighted sum of its scores; 0 without scores.
    pub score: i64,
}
