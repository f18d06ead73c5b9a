//! One comparison: ours and the plain way in turn, medians, and what they are held to.

use crate::memory;
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// One round: returns how long the part took that counts.
pub(crate) type Run = Box<dyn FnMut() -> Duration>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Plain,
}

/// What a median is held to (SPEC section 15).
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    Millis(f64),
    /// At least so many times faster than the plain way.
    TimesFaster(f64),
    /// At most so many times what the plain way takes.
    TimesPlain(f64),
    /// At least this share of the rate of the plain way.
    ShareOfRate(f64),
    /// How many a second, where one round does `count`; no bound.
    Rate {
        count: usize,
    },
}

pub(crate) struct Case {
    pub(crate) what: String,
    pub(crate) plain: Option<(&'static str, Run)>,
    pub(crate) ours: Run,
    pub(crate) rounds: usize,
    pub(crate) goals: Vec<Goal>,
    /// Bytes that the process may grow by at its highest.
    pub(crate) peak_at_most: Option<u64>,
}

impl Case {
    pub(crate) fn new(what: impl Into<String>, ours: Run) -> Case {
        Case { what: what.into(), plain: None, ours, rounds: 9, goals: Vec::new(), peak_at_most: None }
    }

    pub(crate) fn plain(mut self, name: &'static str, run: Run) -> Case {
        self.plain = Some((name, run));
        self
    }

    pub(crate) fn rounds(mut self, rounds: usize) -> Case {
        self.rounds = rounds;
        self
    }

    pub(crate) fn goal(mut self, goal: Goal) -> Case {
        self.goals.push(goal);
        self
    }

    pub(crate) fn peak_at_most(mut self, bytes: u64) -> Case {
        self.peak_at_most = Some(bytes);
        self
    }

    /// The JSON that `tests/bench` reads.
    pub(crate) fn measure(mut self) -> Value {
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        // In turn, so that a slow moment of the machine meets both; the first round only fills caches.
        for round in 0..=self.rounds {
            let counts = round > 0;
            if let Some((_, run)) = &mut self.plain {
                plain.extend(Some(run()).filter(|_| counts));
            }
            ours.extend(Some((self.ours)()).filter(|_| counts));
        }
        let (ours, plain) = (Times::of(ours), (!plain.is_empty()).then(|| Times::of(plain)));
        let goals: Vec<Value> = self.goals.iter().map(|goal| goal.told(ours.median, plain.map(|p| p.median))).collect();
        json!({
            "what": self.what,
            "plain": self.plain.map(|(name, _)| name),
            "ours_ms": ours.median * 1e3,
            "ours_best_ms": ours.best * 1e3,
            "plain_ms": plain.map(|times| times.median * 1e3),
            "plain_best_ms": plain.map(|times| times.best * 1e3),
            "rounds": self.rounds,
            "goals": goals,
            "peak_at_most": self.peak_at_most,
        })
    }

    pub(crate) fn repeat(mut self, times: usize) {
        (0..times).for_each(|_| {
            (self.ours)();
        });
    }

    /// How far the resident memory rises while one side runs once.
    pub(crate) fn peak(mut self, side: Side) -> Value {
        let run = match (side, &mut self.plain) {
            (Side::Ours, _) => &mut self.ours,
            (Side::Plain, Some((_, run))) => run,
            (Side::Plain, None) => return json!({"peak_bytes": null}),
        };
        json!({"peak_bytes": memory::peak_of(run)})
    }
}

#[derive(Clone, Copy)]
struct Times {
    median: f64,
    best: f64,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Times {
        times.sort_unstable();
        Times { median: times[times.len() / 2].as_secs_f64(), best: times[0].as_secs_f64() }
    }
}

impl Goal {
    /// `ours` and `plain` in seconds.
    fn told(self, ours: f64, plain: Option<f64>) -> Value {
        let plain = plain.unwrap_or(f64::NAN);
        match self {
            Goal::Millis(bound) => json!({"figure": "ms", "value": ours * 1e3, "at_most": bound}),
            Goal::TimesFaster(bound) => {
                json!({"figure": "times faster", "value": plain / ours, "at_least": bound})
            }
            Goal::TimesPlain(bound) => json!({"figure": "times plain", "value": ours / plain, "at_most": bound}),
            Goal::ShareOfRate(bound) => {
                json!({"figure": "of the plain rate", "value": plain / ours, "at_least": bound})
            }
            Goal::Rate { count } => json!({"figure": "a second", "value": count as f64 / ours}),
        }
    }
}

/// How long the work takes, without dropping what comes out.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = black_box(work());
    let time = start.elapsed();
    drop(result);
    time
}
