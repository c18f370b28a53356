//! Ports: how a controller is reached from outside this process.
//!
//! # For
//! Whoever has a [`controller::Controller`] and wants virtual machines or other processes to use it.
//!
//! # In
//! A controller, a path for a UNIX socket, and the bytes of strangers who connect to it.
//!
//! # Out
//! [`vfio_user::Endpoint`]: a PCIe function with an NVMe controller behind BAR0, as QEMU, cloud-hypervisor and SPDK's
//! client want it. What they write to a doorbell is a store to memory that the controller's thread looks at.
//!
//! # Never
//! No NVMe meaning: commands go from the client's memory to the controller without this room. Nothing that a client sends
//! panics, hangs or leaks. The thread of the queues does nothing for the socket but short errands between two ticks.
//!
//! # Limits
//! `limits.rs`. One client at a time; the next one waits until it has gone.
//!
//! # Read first
//! `vfio_user/endpoint.rs` (the life of a connection), `session.rs` (the messages), `worker.rs` (the queues).
#![forbid(unsafe_code)]

pub mod limits;
pub mod vfio_user;
