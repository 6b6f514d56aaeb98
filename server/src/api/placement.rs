//! Questions about placement.

pub mod decision;
pub mod preview;
