use super::*;

#[test]
fn a_block_given_to_another_thread_is_no_longer_the_first_ones() {
    let block = Block::new();
    let first = block.assign(100);
    assert!(block.is_for(100, first));
    block.release();
    assert!(!block.is_for(100, first));
    let second = block.assign(100);
    assert!(block.is_for(100, second));
    assert!(!block.is_for(100, first), "same kernel id, earlier life");
}

#[test]
fn an_unmount_gives_the_carrier_its_own_identity_back() {
    let block = Block::new();
    block.assign(1);
    block.set_java(8, 16, JavaThreadId(30));
    block.mount(JavaThreadId(77));
    assert_eq!(block.running(), JavaThreadId(77));
    block.unmount();
    assert_eq!(block.running(), JavaThreadId(30));
    block.clear_java();
    assert_eq!(block.running(), JavaThreadId::NONE);
    assert_eq!(block.jni_env(), 0);
}

#[test]
fn periods_are_whole_and_what_is_left_counts_the_next_time() {
    let block = Block::new();
    block.begin_periods(5_000, 300, 1_000);
    assert!(block.end_first_period() && !block.end_first_period());
    assert_eq!(block.take_periods(5_300, 1_000), 1, "the first signal");
    assert_eq!(block.take_periods(5_790, 1_000), 0, "early");
    assert_eq!(block.take_periods(6_310, 1_000), 1);
    // Half a period early or late is on time.
    assert_eq!(block.take_periods(7_750, 1_000), 1);
    assert_eq!(block.take_periods(7_850, 1_000), 1);
    assert_eq!(block.take_periods(17_900, 1_000), 10, "signals were lost");
    assert_eq!(block.take_periods(17_000, 1_000), 0, "no time runs back");
    assert_eq!(block.take_periods(18_900, 1_000), 1);
}

#[test]
fn a_thread_that_has_used_nothing_yet_begins_before_zero() {
    let block = Block::new();
    block.begin_periods(0, 100, 1_000);
    assert_eq!(block.take_periods(100, 1_000), 1);
    assert_eq!(block.take_periods(1_100, 1_000), 1);
}

#[test]
fn a_thread_rests_until_its_own_clock_says_so() {
    let block = Block::new();
    assert!(!block.rests(0));
    block.rest_until(500);
    assert!(block.rests(499) && !block.rests(500));
    block.begin_periods(0, 1, 1);
    assert!(!block.rests(0));
}

#[test]
fn time_is_accounted_for_once_to_the_last_microsecond() {
    let block = Block::new();
    block.account_from(1_000_000);
    assert_eq!(block.account(1_012_999), 12);
    assert_eq!(block.account(1_013_000), 1, "the rest of the 999 ns before");
    assert_eq!(block.account(1_000_000), 0, "never backwards");
    assert_eq!(block.accounted_ns(), 1_013_000);
    assert_eq!(block.account(u64::MAX), u32::MAX);
}

#[test]
fn an_imprint_and_a_question_end_with_the_life_of_the_block() {
    let imprint = Imprint {
        sample_ns: 1,
        sp: 2,
        length: 3,
        digest: 4,
    };
    let block = Block::new();
    assert_eq!((block.imprint(), block.owner()), (None, None));
    let life = block.assign(7);
    assert_eq!(block.owner(), Some((7, life)));
    block.ask(false);
    block.set_imprint(Some(imprint));
    assert_eq!((block.imprint(), block.is_asked()), (Some(imprint), true));
    block.assign(8);
    assert_eq!((block.imprint(), block.is_asked()), (None, false));
    block.set_imprint(Some(imprint));
    block.set_imprint(None);
    assert_eq!(block.imprint(), None);
}

#[test]
fn a_stack_is_wanted_of_one_wait_and_told_of_no_other() {
    let block = Block::new();
    block.assign(7);
    assert_eq!((block.want_stack(), block.end_wait()), (None, None));
    block.begin_wait();
    assert_eq!(block.end_wait(), None, "nobody wants it");
    block.begin_wait();
    assert_eq!((block.want_stack(), block.want_stack()), (Some(2), Some(2)));
    assert_eq!((block.end_wait(), block.end_wait()), (Some(2), None));
    assert_eq!(
        block.want_stack(),
        None,
        "it waits for none, or nobody told of it"
    );
    block.begin_wait();
    block.want_stack();
    // Its end was not told.
    block.begin_wait();
    assert_eq!(block.end_wait(), Some(4));
    block.begin_wait();
    block.want_stack();
    block.assign(8);
    assert_eq!((block.want_stack(), block.end_wait()), (None, None));
}

#[test]
fn a_walk_does_not_nest() {
    let block = Block::new();
    assert!(block.begin_walk());
    assert!(!block.begin_walk());
    block.end_walk();
    assert!(block.begin_walk());
}
