//! Disks for tests: one that fails on demand, one that can lose its power.

#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test binary uses a part of it")]

mod faulty;
mod power;

pub use faulty::{Call, Fault, FaultyDisk, FaultyFile};
pub use power::{PowerLossDisk, PowerLossFile, Survives};
