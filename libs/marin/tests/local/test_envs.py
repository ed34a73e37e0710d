"""Environments, with a stand-in for uv that makes real (empty) ones and counts its calls; once with the real uv."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from marin.local import envs, uv
from marin.local.environments import TABLE, Environment
from marin.local.envs import BUSY, ROOT, Environments
from marin.local.errors import LocalError

FAKE_UV = f"""#!{sys.executable}
import os, sys, time
from pathlib import Path
args = sys.argv[1:]
here = Path(os.environ["FAKE_UV_LOG"])
if args == ["--version"]:
    sys.exit(print("uv 0.9.1"))
with open(here, "a") as f:
    f.write(" ".join(args) + "\\n")
if args[0] == "venv":
    import venv
    venv.create(args[-1], symlinks=True)
else:
    home = Path(args[args.index("--python") + 1]).parents[1]
    (home / "half").write_text("written before the end")
    print("Downloading heavy (175.0MiB)", file=sys.stderr, flush=True)
    if "FAKE_UV_SAYS" in os.environ:
        sys.exit(print(os.environ["FAKE_UV_SAYS"], file=sys.stderr) or 2)
    time.sleep(float(os.environ.get("FAKE_UV_SLEEP", 0)))
    (home / "half").unlink()
    (home / "whole").write_text(Path(args[-1]).read_text())
"""


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """The stand-in is first on PATH; returns a function that gives the verbs it was called with since the last time."""
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "uv"
    tool.write_text(FAKE_UV)
    tool.chmod(0o755)
    log = tmp_path / "uv.log"
    monkeypatch.setenv("FAKE_UV_LOG", str(log))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.delenv("MARIN_UV", raising=False)

    def read() -> list[str]:
        lines = log.read_text().splitlines() if log.exists() else []
        log.write_text("")
        return ["venv" if line.startswith("venv") else "sync" for line in lines]

    return read


@pytest.fixture
def repo(tmp_path):
    """A checkout of two services that share a lock, and one that has its own."""
    root = tmp_path / "repo"
    for name, lock in {"one": "a==1\n", "two": "a==1\n", "three": "b==1\n"}.items():
        (root / name / "src").mkdir(parents=True)
        (root / name / f"{name}.lock").write_text(lock)
        (root / name / "src" / f"module_{name}.py").write_text(f"value = '{name}'\n")
    return root


def make(root: Path, **changes) -> Environments:
    names = ("one", "two", "three")
    table = tuple(Environment(n, f"{n}/{n}.lock", changes.get(n, (f"{n}/src",)), "for a test") for n in names)
    return Environments(root, table, root / ".envs")


def quiet(_line: str) -> None:
    pass


def imports(python: Path, module: str) -> bool:
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def test_missing_is_installed_once_and_then_needs_no_uv(repo, calls, monkeypatch):
    environments, said = make(repo), []
    assert environments.state("three") == "missing"
    python = environments.ensure("three", said.append, tty=False)
    assert calls() == ["venv", "sync"]
    assert environments.state("three") == "ready"
    assert imports(python, "module_three")
    assert said[0] == "environment three (for a test): 1 packages; less what is in uv's cache"
    assert "environment three: Downloading heavy (175.0MiB)" in said
    monkeypatch.setenv("PATH", "/nowhere")
    assert environments.ensure("three", said.append) == python
    assert calls() == []


def test_another_lock_is_synced_into_the_same_environment(repo, calls):
    environments = make(repo)
    environments.ensure("three", quiet, tty=False)
    calls()
    (repo / "three" / "three.lock").write_text("b==2\n")
    assert environments.state("three") == "stale"
    environments.ensure("three", quiet, tty=False)
    assert calls() == ["sync"]
    assert (repo / ".envs" / "three" / "whole").read_text() == "b==2\n"
    assert environments.state("three") == "ready"


def test_other_sources_change_the_path_and_nothing_else(repo, calls):
    make(repo).ensure("three", quiet, tty=False)
    calls()
    environments = make(repo, three=("three/src", "one/src"))
    assert environments.state("three") == "stale"
    assert imports(environments.ensure("three", quiet, tty=False), "module_one")
    assert calls() == []


def half_installed(repo: Path, uv_seconds: str) -> subprocess.Popen:
    """An installer in a process group of its own, whose uv is at work."""
    code = (
        "import sys; from pathlib import Path; from marin.local.envs import Environments;"
        "from marin.local.environments import Environment as E; root = Path(sys.argv[1]);"
        "envs = Environments(root, (E('three', 'three/three.lock', (), ''),), root / '.envs');"
        "envs.ensure('three', print, tty=False)"
    )
    installer = subprocess.Popen(
        [sys.executable, "-c", code, str(repo)],
        env={**os.environ, "FAKE_UV_SLEEP": uv_seconds},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not (repo / ".envs" / "three" / "half").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return installer


def test_an_install_that_is_killed_is_never_taken_as_good(repo, calls):
    installer = half_installed(repo, "600")
    os.killpg(installer.pid, signal.SIGKILL)
    installer.wait()
    calls()

    environments = make(repo)
    assert (repo / ".envs" / "three" / "half").exists()
    assert environments.state("three") == "missing"
    environments.ensure("three", quiet, tty=False)
    assert calls() == ["venv", "sync"], "it is made from nothing, since what is there cannot be trusted"
    assert environments.state("three") == "ready"


def test_an_install_waits_for_the_uv_of_a_killed_installer(repo, calls):
    installer = half_installed(repo, "1.5")
    installer.kill()
    installer.wait()
    said = []
    make(repo).ensure("three", said.append, tty=False)
    assert said[0] == "environment three: another process is installing it; waiting"
    assert not (repo / ".envs" / "three" / "half").exists()
    assert make(repo).state("three") == "ready"


def test_environments_with_one_lock_share_a_directory_until_the_locks_part(repo, calls):
    environments = make(repo)
    environments.ensure("two", quiet, tty=False)
    environments.ensure("one", quiet, tty=False)
    assert calls() == ["venv", "sync"]
    for name in ("one", "two"):
        assert imports(environments.python(name), "module_one")
        assert imports(environments.python(name), "module_two")
    with pytest.raises(LocalError, match="also serves two"):
        environments.remove("one")

    (repo / "two" / "two.lock").write_text("a==2\n")
    assert (environments.state("one"), environments.state("two")) == ("stale", "stale")
    environments.ensure("two", quiet, tty=False)
    environments.ensure("one", quiet, tty=False)
    assert (repo / ".envs" / "one" / "whole").read_text() == "a==1\n"
    assert (repo / ".envs" / "two" / "whole").read_text() == "a==2\n"
    assert not imports(environments.python("one"), "module_two")


def test_removing_a_name_that_is_not_there_leaves_its_twin(repo, calls):
    environments = make(repo)
    environments.ensure("one", quiet, tty=False)
    environments.remove("two")
    assert environments.state("one") == "ready"
    environments.remove("one")
    assert environments.state("one") == "missing"


def test_two_installers_at_once_install_once(repo, calls, monkeypatch):
    monkeypatch.setenv("FAKE_UV_SLEEP", "0.3")
    results, said = [], []
    work = [
        threading.Thread(target=lambda: results.append(make(repo).ensure("three", said.append, tty=False)))
        for _ in range(3)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert len(results) == 3
    assert calls() == ["venv", "sync"]
    assert "environment three: another process is installing it; waiting" in said


@pytest.mark.parametrize(
    "uv_says, hint",
    [
        ("error: client error (Connect)\n  cause: dns error: failed to lookup address", "reaches a package index"),
        ("error: client error (Connect)\n  cause: invalid peer certificate: UnknownIssuer", "SSL_CERT_FILE"),
        ("error: failed to write: No space left on device (os error 28)", "free some disk space"),
        ("error: failed to create directory: Permission denied (os error 13)", "writable"),
        ("error: Hash mismatch for heavy==1", "lock again"),
    ],
)
def test_a_failed_install_says_why_and_what_to_do(repo, calls, monkeypatch, uv_says, hint):
    monkeypatch.setenv("FAKE_UV_SAYS", uv_says)
    with pytest.raises(LocalError) as e:
        make(repo).ensure("three", quiet, tty=False)
    assert uv_says.splitlines()[0] in e.value.message
    assert hint in e.value.hint
    assert (repo / ".envs" / "three" / BUSY).exists()
    assert make(repo).state("three") == "missing"


def test_a_directory_that_cannot_be_made_is_an_error_with_the_fix(repo, calls):
    (repo / "file").write_text("")
    environments = Environments(repo, tuple(make(repo).table.values()), repo / "file" / "envs")
    with pytest.raises(LocalError, match=r"could not be written below .*file/envs") as e:
        environments.ensure("three", quiet)
    assert "MARIN_ENVS_DIR" in e.value.hint


def test_without_uv_and_without_a_package_index_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("MARIN_UV", raising=False)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(LocalError, match="uv could not be installed") as e:
        uv.find_uv(tmp_path / "envs", quiet)
    assert "PIP_INDEX_URL" in e.value.hint
    assert not (tmp_path / "envs" / "uv").exists()


def test_the_real_uv_makes_an_environment_that_imports_our_sources(repo, monkeypatch):
    (repo / "three" / "three.lock").write_text("# nothing is needed\n")
    tool = uv.find_uv(envs._default.directory, quiet)
    monkeypatch.setenv("MARIN_UV", tool)
    monkeypatch.setenv("UV_OFFLINE", "1")
    python = make(repo).ensure("three", quiet, tty=False)
    assert imports(python, "module_three")


def test_the_command_tells_success_from_failure(capsys):
    assert envs.main(["install", "trainign"]) == 1
    assert "there is no environment 'trainign'" in capsys.readouterr().err
    assert envs.main(["install"]) == 2
    assert envs.main(["list"]) == 0
    shown = capsys.readouterr().out
    assert all(e.name in shown for e in TABLE)


def launcher_checkout(tmp_path: Path) -> Path:
    """A checkout with the launcher and a `marin.cli` that prints its arguments."""
    root = tmp_path / "a checkout"
    shutil.copytree(ROOT / "tools", root / "tools")
    local = root / "libs/marin/src/marin/local"
    shutil.copytree(ROOT / "libs/marin/src/marin/local", local)
    (local.parent / "cli.py").write_text("import sys\nprint(sys.argv[1:])\nsys.exit(5)\n")
    (root / "libs/marin/requirements.lock").write_text("# 0 packages\n")
    return root


def launch(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MARIN_ENVS_DIR")}
    return subprocess.run([root / "tools" / "marin", *arguments], cwd="/", env=env, capture_output=True, text=True)


def test_the_launcher_installs_the_client_when_its_lock_is_new_and_passes_everything_on(tmp_path, calls, monkeypatch):
    monkeypatch.setenv("MARIN_PYTHON", uv.base_python())
    root = launcher_checkout(tmp_path)
    first = launch(root, "plan", "a b")
    assert (first.returncode, first.stdout) == (5, "['plan', 'a b']\n")
    assert "environment client" in first.stderr
    assert calls() == ["venv", "sync"]
    again = launch(root, "plan", "a b")
    assert (again.returncode, again.stdout, again.stderr) == (5, "['plan', 'a b']\n", "")
    (root / "libs/marin/requirements.lock").write_text("# 0 packages, again\n")
    assert launch(root, "x").stdout == "['x']\n"
    assert calls() == ["sync"]


def test_the_launcher_without_python_says_what_to_do(tmp_path, monkeypatch):
    root = launcher_checkout(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "env", "dirname", "readlink", "cat", "cmp"):
        (tools / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.delenv("MARIN_PYTHON", raising=False)
    done = launch(root)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no Python 3.12 was found")
    assert "fix: " in done.stderr
