//! A running session: everything that lives from VMInit to VMDeath, reachable from any callback.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use vtprof_profile::kind::Kind;
use vtprof_signal::blocks::Blocks;
use vtprof_signal::context_table::{ContextTable, Slot};
use vtprof_signal::counters::COUNTERS;
use vtprof_signal::frozen::{Frozen, Marks};
use vtprof_signal::primitive::AtomicU64;
use vtprof_signal::ring::Ring;
use vtprof_signal::scratch::Scratch;
use vtprof_signal::shared::{self, Shared, Source};

use crate::control;
use crate::delivery::Delivery;
use crate::drain::{Drain, Ending, Order};
use crate::events::pauses::Pauses;
use crate::events::queue::{Bounds, EventSamples};
use crate::export::comments::Facts;
use crate::export::directory::Directory;
use crate::figures::depths::Depths;
use crate::figures::metrics;
use crate::jvm::allocations::Allocations;
use crate::jvm::blocking::Blocking;
use crate::jvm::callbacks;
use crate::jvm::classes::Classes;
use crate::jvm::code_heaps;
use crate::jvm::contention::Contention;
use crate::jvm::delays;
use crate::jvm::frozen;
use crate::jvm::healing::Healing;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::layout::Layout;
use crate::jvm::mounts::{self, Mounts};
use crate::jvm::owners;
use crate::jvm::parks;
use crate::jvm::redefinitions::Redefinitions;
use crate::jvm::selftest::SelfTest;
use crate::jvm::shim::Shims;
use crate::jvm::vm::Vm;
use crate::jvm::vmstructs::VmStructs;
use crate::log;
use crate::options::{ContextStrategy, Options};
use crate::publish;
use crate::remote;
use crate::sampling::engine::Engine;
use crate::sampling::faults::{self, Containment};
use crate::sampling::signal;
use crate::service;
use crate::spans::event::SpanEvents;
use crate::start::{Prepared, StartError};
use crate::threads::registry::Registry;
use crate::threads::timer::Pace;
use crate::wall::Wall;

/// Words of the ring: 4 MiB, touched as they are used.
const RING_WORDS: usize = 1 << 19;

static BLOCKS: Blocks = Blocks::new();
static SCRATCH: Scratch = Scratch::new();
static SESSION: OnceCell<Session> = OnceCell::new();

/// See the module.
pub struct Session {
    pub vm: Vm,
    pub jvmti: Jvmti,
    pub options: &'static Options,
    pub directory: &'static Directory,
    pub shims: &'static Shims,
    pub classes: &'static Classes,
    pub service: String,
    pub facts: Facts,
    /// What is sampled how often. For CPU time it may be what stands in for it under `stress`.
    pub rates: Rates,
    /// The signal that samples come by; `None` where none do.
    pub signal: Option<i32>,
    pub layout: Layout,
    pub shared: &'static Shared,
    pub registry: Registry,
    pub mounts: Mounts,
    /// The engine of [`Kind::Blocked`], where that is on.
    pub blocking: Option<Blocking>,
    /// The engine of [`Kind::Lock`] and [`Kind::LockOwner`], where those are on.
    pub contention: Option<Contention>,
    /// The engine of [`Kind::Wall`], and of [`Kind::Blocked`] for OS threads, where one of them is on.
    pub wall: Option<Wall>,
    /// What sends windows, where somebody wants that.
    pub delivery: Option<Delivery>,
    /// When the world stood still, where that is told.
    pub pauses: Pauses,
    pub self_test: SelfTest,
    pub healing: Healing,
    pub redefinitions: Redefinitions,
    pub events: SpanEvents,
    /// Samples taken in JVMTI events.
    pub event_samples: EventSamples,
    pub allocations: Allocations,
    /// When it began.
    pub begun: SystemTime,
    /// How full queues were.
    pub depths: Depths,
    strategy: Mutex<Arc<str>>,
    late: bool,
    /// Whether other processes may read which span a thread is in.
    pub publishes: bool,
    /// Whether `Thread.threadId()` exists, which nobody can override (JDK 19+).
    pub has_final_thread_ids: bool,
    /// Whether this JVM has virtual threads.
    pub has_virtual_threads: bool,
    /// Whether virtual threads have an OS thread each (`-XX:-VMContinuations`).
    pub bound_virtual_threads: bool,
    ending: Ending,
    phase: Phases,
    last_window: Mutex<LastWindow>,
    /// Sampling is off for good, for its own faults. SeqCst, as `over`: rare.
    given_up: AtomicBool,
    /// The session has ended. SeqCst: once for a process.
    over: AtomicBool,
    /// And no handler takes a sample any more. SeqCst, as `over`.
    silent: AtomicBool,
}

/// The session, once there is one.
#[inline]
pub fn get() -> Option<&'static Session> {
    SESSION.get()
}

impl Session {
    /// Makes and starts the session. `jni` is the calling thread's; the VM is live.
    pub fn start(prepared: &'static Prepared, jni: Jni) -> Result<&'static Self, StartError> {
        let options = &prepared.options;
        let structs = prepared.library.and_then(VmStructs::of);
        let layout = Layout::learn(jni, structs.as_ref())?;
        let virtual_threads = prepared.jvm.has_virtual_threads();
        if options.context == ContextStrategy::Sample && layout.owner_id.is_none() {
            return Err(StartError::NoOwnerId(prepared.jvm.name.clone()));
        }
        if prepared.jvm.has_early_identity_switch() {
            log::warn(&format!(
                "{} switches virtual threads early: use JDK 21.0.2 or later",
                prepared.jvm.name
            ));
        }
        let late = prepared.late;
        let bound_virtual_threads = virtual_threads && !callbacks::has_continuations(jni);
        let prove = options.context != ContextStrategy::Mount && layout.owner_id.is_some();
        let signals = options.uses_signals();
        let mounts = Mounts::find(prepared.jvmti, signals, prove && !bound_virtual_threads)?;
        let strategy = if signals {
            mounts::describe(options.context, layout.owner_id.is_some(), virtual_threads)
        } else {
            mounts::NO_STRATEGY
        };

        let (pace, period) = match options.stress.filter(|_| options.cpu.is_some()) {
            Some(period) => {
                log::warn(
                    "stress is for tests of the agent: signals come by the wall clock, and what profiles say is no CPU time",
                );
                (Pace::Wall, Some(period))
            }
            None => (Pace::Cpu, options.cpu),
        };
        let frozen = if signals && virtual_threads && !bound_virtual_threads {
            know_frozen(jni, structs.as_ref(), options.whole_stacks)
        } else {
            Frozen::new(Marks::default(), None)
        };
        let shared = Self::share(options, prepared, &layout, frozen);
        if let Some((low, high)) = structs.as_ref().and_then(code_cache) {
            shared.code_cache.set(low, high);
        }
        let engine = Engine::choose(options.engine, pace, period, options.signal);
        if let Some(refused) = &engine.refused {
            log::warn(&format!(
                "engine=perf is refused: {refused}; CPU timers are used, as with engine=timer"
            ));
        }
        let wall = Wall::new(options);
        if let Some(wall) = &wall {
            shared.visits.set(
                wall.of_all(),
                prepared.jvm.pins_monitors(),
                layout.stack_base,
                layout.pending_monitor,
            );
        }
        let wanted = engine.perf.map(|perf| perf.signal).or(options.signal);
        let signal = signals.then(|| signal::install(wanted)).transpose()?;
        let registry = Registry::new(
            &BLOCKS,
            &COUNTERS,
            signal.unwrap_or(0),
            pace,
            period,
            engine.perf,
        );
        let service = service::name(options.service.as_deref(), jni);
        let delivery = Delivery::new(options, &service, jni).map_err(StartError::Push)?;
        let publishes = options.publish_context && publish::begin(&service, jni);
        let begun = SystemTime::now();
        let since_epoch = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
        let session = Self {
            vm: prepared.vm,
            jvmti: prepared.jvmti,
            options,
            directory: &prepared.directory,
            shims: &prepared.shims,
            classes: &prepared.classes,
            service,
            facts: Facts {
                jvm: prepared.jvm.name.clone(),
                kernel: kernel_release(),
                engine: engine.description,
                is_stress: pace == Pace::Wall,
                session_start_unix_ns: u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX),
            },
            rates: Rates::new(Plan::of(options, period)),
            signal,
            layout,
            shared,
            registry,
            mounts,
            blocking: options.period(Kind::Blocked).map(|period_ns| {
                Blocking::new(period_ns, virtual_threads && !bound_virtual_threads)
            }),
            contention: options
                .period(Kind::Lock)
                .map(|period_ns| Contention::new(jni, period_ns)),
            wall,
            delivery,
            pauses: Pauses::new(),
            self_test: SelfTest::new(),
            healing: Healing::new(jni, shared.frozen.layout.as_ref()),
            redefinitions: Redefinitions::default(),
            events: SpanEvents::new(&COUNTERS),
            event_samples: EventSamples::new(
                // Visits come through the ring.
                |kind| kind != Kind::Wall && options.period(kind).is_some(),
                Bounds::DEFAULT,
                &COUNTERS,
            ),
            allocations: Allocations::new(options.alloc, options.followed().is_some()),
            begun,
            depths: Depths::new(),
            strategy: Mutex::new(Arc::from(strategy)),
            late,
            publishes,
            has_final_thread_ids: prepared.jvm.has_final_thread_ids(),
            has_virtual_threads: virtual_threads,
            bound_virtual_threads,
            ending: Ending::default(),
            phase: Phases::running(),
            last_window: Mutex::new(LastWindow::default()),
            given_up: AtomicBool::new(false),
            over: AtomicBool::new(false),
            silent: AtomicBool::new(false),
        };
        let session = SESSION.get_or_init(|| session);
        session.run(jni).inspect_err(|_| session.abandon())?;
        Ok(session)
    }

    fn run(&'static self, jni: Jni) -> Result<(), StartError> {
        // Begun before it is stopped.
        let mut phase = self.phase.lock();
        callbacks::enable_live(self)?;
        Redefinitions::watch(self.jvmti);
        callbacks::prepare_loaded_classes(self, jni);
        callbacks::adopt_running_threads(self, jni);
        let signals = self.signal.is_some();
        let has_mounts = (signals || self.follows_switches())
            && !self.bound_virtual_threads
            && self.mounts.enable(self.jvmti)?;
        if signals && self.has_virtual_threads && !has_mounts && !self.bound_virtual_threads {
            log::warn("this JVM sends no mount events: samples of virtual threads stay untagged");
        }
        if self.blocking.is_some()
            && self.has_virtual_threads
            && !has_mounts
            && !self.bound_virtual_threads
        {
            log::warn("blocked= is of platform threads alone here: this JVM sends no mount events");
        }
        if self.publishes && self.has_virtual_threads && !has_mounts && !self.bound_virtual_threads
        {
            log::warn(
                "publish_context=on shows contexts of platform threads alone here: this JVM sends no mount events",
            );
        }
        if let Some(wall) = &self.wall {
            wall.spawn(self).ok_or(StartError::Thread("vtprof-wall"))?;
        }
        if let Some(delivery) = &self.delivery {
            delivery
                .open(self)
                .ok_or(StartError::Thread("vtprof-push"))?;
        }
        let containment = if signals {
            faults::install(self.shared.walker)
        } else {
            Containment::Off("no stack is walked in a handler")
        };
        if let Containment::Off(reason) = containment
            && signals
        {
            log::info(&format!(
                "a fault in a stack walk would not be contained: {reason}"
            ));
        }
        self.shared.set_contained(containment == Containment::On);
        if containment == Containment::On && self.shared.frozen.layout.is_some() && has_mounts {
            self.self_test.begin();
        } else {
            self.shared.frozen.fail();
        }
        Drain::spawn(self, containment).ok_or(StartError::Thread("vtprof-drain"))?;
        if has_mounts && let Some(delays) = self.blocking.as_ref().and_then(|b| b.delays.as_ref()) {
            delays
                .spawn(self)
                .ok_or(StartError::Thread(delays::THREAD))?;
        }
        if let Some(contention) = &self.contention {
            let parks_are_seen = parks::settle();
            if contention.synchronizers.is_some() && !parks_are_seen {
                log::info(
                    "lock= does not see platform threads wait for locks of java.util.concurrent here: the agent must be there when the JVM starts (-agentpath), without an AOT cache",
                );
            }
            owners::spawn(self, contention).ok_or(StartError::Thread(owners::THREAD))?;
        }
        if let Some(address) = self.options.metrics {
            metrics::spawn(self, address);
        }
        if control::begin(self).is_none() {
            log::warn(
                "the thread of vtprof ctl could not be started: there is no socket, and no budget is kept",
            );
        }
        self.shared.set_source(Source::Mount);
        #[cfg(feature = "inject")]
        crate::inject::begin();
        match &self.options.remote.url {
            None => self.arm(),
            // Off until it says otherwise.
            Some(address) => {
                *phase = Phase::Stopped;
                self.halt(self.options.flush);
                remote::begin(self, address).ok_or(StartError::Thread(remote::THREAD))?;
            }
        }
        let what = match self.period_of(Kind::Cpu) {
            0 => self.kinds().join(" and "),
            period_ns => format!("CPU each {:?}", Duration::from_nanos(period_ns)),
        };
        log::info(&format!(
            "{} profiles {what} of {}, a window each {:?}, into {}; context={} engine={}",
            env!("CARGO_PKG_VERSION"),
            self.service,
            self.options.every,
            self.directory.path().display(),
            self.strategy(),
            self.facts.engine,
        ));
        Ok(())
    }

    /// Samples of all kinds that are on are taken from now on.
    fn arm(&self) {
        if let Some(blocking) = &self.blocking {
            blocking.begin();
        }
        if let Some(contention) = &self.contention {
            contention.note_begin();
        }
        self.shared.gate.arm();
        if let Some(wall) = &self.wall {
            wall.begin();
        }
        self.allocations.begin(self.jvmti);
        if let Some(contention) = &self.contention {
            contention.begin(self);
        }
    }

    /// What is sampled by an event of its own is sampled no more.
    fn end_events(&self) {
        self.allocations.end(self.jvmti);
        if let Some(contention) = &self.contention {
            contention.end(self.jvmti, self.wall.is_some());
        }
    }

    /// Makes what handlers share and publishes it. Leaked: a handler may hold it until the process ends.
    fn share(
        options: &Options,
        prepared: &Prepared,
        layout: &Layout,
        frozen: Frozen,
    ) -> &'static Shared {
        let slots = options.contexts.next_power_of_two();
        // Zeroed by the kernel and not by us, so that only what is used becomes memory.
        let (slots, words) = (
            Box::<[Slot]>::new_zeroed_slice(slots),
            Box::<[AtomicU64]>::new_zeroed_slice(RING_WORDS),
        );
        // SAFETY: both are made of atomic integers only, for which zero is a value: a free slot, a free word.
        let (slots, words): (&'static [Slot], &'static [AtomicU64]) = unsafe {
            (
                Box::leak(slots.assume_init()),
                Box::leak(words.assume_init()),
            )
        };
        // Both lengths are powers of two.
        let contexts = ContextTable::new(slots).expect("a power of two");
        let ring = Ring::new(words).expect("a power of two");
        let shared: &'static Shared = Box::leak(Box::new(Shared::new(
            &BLOCKS,
            contexts,
            ring,
            &SCRATCH,
            &COUNTERS,
            prepared.jvm.walker,
            layout.owner_id.unwrap_or(0),
            frozen,
        )));
        shared::publish(shared);
        shared
    }

    /// Period of a kind, in the unit of what it counts; 0 for one that is off.
    pub fn period_of(&self, kind: Kind) -> u64 {
        self.rates.plan().period(kind).unwrap_or(0)
    }

    /// Whether an engine is on that takes the time between unmount and mount.
    #[inline]
    pub fn times_switches(&self) -> bool {
        self.blocking.is_some() || self.contention.is_some()
    }

    /// Whether somebody needs each mount and unmount, whatever tags need.
    #[inline]
    pub fn follows_switches(&self) -> bool {
        self.times_switches() || self.publishes
    }

    /// Whether the end of each virtual thread is told from the start. It is told as an unmount, too, so one that ends in a
    /// scope that nobody closes would count as waiting for ever.
    pub fn listens_to_virtual_thread_ends(&self) -> bool {
        let switches = self.has_virtual_threads && self.blocking.is_some();
        switches || self.bound_virtual_threads
    }

    /// Names of the kinds that are on.
    fn kinds(&self) -> Vec<&'static str> {
        let is_on = |kind: &Kind| self.period_of(*kind) > 0;
        let on = Kind::ALL.into_iter().filter(is_on);
        on.map(Kind::name).collect()
    }

    /// Whether the agent came to a VM that was running already.
    #[inline]
    pub fn is_late(&self) -> bool {
        self.late
    }

    /// The strategy in force, and why.
    pub fn strategy(&self) -> Arc<str> {
        Arc::clone(&self.strategy.lock())
    }

    /// Another strategy is in force.
    pub fn set_strategy(&self, strategy: &str) {
        *self.strategy.lock() = Arc::from(strategy);
    }

    /// What the drain is told by and answers with at the end.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Whether the session has ended: nothing is drained any more.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// The handler reads nothing more that may fault, save by AsyncGetCallTrace.
    pub fn read_no_more(&self) {
        self.shared.set_contained(false);
        self.self_test.give_up(self);
    }
}

mod dump;
mod end;
mod rates;
mod set;
mod status;
mod switch;
pub use dump::{DumpError, LastWindow};
pub use rates::{Change, MOST_HALVINGS, Plan, Rates};
pub use set::SetError;
pub use status::State;
use switch::Phases;
pub use switch::{Phase, SwitchError};

/// What is known of frozen frames; what is missing is said once.
fn know_frozen(jni: Jni, structs: Option<&VmStructs>, wanted: bool) -> Frozen {
    if !wanted {
        return Frozen::new(frozen::marks(jni), None);
    }
    let layout = frozen::learn(jni, structs);
    #[cfg(feature = "inject")]
    let layout = layout.map(|mut layout| {
        crate::inject::spoil(&mut layout);
        layout
    });
    let layout = layout.and_then(code_heaps::confirmed).inspect_err(|missing| {
        log::info(&format!(
            "stacks of virtual threads that have been parked are truncated: frozen frames are not read, {missing}"
        ));
    });
    Frozen::new(frozen::marks(jni), layout.ok())
}

/// Bounds of all code that this JVM makes, where it publishes them.
fn code_cache(structs: &VmStructs) -> Option<(u64, u64)> {
    let bound = |name| structs.static_word("CodeCache", &[name]);
    let (low, high) = (bound("_low_bound")?, bound("_high_bound")?);
    (0 < low && low < high).then_some((low, high))
}

fn kernel_release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}
