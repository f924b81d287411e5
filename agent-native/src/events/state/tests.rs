use super::*;

const PARK_21: [&str; 5] = [
    "java.lang.VirtualThread.yieldContinuation",
    "java.lang.VirtualThread.park",
    "java.lang.System$2.parkVirtualThread",
    "jdk.internal.misc.VirtualThreads.park",
    "java.util.concurrent.locks.LockSupport.park",
];
const PARK_25: [&str; 4] = [
    "java.lang.VirtualThread.yieldContinuation",
    "java.lang.VirtualThread.parkNanos",
    "java.lang.System$1.parkVirtualThread",
    "java.util.concurrent.locks.LockSupport.parkNanos",
];

fn told(frames: &[&str]) -> State {
    State::told(frames.iter().copied(), false)
}

/// Parked by whatever follows, on either JDK.
fn parked(frames: &[&str]) -> State {
    let states = [&PARK_21[..], &PARK_25[..]].map(|park| {
        let all: Vec<_> = park.iter().chain(frames).copied().collect();
        told(&all)
    });
    assert_eq!(states[0], states[1], "{frames:?}");
    states[0]
}

#[test]
fn the_frame_that_parked_tells_what_for() {
    const AQS: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer";
    let aqs = |method: &str| format!("{AQS}{method}");
    let acquire = aqs(".acquire");
    let shared = aqs(".acquireSharedInterruptibly");
    let node = aqs("$ConditionNode.block");
    let condition = aqs("$ConditionObject.await");
    let mine = "com.acme.Shop.order";
    for (frames, state) in [
        (
            vec![
                &*acquire,
                "java.util.concurrent.locks.ReentrantLock.lock",
                mine,
            ],
            State::Lock,
        ),
        (vec![&*acquire, "com.acme.Mutex.lock", mine], State::Lock),
        (vec![&*acquire], State::Lock),
        (
            vec![
                &*acquire,
                &*shared,
                "java.util.concurrent.Semaphore.acquire",
                mine,
            ],
            State::Lock,
        ),
        (
            vec![
                &*acquire,
                &*shared,
                "java.util.concurrent.CountDownLatch.await",
                mine,
            ],
            State::Queue,
        ),
        // Signalled, but the lock is not free yet.
        (vec![&*acquire, &*condition, mine], State::Lock),
        (
            vec![
                &*node,
                "java.util.concurrent.ForkJoinPool.managedBlock",
                &*condition,
                "java.util.concurrent.LinkedBlockingQueue.take",
            ],
            State::Queue,
        ),
        (
            vec!["java.util.concurrent.locks.StampedLock.acquireWrite", mine],
            State::Lock,
        ),
        (
            vec![
                "java.util.concurrent.CompletableFuture$Signaller.block",
                mine,
            ],
            State::Queue,
        ),
        (
            vec![
                "java.util.concurrent.LinkedTransferQueue$DualNode.await",
                mine,
            ],
            State::Queue,
        ),
        (
            vec!["sun.nio.ch.Poller.poll", "sun.nio.ch.NioSocketImpl.park"],
            State::Io,
        ),
        (
            vec![
                "sun.nio.ch.Poller$Request.awaitFinish",
                "sun.nio.ch.Poller.poll",
            ],
            State::Io,
        ),
        (vec![mine, "sun.nio.ch.Poller.poll"], State::Other),
        (
            vec!["[unloaded method]", "java.lang.Thread.sleep"],
            State::Other,
        ),
        (vec![], State::Other),
    ] {
        assert_eq!(parked(&frames), state, "{frames:?}");
    }
}

#[test]
fn sleep_and_yield_have_frames_of_their_own() {
    let of = |method| told(&[YIELDS, "java.lang.VirtualThread.parkNanos", method]);
    assert_eq!(of("java.lang.VirtualThread.sleepNanos"), State::Sleep);
    let of = |method| told(&[YIELDS, method, "java.lang.Thread.yield"]);
    assert_eq!(of("java.lang.VirtualThread.tryYield"), State::Runnable);
    let whole = told(&["jdk.internal.vm.Continuation.yield", YIELDS, "a.B.c"]);
    assert_eq!(whole, State::Other, "frames of continuations are no leaf");
}

#[test]
fn without_a_yield_it_was_a_monitor() {
    assert_eq!(told(&["com.acme.Shop.order", "a.B.c"]), State::Lock);
    assert_eq!(
        told(&["java.lang.Object.wait0", "java.lang.Object.wait"]),
        State::Queue
    );
    // Whatever class the method that enters a monitor is of.
    for leaf in [
        "sun.nio.ch.Poller.poll",
        "java.util.concurrent.CountDownLatch.await",
    ] {
        assert_eq!(told(&[leaf, "a.B.c"]), State::Lock, "{leaf}");
    }
    assert_eq!(told(&["[unknown method]"]), State::Other);
    assert_eq!(told(&[]), State::Other);
}

#[test]
fn a_thread_that_waits_in_a_native_method_is_told_by_it() {
    const NATIVE: Standing = Standing {
        is_native: true,
        enters: false,
        is_ready: false,
    };
    let of = |frames: &[&str]| {
        let of = |is_ready, in_pause| {
            let standing = Standing { is_ready, ..NATIVE };
            State::told_of_standing(frames.iter().copied(), standing, in_pause)
        };
        let state = of(false, false);
        assert_eq!(of(false, true), state, "{frames:?}");
        // Who runs there may have lost its CPU to the engine.
        let ready = state.filter(|state| *state == State::Io);
        assert_eq!(of(true, false), ready, "{frames:?}");
        state
    };
    const PARK: &str = "jdk.internal.misc.Unsafe.park";
    const SUPPORT: &str = "java.util.concurrent.locks.LockSupport.park";
    const AQS: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire";
    for (frames, state) in [
        (
            &[
                PARK,
                SUPPORT,
                AQS,
                "java.util.concurrent.locks.ReentrantLock.lock",
            ][..],
            State::Lock,
        ),
        (
            &[PARK, SUPPORT, "java.util.concurrent.FutureTask.awaitDone"],
            State::Queue,
        ),
        (&[PARK, SUPPORT, "com.acme.Shop.order"], State::Other),
        // Pinned virtual threads.
        (
            &[
                PARK,
                "java.lang.VirtualThread.parkOnCarrierThread",
                "java.lang.VirtualThread.parkNanos",
                "java.lang.VirtualThread.sleepNanos",
                "java.lang.Thread.sleep",
            ],
            State::Sleep,
        ),
        (
            &[
                PARK,
                "java.lang.VirtualThread.parkOnCarrierThread",
                "java.lang.VirtualThread.park",
                "java.lang.System$2.parkVirtualThread",
                "jdk.internal.misc.VirtualThreads.park",
                SUPPORT,
                "sun.nio.ch.Poller.poll",
            ],
            State::Io,
        ),
        (&["java.lang.Thread.sleep", "a.B.c"], State::Sleep),
        (&["java.lang.Thread.sleepNanos0"], State::Sleep),
        (
            &["java.lang.Thread.yield0", "java.lang.Thread.yield"],
            State::Runnable,
        ),
        (
            &["java.lang.Object.wait", "java.lang.Object.wait"],
            State::Queue,
        ),
        (&["java.lang.Object.wait0"], State::Queue),
        (
            &["sun.nio.ch.Net.poll", "sun.nio.ch.NioSocketImpl.park"],
            State::Io,
        ),
        (&["java.net.Inet6AddressImpl.lookupAllHostAddr"], State::Io),
        (&["java.io.FileInputStream.readBytes"], State::Io),
        (&["java.lang.ProcessImpl.waitForProcessExit0"], State::Queue),
        (&["com.acme.Native.call"], State::Other),
    ] {
        assert_eq!(of(frames), Some(state), "{frames:?}");
    }
}

#[test]
fn a_thread_that_waits_in_java_code_enters_a_monitor_or_the_world_is_stopped() {
    for (enters, is_ready, in_pause, state) in [
        (true, false, false, Some(State::Lock)),
        (true, false, true, Some(State::Gc)),
        (false, false, true, Some(State::Gc)),
        (false, false, false, Some(State::Other)),
        (false, true, false, None),
        (false, true, true, None),
    ] {
        let standing = Standing {
            is_native: false,
            enters,
            is_ready,
        };
        for leaf in ["sun.nio.ch.SocketChannelImpl.read", "[failed: gc_active]"] {
            let told = State::told_of_standing([leaf].into_iter(), standing, in_pause);
            assert_eq!(told, state, "{leaf}");
        }
    }
}

#[test]
fn no_line_of_the_table_hides_behind_an_earlier_one() {
    for (at, (start, _)) in TABLE.iter().enumerate() {
        let hides = TABLE[..at]
            .iter()
            .find(|(earlier, _)| start.starts_with(earlier));
        assert!(hides.is_none(), "{start} behind {:?}", hides.map(|h| h.0));
    }
}
