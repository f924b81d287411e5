use super::*;
use loom::{sync::Arc, thread};

/// The agent takes a running thread up while that thread's handler looks.
#[test]
fn loom_a_handler_that_sees_the_environment_sees_the_thread_that_belongs_to_it() {
    loom::model(|| {
        let block = Arc::new(Block::new());
        let life = block.assign(100);
        let agent = {
            let block = Arc::clone(&block);
            thread::spawn(move || block.set_java(8, 16, JavaThreadId(30)))
        };
        assert!(block.is_for(100, life));
        if block.jni_env() != 0 {
            let seen = (block.jni_env(), block.java_thread(), block.running());
            assert_eq!(seen, (8, 16, JavaThreadId(30)));
        }
        agent.join().unwrap();
    });
}

/// The engine asks, looks whether it was answered, and only then takes what the handler has left.
#[test]
fn loom_what_the_handler_leaves_is_seen_whole_once_it_has_answered() {
    loom::model(|| {
        let block = Arc::new(Block::new());
        block.assign(100);
        block.account_from(1_000);
        block.ask(false);
        let handler = {
            let block = Arc::clone(&block);
            thread::spawn(move || {
                assert_eq!(block.account(9_000), 8);
                block.set_imprint(Some(Imprint {
                    sample_ns: 9_000,
                    sp: 2,
                    length: 3,
                    digest: 4,
                }));
                block.answer();
            })
        };
        if !block.is_asked() {
            let imprint = block.imprint().unwrap();
            assert_eq!((imprint.sample_ns, imprint.digest), (9_000, 4));
            assert_eq!(block.account(10_000), 1);
        }
        handler.join().unwrap();
    });
}

/// A block that has been given back is given to the next thread while a handler of that one looks.
#[test]
fn loom_a_handler_of_the_next_life_never_sees_the_thread_of_the_one_before() {
    loom::model(|| {
        let block = Arc::new(Block::new());
        let first = block.assign(100);
        block.set_java(8, 16, JavaThreadId(30));
        let registry = {
            let block = Arc::clone(&block);
            thread::spawn(move || {
                block.release();
                block.assign(200)
            })
        };
        let second = Generation(first.0.wrapping_add(1) & Generation::MASK);
        if block.is_for(200, second) {
            assert_eq!((block.jni_env(), block.running()), (0, JavaThreadId::NONE));
        }
        assert_eq!(registry.join().unwrap(), second);
    });
}
