//! A controller that does as a script says: just enough of one for bring-up, and every way to misbehave in it.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use driver::{Link, LinkError};
use mem::{Backing, DmaBuffer, Iova, Region, Window};
use ring::Words;
use spec::nvme::feature::NumberOfQueues;
use spec::nvme::identify::{EntrySizes, LbaFormat};
use spec::nvme::register::{
    self, AdminQueueAttributes, CSS_NVM, Capabilities, Configuration, ControllerStatus,
    ShutdownStatus,
};
use spec::nvme::{
    AsyncEvent, CompletionEntry, CreateCompletionQueue, DeleteQueue, GetLogPage, Identify,
    IdentifyController, IdentifyNamespace, NamespaceIdList, SetFeatures, Status, SubmissionEntry,
    admin_opcode, cns, feature_id,
};
use spec::{BlockCount, CommandId, NamespaceId, QueueId, Text, ZeroBased};

/// How the controller answers CC.EN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enabling {
    /// CSTS.RDY follows after so many turns.
    After(u32),
    /// CSTS.RDY never follows.
    Never,
    /// CSTS.CFS is set instead.
    Fatal,
    /// All registers read as ones from then on.
    Gone,
}

/// What the controller does, and what it says.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) capabilities: Capabilities,
    pub(crate) enabling: Enabling,
    /// CSTS.RDY stays when CC.EN is cleared.
    pub(crate) sticks_ready: bool,
    /// CC.EN and CSTS.RDY are found set, as some other host left them.
    pub(crate) found_enabled: bool,
    /// CC.EN is found set, as some other host has just left it, and CSTS.RDY is about to follow as `enabling` says.
    pub(crate) found_enabling: bool,
    pub(crate) identify: IdentifyController,
    /// Active namespaces. Structures are the caller's, lists are made from the keys.
    pub(crate) namespaces: BTreeMap<u32, IdentifyNamespace>,
    /// Instead of a list made from the keys.
    pub(crate) list: Option<Vec<u32>>,
    /// I/O queues granted, submission and completion, 0's based.
    pub(crate) granted: (u16, u16),
    /// Opcodes that are never answered.
    pub(crate) mute: BTreeSet<u8>,
    /// Opcodes that are refused.
    pub(crate) refuse: BTreeMap<u8, Status>,
    /// Completions posted in each turn that name commands nobody sent.
    pub(crate) bogus_per_turn: u32,
    /// CSTS.CFS is set instead of answering this opcode.
    pub(crate) fatal_at: Option<u8>,
    /// All registers read as ones from this opcode on.
    pub(crate) gone_at: Option<u8>,
    /// Every event request is answered at once.
    pub(crate) event_storm: bool,
    /// Patience is measured with this: what one turn takes.
    pub(crate) turn: Duration,
}

impl Default for Script {
    fn default() -> Self {
        let identify = IdentifyController {
            sn: Text::ascii("SCRIPTED"),
            sqes: EntrySizes::only(6),
            cqes: EntrySizes::only(4),
            mdts: 5,
            nn: 1,
            aerl: ZeroBased::<u8>::new(15),
            ..Default::default()
        };
        Self {
            capabilities: Capabilities::default()
                .with_mqes(1023)
                .with_cqr(true)
                .with_to(4)
                .with_css(CSS_NVM),
            enabling: Enabling::After(3),
            sticks_ready: false,
            found_enabled: false,
            found_enabling: false,
            identify,
            namespaces: [(1, namespace(1000, 9))].into(),
            list: None,
            granted: (7, 7),
            mute: BTreeSet::new(),
            refuse: BTreeMap::new(),
            bogus_per_turn: 0,
            fatal_at: None,
            gone_at: None,
            event_storm: false,
            turn: Duration::from_millis(1),
        }
    }
}

/// Identify Namespace for so many blocks of a size.
pub(crate) fn namespace(blocks: u64, shift: u8) -> IdentifyNamespace {
    let mut found = IdentifyNamespace {
        nsze: BlockCount::new(blocks),
        ..Default::default()
    };
    found.lbaf.0[0] = LbaFormat::plain(shift);
    found
}

/// A link to a scripted controller.
#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) script: Script,
    pub(crate) now: Duration,
    /// Opcodes of the admin commands that were fetched, in order.
    pub(crate) commands: Vec<u8>,
    /// Bytes handed out and not taken back.
    pub(crate) allocated: usize,
    /// The log pages that were asked for, in order.
    pub(crate) logs: Vec<GetLogPage>,
    /// Where I/O completion queues are.
    pub(crate) completion_queues: BTreeMap<QueueId, u64>,
    /// Event requests that wait.
    pub(crate) waiting_events: Vec<CommandId>,
    /// How often CC.EN was changed although CSTS.RDY had not followed the last change and the controller had not failed:
    /// the results are undefined [NVMe Base 2.0 §3.1.3.5 Controller Configuration].
    pub(crate) undefined_changes: u32,
    memory: Vec<DmaBuffer>,
    next_iova: u64,
    doorbells: Window,
    gone: bool,
    configuration: Configuration,
    status: ControllerStatus,
    sizes: AdminQueueAttributes,
    submission: u64,
    completion: u64,
    head: u32,
    tail: u32,
    phase: bool,
    ready_in: Option<u32>,
}

const FIRST_IOVA: u64 = 0x10_0000;

impl Scripted {
    pub(crate) fn new(script: Script) -> Self {
        let doorbells = Region::allocate(8192, Backing::Anonymous)
            .expect("two pages")
            .whole();
        let (enabled, enabling) = (script.found_enabled, script.found_enabling);
        let mut link = Self {
            script,
            now: Duration::ZERO,
            commands: Vec::new(),
            allocated: 0,
            logs: Vec::new(),
            completion_queues: BTreeMap::new(),
            waiting_events: Vec::new(),
            undefined_changes: 0,
            memory: Vec::new(),
            next_iova: FIRST_IOVA,
            doorbells,
            gone: false,
            configuration: Configuration::default().with_en(enabled),
            status: ControllerStatus::default().with_rdy(enabled),
            sizes: AdminQueueAttributes::default(),
            submission: 0,
            completion: 0,
            head: 0,
            tail: 0,
            phase: true,
            ready_in: None,
        };
        if enabling {
            link.configure(Configuration::default().with_en(true));
        }
        link
    }

    /// Sets CSTS.CFS.
    pub(crate) fn fail(&mut self) {
        self.status = self.status.with_cfs(true);
    }

    /// Leaves the bus.
    pub(crate) fn vanish(&mut self) {
        self.gone = true;
    }

    /// Answers a waiting event request.
    pub(crate) fn raise(&mut self, event: AsyncEvent) {
        let cid = self.waiting_events.remove(0);
        self.post(cid, event.result(), Status::SUCCESS);
    }

    /// Answers a waiting event request with an error.
    pub(crate) fn refuse_event_request(&mut self, status: Status) {
        let cid = self.waiting_events.remove(0);
        self.post(cid, 0, status);
    }

    /// Writes a completion of the first lap into an I/O completion queue.
    pub(crate) fn complete_io(&mut self, queue: QueueId, place: u64, cid: u16, status: Status) {
        let at = self.completion_queues.get(&queue).expect("it was created") + place * 16;
        let entry = CompletionEntry::new(0, 0, queue, CommandId::new(cid), true, status);
        let [low, high] = entry.words();
        let words = self.at(at, 16).words().expect("entries are aligned");
        words.store_relaxed(0, low);
        words.store_release(1, high);
    }

    fn at(&self, iova: u64, len: usize) -> Window {
        let holds = |buffer: &&DmaBuffer| {
            let begin = buffer.iova().get();
            begin <= iova && iova + len as u64 <= begin + buffer.len() as u64
        };
        let buffer = self
            .memory
            .iter()
            .find(holds)
            .expect("the driver only names memory it has");
        let offset = (iova - buffer.iova().get()) as usize;
        buffer.window().window(offset, len).expect("found above")
    }

    fn post(&mut self, cid: CommandId, result: u32, status: Status) {
        let entries = self.sizes.completion_entries();
        let at = self.completion + u64::from(self.tail) * 16;
        let entry = CompletionEntry::new(
            result,
            self.head as u16,
            QueueId::ADMIN,
            cid,
            self.phase,
            status,
        );
        let [low, high] = entry.words();
        let words = self.at(at, 16).words().expect("entries are aligned");
        words.store_relaxed(0, low);
        words.store_release(1, high);
        self.tail += 1;
        if self.tail == entries {
            (self.tail, self.phase) = (0, !self.phase);
        }
    }

    fn configure(&mut self, wanted: Configuration) {
        let old = self.configuration;
        self.configuration = wanted;
        if wanted.shn() != 0 && old.shn() == 0 {
            self.status = self.status.with_shutdown(ShutdownStatus::Complete);
        }
        if old.en() != wanted.en() && old.en() != self.status.rdy() && !self.status.cfs() {
            self.undefined_changes += 1;
        }
        match (old.en(), wanted.en()) {
            (false, true) => match self.script.enabling {
                Enabling::After(turns) => self.ready_in = Some(turns),
                Enabling::Never => {}
                Enabling::Fatal => self.fail(),
                Enabling::Gone => self.gone = true,
            },
            (true, false) => {
                let stuck = self.script.sticks_ready;
                self.status = ControllerStatus::default().with_rdy(stuck);
                (self.head, self.tail, self.phase, self.ready_in) = (0, 0, true, None);
                self.waiting_events.clear();
                self.completion_queues.clear();
                self.doorbells
                    .fill(0, 8, 0)
                    .expect("the admin queue's doorbells");
            }
            _ => {}
        }
    }

    fn serve(&mut self) {
        for _ in 0..self.script.bogus_per_turn {
            self.post(CommandId::new(0x7777), 0, Status::SUCCESS);
        }
        let doorbell = self.doorbells.words().expect("aligned").load_acquire(0) as u32;
        while self.head != doorbell && !self.status.cfs() && !self.gone {
            let words = self
                .at(self.submission + u64::from(self.head) * 64, 64)
                .words();
            let words = words.expect("entries are aligned").load_entry::<8>(0);
            self.head = (self.head + 1) % self.sizes.submission_entries();
            let entry = SubmissionEntry::from_words(words);
            self.commands.push(entry.opcode());
            self.execute(&entry);
        }
    }

    fn execute(&mut self, entry: &SubmissionEntry) {
        let opcode = entry.opcode();
        if self.script.fatal_at == Some(opcode) {
            return self.fail();
        }
        if self.script.gone_at == Some(opcode) {
            self.gone = true;
            return;
        }
        if self.script.mute.contains(&opcode) {
            return;
        }
        if let Some(&status) = self.script.refuse.get(&opcode) {
            return self.post(entry.cid(), 0, status);
        }
        match opcode {
            admin_opcode::IDENTIFY => self.identify(entry),
            admin_opcode::ASYNC_EVENT_REQUEST => {
                self.waiting_events.push(entry.cid());
                if self.script.event_storm {
                    self.raise(AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED);
                }
            }
            admin_opcode::SET_FEATURES
                if SetFeatures::parse(entry).fid == feature_id::NUMBER_OF_QUEUES =>
            {
                let (submission, completion) = self.script.granted;
                let granted = NumberOfQueues::default()
                    .with_submission_raw(submission)
                    .with_completion_raw(completion);
                self.post(entry.cid(), granted.bits(), Status::SUCCESS);
            }
            admin_opcode::GET_LOG_PAGE => {
                self.logs.push(GetLogPage::parse(entry));
                self.post(entry.cid(), 0, Status::SUCCESS);
            }
            admin_opcode::CREATE_IO_CQ => {
                let create = CreateCompletionQueue::parse(entry);
                self.completion_queues.insert(create.qid, create.prp1);
                self.post(entry.cid(), 0, Status::SUCCESS);
            }
            admin_opcode::DELETE_IO_CQ => {
                self.completion_queues
                    .remove(&DeleteQueue::parse(entry).qid);
                self.post(entry.cid(), 0, Status::SUCCESS);
            }
            _ => self.post(entry.cid(), 0, Status::SUCCESS),
        }
    }

    fn identify(&mut self, entry: &SubmissionEntry) {
        let bytes = match Identify::parse(entry).cns {
            cns::CONTROLLER => self.script.identify.to_bytes(),
            cns::ACTIVE_NAMESPACES => self.list(entry.nsid()).to_bytes(),
            cns::NAMESPACE => match self.script.namespaces.get(&entry.nsid().get()) {
                Some(namespace) => namespace.to_bytes(),
                None => return self.post(entry.cid(), 0, Status::INVALID_NAMESPACE),
            },
            _ => return self.post(entry.cid(), 0, Status::INVALID_FIELD),
        };
        self.at(entry.prp1(), 4096)
            .write_bytes(0, &bytes)
            .expect("a page");
        self.post(entry.cid(), 0, Status::SUCCESS);
    }

    fn list(&self, after: NamespaceId) -> NamespaceIdList {
        if let Some(list) = &self.script.list {
            return list.iter().copied().map(NamespaceId::new).collect();
        }
        let behind = self
            .script
            .namespaces
            .keys()
            .copied()
            .filter(|&id| id > after.get());
        behind.map(NamespaceId::new).collect()
    }
}

impl Link for Scripted {
    fn read_register(&mut self, offset: u32, bytes: u32) -> Result<u64, LinkError> {
        if self.gone {
            return Ok(u64::MAX >> (64 - 8 * bytes));
        }
        Ok(match offset {
            register::CAP => self.script.capabilities.bits(),
            register::VS => 0x0001_0400,
            register::CC => self.configuration.bits().into(),
            register::CSTS => self.status.bits().into(),
            _ => 0,
        })
    }

    fn write_register(&mut self, offset: u32, _bytes: u32, value: u64) -> Result<(), LinkError> {
        match offset {
            register::CC => self.configure(Configuration::from_bits(value as u32)),
            register::AQA => self.sizes = AdminQueueAttributes::from_bits(value as u32),
            register::ASQ => self.submission = value,
            register::ACQ => self.completion = value,
            _ => {}
        }
        Ok(())
    }

    fn doorbells(&self) -> Window {
        self.doorbells.clone()
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, LinkError> {
        let region =
            Region::allocate(bytes, Backing::Anonymous).map_err(|error| LinkError::Memory {
                bytes,
                reason: error.to_string(),
            })?;
        let window = region.whole();
        let buffer = DmaBuffer::new(window, Iova::new(self.next_iova));
        self.next_iova += (buffer.len() as u64).next_multiple_of(4096) + 4096;
        self.allocated += buffer.len();
        self.memory.push(buffer.clone());
        Ok(buffer)
    }

    fn free(&mut self, buffer: DmaBuffer) {
        let begin = buffer.iova().get();
        let owned = begin..begin + buffer.len() as u64;
        assert!(
            !self.completion_queues.values().any(|at| owned.contains(at)),
            "the controller may still write to a completion queue that was freed"
        );
        let at = self
            .memory
            .iter()
            .position(|known| known.iova() == buffer.iova());
        let freed = self
            .memory
            .remove(at.expect("freed once, and what was allocated"));
        self.allocated -= freed.len();
    }

    fn now(&mut self) -> Duration {
        self.now
    }

    fn relax(&mut self) {
        self.now += self.script.turn;
        match &mut self.ready_in {
            Some(0) => {
                self.ready_in = None;
                self.status = self.status.with_rdy(true);
            }
            Some(turns) => *turns -= 1,
            None => {}
        }
        if self.status.rdy() && self.configuration.en() && !self.status.cfs() && !self.gone {
            self.serve();
        }
    }
}
