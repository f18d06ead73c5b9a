//! Resident memory of this process, where the system tells.

/// How far above where it was the resident memory rises while the work runs.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> Option<u64> {
    // Makes the highest value so far the present one: what the preparation took does not count.
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = figure("VmRSS:")?;
    let _kept = work();
    Some(figure("VmHWM:")?.saturating_sub(before))
}

/// A figure of /proc/self/status, in bytes.
fn figure(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}
