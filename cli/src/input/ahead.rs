//! Work done ahead, on several cores, and taken in order.

use std::num::NonZero;
use std::sync::mpsc::sync_channel;
use std::thread;

use anyhow::Result;

/// More readers than this would wait for the one that adds up what they read.
const MOST: usize = 4;

/// Hands `work` of each item to `take`, in the order of the items. Each thread is one piece of work ahead at the most, so
/// that a thousand files need the memory of a few.
///
/// # Errors
/// The first of `take`; work on later items is then dropped.
pub fn in_order<'i, T: Sync, R: Send>(
    items: &'i [T],
    work: impl Fn(&'i T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let workers = cores.min(MOST).min(items.len());
    if workers < 2 {
        return items.iter().try_for_each(|item| take(work(item)));
    }
    thread::scope(|scope| {
        let work = &work;
        let receivers: Vec<_> = (0..workers)
            .map(|worker| {
                // Without room: what is done is handed over or kept, but no second is begun.
                let (sender, receiver) = sync_channel(0);
                scope.spawn(move || {
                    let mine = items.iter().skip(worker).step_by(workers);
                    for item in mine {
                        if sender.send(work(item)).is_err() {
                            break;
                        }
                    }
                });
                receiver
            })
            .collect();
        for receiver in receivers.iter().cycle().take(items.len()) {
            match receiver.recv() {
                Ok(done) => take(done)?,
                // It panicked, which the end of the scope tells.
                Err(_) => break,
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items_whichever_is_done_first() {
        let items: Vec<u64> = (0..40).collect();
        let mut taken = Vec::new();
        let work = |item: &u64| {
            thread::sleep(std::time::Duration::from_micros(item % 3 * 500));
            *item
        };
        in_order(&items, work, |item| {
            taken.push(item);
            Ok(())
        })
        .expect("nothing fails");
        assert_eq!(taken, items);
    }

    #[test]
    fn after_an_error_no_more_is_taken_and_little_is_done() {
        let items: Vec<usize> = (0..1000).collect();
        let done = AtomicUsize::new(0);
        let mut taken = 0;
        let result = in_order(
            &items,
            |item| {
                done.fetch_add(1, Ordering::Relaxed);
                *item
            },
            |item| {
                taken += 1;
                anyhow::ensure!(item < 10, "ten");
                Ok(())
            },
        );
        assert_eq!(result.expect_err("at ten").to_string(), "ten");
        assert_eq!(taken, 11);
        let done = done.into_inner();
        assert!((11..=11 + 2 * MOST).contains(&done), "{done}");
    }

    #[test]
    fn work_is_never_far_ahead_of_what_was_taken() {
        let items: Vec<usize> = (0..500).collect();
        let done = AtomicUsize::new(0);
        let mut taken = 0;
        in_order(
            &items,
            |_| done.fetch_add(1, Ordering::SeqCst),
            |_| {
                taken += 1;
                // One being handed over and one being done, by each.
                let ahead = done.load(Ordering::SeqCst).saturating_sub(taken);
                anyhow::ensure!(ahead <= 2 * MOST, "{ahead} ahead");
                Ok(())
            },
        )
        .expect("nothing is far ahead");
        assert_eq!(taken, items.len());
    }
}
