"""The package as it is installed: one abi3 wheel, an sdist that builds from nothing but itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

import xcsh_session

SMOKE = """
import xcsh_session, tempfile, pathlib
from xcsh_session import Session, SessionManager
assert pathlib.Path(xcsh_session.__file__).is_relative_to(pathlib.Path(__import__("sys").prefix))
file = pathlib.Path(tempfile.mkdtemp()) / "s.jsonl"
with SessionManager.open(file, breadcrumb=False) as session:
    id = session.append_message({"role": "assistant", "content": [], "text": "\\ud83d"})
assert Session.read(file).get_entry(id)["message"]["text"] == "\\ud83d"
print(xcsh_session.__version__)
"""

DIST = os.environ.get("XCSH_DIST")
needs_dist = pytest.mark.skipif(DIST is None, reason="XCSH_DIST names no directory with a wheel and an sdist")


def dist(pattern: str) -> Path:
    (found,) = Path(DIST or "").glob(pattern)
    return found


@needs_dist
def test_the_wheel_is_abi3_and_works_in_an_empty_environment(tmp_path: Path) -> None:
    wheel = dist("*.whl")
    assert re.fullmatch(r"xcsh_session-[\d.]+-cp311-abi3-\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"xcsh_session/py.typed", "xcsh_session/_native.pyi", "xcsh_session/types.py"} <= set(names)
    assert [name for name in names if name.endswith((".so", ".pyd"))] == ["xcsh_session/_native.abi3.so"]
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [os.fspath(python), "-m", "pip", "install", "-q", "--no-index", "--no-deps", os.fspath(wheel)]
    subprocess.run(install, check=True, timeout=120)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([python, "-c", SMOKE], check=True, timeout=60, env=env, capture_output=True, text=True)
    assert done.stdout.strip() == xcsh_session.__version__
    command = tmp_path / "venv" / "bin" / "xcsh-session"
    assert subprocess.run([command, "--version"], check=True, env=env, capture_output=True, text=True).stdout


@needs_dist
def test_the_sdist_holds_the_crates_and_no_more(tmp_path: Path) -> None:
    """That it builds from nothing but itself is shown by the wheel, which tests/run makes of it."""
    with tarfile.open(dist("*.tar.gz")) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {"pyproject.toml", "Cargo.lock", "core/Cargo.toml", "bindings-python/Cargo.toml"} <= set(names)
    assert not [name for name in names if name.endswith((".so", ".pyc")) or "/target/" in name]


def test_the_version_is_the_crates() -> None:
    (version,) = re.findall(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)
    assert xcsh_session.__version__ == version and sys.version_info >= (3, 11)
