use crate::{Result, dirs::AgentDirs, storage::SessionStorage};
use std::path::{Path, PathBuf};
pub(crate) fn most_recent_for_cwd(
    _: &dyn SessionStorage,
    _: &AgentDirs,
    _: &Path,
    _: Option<&Path>,
) -> Result<Option<PathBuf>> {
    Ok(None)
}
