//! Which directories can hold the sessions of a working directory, and which of the files there do (SPEC section 1).

use std::path::{Path, PathBuf};

use crate::dirs::{AgentDirs, normalize};
use crate::header::Header;

/// The sessions of one working directory.
pub(super) struct Scope<'a> {
    dirs: &'a AgentDirs,
    /// The working directory as it was asked for and, where that is another one, by its real path.
    asked: Vec<PathBuf>,
    /// What is to be searched.
    pub(super) places: Vec<PathBuf>,
    real: &'a (dyn Fn(&Path) -> Option<PathBuf> + Sync),
}

/// The real path of something that exists.
pub(super) fn real_path(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

impl<'a> Scope<'a> {
    /// In an explicit directory only that one is searched. `real` gives the real path of a working directory.
    pub(super) fn new(
        dirs: &'a AgentDirs,
        cwd: &Path,
        explicit: Option<&Path>,
        real: &'a (dyn Fn(&Path) -> Option<PathBuf> + Sync),
    ) -> Self {
        let mut asked = vec![normalize(cwd)];
        asked.extend(real(cwd).filter(|real| *real != asked[0]));
        let mut places = Vec::new();
        match explicit {
            Some(dir) => places.push(dir.to_path_buf()),
            None => {
                for place in asked.iter().flat_map(|cwd| dirs.session_dirs(cwd)) {
                    if !places.contains(&place) {
                        places.push(place);
                    }
                }
            }
        }
        Scope { dirs, asked, places, real }
    }

    /// Whether the session in this file belongs to the working directory. A header that names none does not say
    /// otherwise.
    pub(super) fn holds(&self, path: &Path, header: &Header) -> bool {
        let Some(header_cwd) = header.cwd().map(PathBuf::from) else { return true };
        let place = path.parent().unwrap_or(Path::new(""));
        let matches = |cwd: &PathBuf| self.dirs.cwd_matches(&header_cwd, cwd, place);
        // Last, because it is the only part that looks at the file system.
        self.asked.iter().any(matches) || (self.real)(&header_cwd).is_some_and(|real| self.asked.contains(&real))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::dirs::Environment;

    #[test]
    fn real_paths_are_the_same_working_directory() {
        let env: Environment = [("HOME", "/home/ana")].into_iter().collect();
        let dirs = AgentDirs::at_in("/agent", &env);
        let real = |path: &Path| match path.to_str() {
            Some("/home/ana/link") => Some("/a/b-c".into()),
            Some("/a-b/c") => Some("/a/b-c".into()),
            _ => None,
        };
        let scope = Scope::new(&dirs, Path::new("/home/ana/link"), None, &real);
        let names: Vec<_> = scope.places.iter().map(|dir| dir.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["--home-ana-link--", "-link", "--a-b-c--"]);
        let holds = |cwd: &str, dir: &str| {
            let header = Header::read(format!(r#"{{"type":"session","id":"x","cwd":"{cwd}"}}"#).into_bytes()).unwrap();
            scope.holds(&dirs.sessions.join(dir).join("x.jsonl"), &header)
        };
        assert!(holds("/home/ana/link", "-link") && holds("/a/b-c", "--a-b-c--"));
        assert!(holds("/a-b/c", "--a-b-c--"), "a link to the same directory");
        assert!(!holds("/a/b/c", "--a-b-c--"));
        assert!(holds("/moved/by/hand", "--a-b-c--"));
    }
}
