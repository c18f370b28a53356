//! What the machine itself can do: the ceilings beside which figures are printed.
//!
//! - [`bare`]: a queue pair without NVMe meaning, two cores;
//! - [`copy`]: memory copies over a working set, one core;
//! - [`ping_pong`]: one cache line between two cores.

pub mod bare;
pub mod copy;
pub mod ping_pong;
pub mod placement;
