//! Replays of traces that the tests write themselves.

mod device;
mod emit;
mod formats;
mod rig;
