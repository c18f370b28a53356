//! NVM Express Base Specification 2.0 and NVM Command Set Specification 1.0.

pub mod command;
pub mod dsm;
pub mod entries;
pub mod event;
pub mod feature;
pub mod identify;
pub mod log;
pub mod opcode;
pub mod register;
pub mod status;

pub use command::{
    Abort, BlockCommand, CreateCompletionQueue, CreateSubmissionQueue, DeleteQueue, GetFeatures,
    GetLogPage, Identify, QueuePriority, Select, SetFeatures,
};
pub use dsm::{DatasetManagement, DsmRange};
pub use entries::{CompletionEntry, SubmissionEntry};
pub use event::{AsyncEvent, EventType};
pub use feature::feature_id;
pub use identify::{
    IdentifyController, IdentifyNamespace, IoCommandSets, NamespaceDescriptors, NamespaceIdList,
    cns,
};
pub use log::{ErrorLogEntry, SmartLog, log_id};
pub use opcode::{admin as admin_opcode, io as io_opcode};
pub use register::{AdminQueueAttributes, Capabilities, Configuration, ControllerStatus, Version};
pub use status::Status;
