//! What the standard demands of a controller, one test for each sentence, by a host made by hand.

#[path = "../support/mod.rs"]
mod support;

mod admin;
mod answers;
mod events;
mod features;
mod identify;
mod lifecycle;
mod logs;
mod prp;
mod queue_refusals;
mod queues;
mod registers;
mod transfers;
