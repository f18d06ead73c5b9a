"""Several processes, several threads, and ``fork``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from xcsh_session import AgentDirs, HistoryStorage, Session, SessionManager, errors

EACH = 200

PYTHON_WRITER = """
import sys
from xcsh_session import AgentDirs, SessionManager
file, agent, who, count = sys.argv[1:]
with SessionManager.open(file, dirs=AgentDirs.at(agent), breadcrumb=False) as session:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(count)):
        print(session.append_custom_entry(who, {"number": number, "text": who * 500}))
"""

NODE_WRITER = """
const [file, who, count, addon] = process.argv.slice(1);
(async () => {
    const { SessionManager } = await import(addon);
    const session = await SessionManager.open(file);
    console.log("ready");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    for (let number = 0; number < Number(count); number++) {
        console.log(session.appendCustomEntry(who, { number, text: who.repeat(500) }));
    }
    await session.flush();
    await session.close();
    process.exit(0);
})().catch((error) => { console.error(error); process.exit(1); });
"""


def node_face() -> Path | None:
    """The entry point of the Node binding, where it is built and Node is there."""
    folder = ROOT / "bindings-node"
    package = folder / "package.json"
    if shutil.which("node") is None or not package.exists() or not any(folder.rglob("*.node")):
        return None
    described = json.loads(package.read_text(encoding="utf-8"))
    exported = described.get("exports", {})
    while isinstance(exported, dict):
        exported = next((exported[key] for key in (".", "import", "default", "require") if key in exported), None)
    main = folder / str(exported or described.get("main", "index.js"))
    return main if main.exists() else None


def start(command: list[str], agent: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PI_CODING_AGENT_DIR": os.fspath(agent)}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, _ = process.communicate("go\n", timeout=120)
    assert process.returncode == 0
    return out.split()


def write_from_processes(tmp_path: Path, commands: dict[str, list[str]]) -> None:
    agent = tmp_path / "agent"
    file = tmp_path / "shared.jsonl"
    with SessionManager.open(file, dirs=AgentDirs.at(agent), breadcrumb=False) as session:
        root = session.append_model_change("p/m")
    processes = {who: start(command, agent) for who, command in commands.items()}
    with ThreadPoolExecutor(len(processes)) as pool:
        ids = dict(zip(processes, pool.map(finish, processes.values()), strict=True))
    session_now = Session.read(file)
    found: dict[str, list[Any]] = {who: [] for who in ids}
    for entry in session_now:
        if entry["type"] == "custom":
            found[entry["customType"]].append(entry)
    for who, entries in found.items():
        assert [entry["id"] for entry in entries] == ids[who], who
        assert [entry["data"]["number"] for entry in entries] == list(range(EACH))
        assert all(entry["data"]["text"] == who * 500 for entry in entries)
        parents = [entry["parentId"] for entry in entries]
        assert parents == [root, *ids[who][:-1]], "every writer's own chain"
    assert not any(session_now.diagnostics().values())


def test_two_python_processes_lose_nothing(tmp_path: Path) -> None:
    file, agent = tmp_path / "shared.jsonl", tmp_path / "agent"
    command = [sys.executable, "-c", PYTHON_WRITER, os.fspath(file), os.fspath(agent)]
    write_from_processes(tmp_path, {who: [*command, who, str(EACH)] for who in ("a", "b")})


def test_two_python_processes_and_one_node_process_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = node_face()
    if main is None:
        with capsys.disabled():
            print("\nskipped: no Node process among the writers, because bindings-node has no built addon")
        pytest.skip("bindings-node has no built addon")
    file, agent = tmp_path / "shared.jsonl", tmp_path / "agent"
    python = [sys.executable, "-c", PYTHON_WRITER, os.fspath(file), os.fspath(agent)]
    commands = {who: [*python, who, str(EACH)] for who in ("a", "b")}
    commands["n"] = ["node", "-e", NODE_WRITER, os.fspath(file), "n", str(EACH), os.fspath(main)]
    write_from_processes(tmp_path, commands)


def test_threads_share_a_session(dirs: AgentDirs) -> None:
    with SessionManager.create("/srv/pi", dirs=dirs) as session:
        session.append_message({"role": "assistant", "content": []})
        stop = threading.Event()

        def read() -> int:
            rounds = 0
            while not stop.is_set():
                assert len(list(session)) <= len(session)
                session.build_session_context()
                rounds += 1
            return rounds

        def write(who: int) -> list[str]:
            return [session.append_custom_entry("t", [who, number]) for number in range(EACH)]

        with ThreadPoolExecutor(6) as pool:
            reader = pool.submit(read)
            written = [entry_id for ids in pool.map(write, range(4)) for entry_id in ids]
            session.flush()
            stop.set()
            assert reader.result() > 0
        file = session.get_session_file()
    assert file is not None
    after = Session.read(file)
    assert sorted(entry["id"] for entry in after)[:] == sorted([after.get_entries()[0]["id"], *written])
    assert len(after.get_branch()) == 4 * EACH + 1, "one chain"


def test_other_threads_run_while_the_library_works(tmp_path: Path) -> None:
    """A thread that waits for another writer's lock does not hold the interpreter's."""
    fcntl = pytest.importorskip("fcntl")
    file = tmp_path / "s.jsonl"
    with SessionManager.open(file, lock_timeout=0.5, breadcrumb=False) as session:
        session.append_model_change("p/m")
    with file.open("rb") as held, SessionManager.open(file, lock_timeout=0.5, breadcrumb=False) as session:
        fcntl.flock(held, fcntl.LOCK_EX)
        ticks = 0
        failed = threading.Event()

        def append() -> None:
            with pytest.raises(errors.LockedError):
                session.append_model_change("p/n")
            failed.set()

        thread = threading.Thread(target=append)
        thread.start()
        while not failed.wait(0.01):
            ticks += 1
        thread.join()
        fcntl.flock(held, fcntl.LOCK_UN)
        assert ticks >= 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_neither_uses_nor_harms_its_parents_handles(dirs: AgentDirs) -> None:
    session = SessionManager.create("/srv/pi", dirs=dirs)
    held_back = session.append_message({"role": "user", "content": "not written yet"})
    history = HistoryStorage(dirs=dirs)
    history.add("from the parent")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(30)
            for use in (lambda: session.append_model_change("p/m"), lambda: len(session), history.flush):
                try:
                    use()
                    os._exit(2)
                except errors.ClosedError as error:
                    assert "fork" in str(error)
            del session, history, use
            with SessionManager.create("/srv/child", dirs=dirs) as own, HistoryStorage(dirs=dirs) as own_history:
                own.append_message({"role": "assistant", "content": []})
                own_history.add("from the child")
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    session.append_message({"role": "assistant", "content": []})
    session.close()
    file = session.get_session_file()
    assert file is not None
    assert [entry["id"] for entry in Session.read(file)][0] == held_back and len(Session.read(file)) == 2
    with history:
        history.flush()
        assert sorted(entry.prompt for entry in history.get_recent()) == ["from the child", "from the parent"]
