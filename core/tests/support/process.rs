//! Other processes: the same test binary once more, with a job in its environment. Child and parent talk in lines.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

const JOB: &str = "XCSH_SESSION_TEST_JOB";

/// Begins what a child says, so that it can be told from what the test harness prints on the same line.
const MARK: char = '\u{1}';

/// A child process. Killed when dropped.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The command that runs one test of this binary with a job.
pub fn command(program: &Path, test: &str, job: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(JOB, job.join("\n"));
    command
}

impl Process {
    /// Runs `test` of this binary with a job.
    pub fn start(test: &str, job: &[&str]) -> Process {
        Process::run(command(&std::env::current_exe().unwrap(), test, job))
    }

    pub fn run(mut command: Command) -> Process {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Process { input: child.stdin.take(), output, child }
    }

    /// What the child says next; `None` when it has ended.
    pub fn hear(&mut self) -> Option<String> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.output.read_until(b'\n', &mut line).unwrap() == 0 || line.last() != Some(&b'\n') {
                return None;
            }
            let text = String::from_utf8_lossy(&line);
            if let Some((_, said)) = text.trim_end_matches('\n').split_once(MARK) {
                return Some(said.to_owned());
            }
        }
    }

    pub fn expect(&mut self, words: &str) {
        assert_eq!(self.hear().as_deref(), Some(words));
    }

    pub fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush()).unwrap();
    }

    /// SIGKILL, and the end of it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// SIGSTOP; returns once the process is stopped.
    pub fn stop(&self) {
        self.signal("-STOP");
        while self.state() != 'T' {
            std::thread::yield_now();
        }
    }

    pub fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }

    fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap()
    }

    /// Waits for the end; what the child still says is thrown away.
    pub fn wait(mut self) -> ExitStatus {
        drop(self.input.take());
        while self.hear().is_some() {}
        self.child.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In a child: its job. In the test run itself: none.
pub fn job() -> Option<Vec<String>> {
    Some(std::env::var(JOB).ok()?.split('\n').map(str::to_owned).collect())
}

/// In a child: tells the parent, at once.
pub fn report(words: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{MARK}{words}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}

/// In a child: waits for a line of the parent.
pub fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Runs the body as a user whom file modes bind, in a directory of that user's: in a child where the tests run as
/// root, else here. `test` is the name of the calling test.
#[cfg(unix)]
pub fn as_plain_user(test: &str, body: impl FnOnce(&Path)) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    if let Some(job) = job() {
        return body(Path::new(&job[0]));
    }
    let dir = tempfile::tempdir().unwrap();
    if dir.path().metadata().unwrap().uid() != 0 {
        return body(dir.path());
    }
    const NOBODY: u32 = 65_534;
    std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let program = tempfile::tempdir().unwrap();
    std::fs::set_permissions(program.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let copy = program.path().join("test");
    let run = |program: &Path| {
        command(program, test, &[dir.path().to_str().unwrap()]).uid(NOBODY).gid(NOBODY).current_dir("/").status()
    };
    let status = run(&std::env::current_exe().unwrap()).or_else(|_| {
        // The binary is where that user may not go.
        std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        run(&copy)
    });
    assert!(status.unwrap().success(), "{test} failed in its child");
}
