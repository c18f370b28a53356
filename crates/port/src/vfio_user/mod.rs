//! A controller as a PCIe function over the vfio-user protocol.

mod config_space;
mod dma;
mod endpoint;
mod function;
mod interrupts;
mod session;
mod version;
mod worker;

pub use endpoint::{Endpoint, EndpointError, Options, check_path};
pub use worker::{Activity, Waiting};
