//! Finding sessions.
