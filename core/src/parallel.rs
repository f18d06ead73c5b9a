//! Work on many items by several threads.

use std::sync::atomic::{self, AtomicUsize};

/// Fewer items than this are not worth a thread.
const WORTH_A_THREAD: usize = 16;

/// `work` on every item, on all cores; the results in the order of the items. Each thread has one `state`.
pub(crate) fn on_all_cores<T: Sync, S, R: Send>(
    items: &[T],
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let threads = cores.min(items.len() / WORTH_A_THREAD).max(1);
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut state = state();
        let mut done = Vec::new();
        while let index = next.fetch_add(1, atomic::Ordering::Relaxed)
            && let Some(item) = items.get(index)
        {
            done.push((index, work(&mut state, item)));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let mut done = worker();
        for other in others {
            match other.join() {
                Ok(results) => done.extend(results),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, WORTH_A_THREAD, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let results = on_all_cores(
                &items,
                || 0,
                |calls, item| {
                    *calls += 1;
                    (*item, *calls)
                },
            );
            assert!(results.iter().map(|(item, _)| *item).eq(0..count));
            assert!(results.iter().all(|(item, calls)| *calls <= item + 1), "a state of its own for each thread");
        }
    }
}
