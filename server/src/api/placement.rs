//! Operations on placements.

pub mod decision;
pub mod preview;
