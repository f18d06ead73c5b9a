//! Disks for tests (one that fails on demand, one that can lose its power), other processes, stores to look into.

#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test binary uses a part of it")]

mod faulty;
mod power;
#[cfg(unix)]
pub mod process;
pub mod store;

pub use faulty::{Call, Fault, FaultyDisk, FaultyFile};
pub use power::{PowerLossDisk, PowerLossFile, Survives};
