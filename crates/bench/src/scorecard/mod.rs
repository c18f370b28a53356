//! The scorecard: one load on one device, reached over several paths, with what each figure depends on.
//!
//! Rows are measured elsewhere (fio by [`fio`], the driver by [`crate::runner`]); here they are judged and shown. Nothing in
//! a row is a substitute: what did not run says why, and a figure that contradicts itself carries a flag.

pub mod child;
mod compare;
pub mod cpu;
pub mod fio;
mod flags;
pub mod html;
pub mod limit;
pub mod model;
pub mod old_layout;
mod plots;
mod row;
mod svg;
pub mod text;

pub use compare::comparisons;
pub use model::{SCHEMA, Scorecard};
pub use row::{Basis, Measured, row, row_not_run};

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
