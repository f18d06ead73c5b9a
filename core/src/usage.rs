//! Token and cost sums (SPEC section 8, `get_usage_statistics`).

use crate::json::Raw;
use serde::Serialize;

/// Sums over the assistant messages of a session and the tasks they started. Tokens are counts, cost is in the
/// currency the provider reported (US dollars as agents write it). What a message does not say counts 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens sent and not cached.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens read from the provider's cache.
    pub cache_read: f64,
    /// Tokens written to the provider's cache.
    pub cache_write: f64,
    /// Premium requests, a fraction where a request counts in part.
    pub premium_requests: f64,
    /// Total cost.
    pub cost: f64,
}

impl Usage {
    /// From the `usage` object of a message.
    pub(crate) fn read(usage: Raw<'_>) -> Usage {
        let mut sums = Usage::default();
        for member in usage.members() {
            let number = || member.value.as_f64().filter(|number| number.is_finite()).unwrap_or(0.0);
            match &member.key {
                key if key.is("input") => sums.input = number(),
                key if key.is("output") => sums.output = number(),
                key if key.is("cacheRead") => sums.cache_read = number(),
                key if key.is("cacheWrite") => sums.cache_write = number(),
                key if key.is("premiumRequests") => sums.premium_requests = number(),
                key if key.is("cost") => {
                    let total = member.value.get("total").and_then(Raw::as_f64);
                    sums.cost = total.filter(|number| number.is_finite()).unwrap_or(0.0);
                }
                _ => {}
            }
        }
        sums
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.premium_requests += other.premium_requests;
        self.cost += other.cost;
    }
}
