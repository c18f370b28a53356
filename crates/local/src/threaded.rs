//! The controller on a thread of its own.

use core::time::Duration;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use controller::Controller;
use driver::{Link, LinkError};
use mem::{DmaBuffer, IovaTable, Window};
use std::sync::Arc;

use crate::memory::HostMemory;
use crate::{Blueprint, Clock, LocalError, limits};

/// What the controller's thread is asked to do between two ticks.
type Errand = Box<dyn FnOnce(&mut Controller) + Send>;

/// A link to a controller that polls its doorbells on another thread. Commands and completions travel through shared
/// memory alone; registers and memory maps travel through a mailbox.
///
/// The mailbox's life ends with the link: dropping it stops the thread.
#[derive(Debug)]
pub struct Threaded {
    mailbox: Option<Sender<Errand>>,
    thread: Option<JoinHandle<Controller>>,
    memory: HostMemory,
    clock: Clock,
}

impl Threaded {
    /// Makes the device and starts its thread, which first calls `prepare` (to pin itself, say).
    ///
    /// # Errors
    /// When the configuration is wrong or the machine refuses memory or a thread.
    pub fn new(
        device: Blueprint,
        clock: Clock,
        prepare: impl FnOnce() + Send + 'static,
    ) -> Result<Self, LocalError> {
        let (controller, memory) = device.build()?;
        let (mailbox, errands) = channel();
        let thread = std::thread::Builder::new()
            .name("controller".into())
            .spawn(move || {
                prepare();
                serve(controller, &errands, clock)
            })
            .map_err(LocalError::Thread)?;
        Ok(Self {
            mailbox: Some(mailbox),
            thread: Some(thread),
            memory,
            clock,
        })
    }

    /// Runs a closure on the controller's thread, between two ticks, and returns what it returns.
    ///
    /// # Errors
    /// [`LinkError::Gone`] when the thread has ended.
    pub fn with_controller<T: Send + 'static>(
        &mut self,
        errand: impl FnOnce(&mut Controller) -> T + Send + 'static,
    ) -> Result<T, LinkError> {
        let (answer, receive) = channel();
        let errand: Errand = Box::new(move |controller| {
            let _ = answer.send(errand(controller)); // the asker may have given up
        });
        let mailbox = self.mailbox.as_ref().ok_or(LinkError::Gone)?;
        mailbox.send(errand).map_err(|_| LinkError::Gone)?;
        receive.recv().map_err(|_| LinkError::Gone)
    }

    /// Stops the thread and takes the controller back.
    ///
    /// # Errors
    /// [`LinkError::Gone`] when the thread ended by itself.
    pub fn stop(mut self) -> Result<Controller, LinkError> {
        drop(self.mailbox.take());
        let thread = self.thread.take().ok_or(LinkError::Gone)?;
        thread.join().map_err(|_| LinkError::Gone)
    }

    fn set_memory(&mut self) -> Result<(), LinkError> {
        let table: Arc<IovaTable> = self.memory.map.table();
        self.with_controller(move |controller| controller.set_memory(table))
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        drop(self.mailbox.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // its panic was reported when it happened
        }
    }
}

/// The controller's thread: ticks, and errands between them.
fn serve(mut controller: Controller, errands: &Receiver<Errand>, clock: Clock) -> Controller {
    let mut idle: u32 = 0;
    let instant = controller.is_instant();
    loop {
        let mut now = clock();
        for _ in 0..limits::TICKS_PER_MAIL {
            if !instant {
                now = clock();
            }
            if controller.tick(now).is_idle() {
                idle += 1;
                core::hint::spin_loop();
            } else {
                idle = 0;
            }
        }
        match errands.try_recv() {
            Ok(errand) => errand(&mut controller),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return controller,
        }
        if idle >= limits::IDLE_TICKS_BEFORE_YIELD {
            idle = 0;
            std::thread::yield_now();
        }
    }
}

impl Link for Threaded {
    fn read_register(&mut self, offset: u32, bytes: u32) -> Result<u64, LinkError> {
        self.with_controller(move |controller| controller.read_register(offset, bytes))
    }

    fn write_register(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), LinkError> {
        self.with_controller(move |controller| controller.write_register(offset, bytes, value))
    }

    fn doorbells(&self) -> Window {
        self.memory.doorbells.clone()
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, LinkError> {
        let buffer = self.memory.allocate(bytes)?;
        self.set_memory()?;
        Ok(buffer)
    }

    fn free(&mut self, buffer: DmaBuffer) {
        self.memory.free(&buffer);
        let _ = self.set_memory(); // a thread that is gone reads nothing any more
    }

    fn now(&mut self) -> Duration {
        (self.clock)()
    }

    fn relax(&mut self) {
        // A wait of the control path: the controller may need this very CPU to answer.
        std::thread::yield_now();
    }
}
