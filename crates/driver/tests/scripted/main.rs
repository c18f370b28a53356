//! The driver against a controller that does as a script says: everything that can go wrong between open and shutdown.

mod admin;
mod bring_up;
mod controller;
mod recovery;
mod waiting;

use driver::{Device, DriverError, Options};

use controller::{Script, Scripted};

/// Opens a device of the script.
fn open(script: Script) -> Result<Device<Scripted>, DriverError> {
    Device::open(Scripted::new(script), Options::default())
}

/// Opens a device of a script that is in order.
fn open_well(script: Script) -> Device<Scripted> {
    open(script).expect("the script is in order")
}
