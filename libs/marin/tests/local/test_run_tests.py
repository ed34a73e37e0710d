"""The test runner itself: a suite that fails, crashes, hangs or runs nothing never counts as passed."""

import importlib.util
import sys

import pytest

from marin.local.envs import ROOT
from marin.local.errors import LocalError

spec = importlib.util.spec_from_file_location("run_tests", ROOT / "tools" / "run_tests.py")
run_tests = importlib.util.module_from_spec(spec)
sys.modules["run_tests"] = run_tests
spec.loader.exec_module(run_tests)

GOOD = "def test_a():\n    pass\ndef test_b():\n    pass\n"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Returns a function that writes suites and gives them discovered, to be run by this very interpreter."""
    monkeypatch.setattr(run_tests.envs, "ensure", lambda _name: sys.executable)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # plugins would take most of the time

    def write(**suites: str) -> list[run_tests.Suite]:
        for name, text in suites.items():
            folder = tmp_path / ("tests" if name == "system" else f"services/{name}/tests")
            folder.mkdir(parents=True)
            (folder / f"test_{name}.py").write_text(text)
        return run_tests.discover(tmp_path)

    return write


def closing(suites, capfd, *extra: str) -> tuple[int, str]:
    for suite in suites:
        run_tests.run(suite, list(extra))
    status = run_tests.report(suites)
    return status, capfd.readouterr().out.splitlines()[-1]


def test_light_suites_come_first_and_the_whole_system_last(checkout):
    suites = checkout(system=GOOD, inference=GOOD, data=GOOD, catalog=GOOD, workflow=GOOD)
    assert [s.name for s in suites] == ["dev", "data", "inference", "system"]
    assert len(suites[0].directories) == 2


def test_names_choose_parts_of_suites(checkout):
    suites = checkout(system=GOOD, data=GOOD, catalog=GOOD, workflow=GOOD)
    chosen = run_tests.choose(suites, ["catalog", "system"])
    assert next((s.name, [d.parent.name for d in s.directories]) for s in chosen) == ("dev", ["catalog"])
    assert [s.name for s in chosen] == ["dev", "system"]
    with pytest.raises(LocalError, match="no test suite 'catalogue'"):
        run_tests.choose(suites, ["catalogue"])


def test_counts_of_all_suites_are_added(checkout, capfd):
    skipping = GOOD + "import pytest\ndef test_c():\n    pytest.skip('for a reason')\n"
    assert closing(checkout(data=GOOD, rl=skipping), capfd) == (0, "4 passed, 0 failed, 1 skipped")


def test_failures_and_errors_in_fixtures_fail(checkout, capfd):
    broken = "import pytest\n@pytest.fixture\ndef f():\n    raise OSError\ndef test_a(f):\n    pass\n"
    broken += "def test_b():\n    assert 0\n"
    assert closing(checkout(data=GOOD, rl=broken), capfd) == (1, "2 passed, 2 failed")


@pytest.mark.parametrize(
    "text",
    [
        "import os\ndef test_a():\n    pass\ndef test_b():\n    os._exit(0)\n",
        "import os\ndef test_a():\n    os.kill(os.getpid(), 11)\n",
        "this is no python\n",
        "",
    ],
    ids=["exits-0-in-the-middle", "segfault", "syntax-error", "no-test"],
)
def test_a_suite_without_a_good_end_is_one_failure(checkout, capfd, text):
    assert closing(checkout(data=GOOD, rl=text), capfd) == (1, "2 passed, 1 failed")


def test_a_hanging_suite_is_ended_and_counts_as_a_failure(checkout, capfd, monkeypatch):
    monkeypatch.setattr(run_tests, "LIMIT_SECONDS", 3)
    assert closing(checkout(rl="import time\ndef test_a():\n    time.sleep(600)\n"), capfd) == (1, "0 passed, 1 failed")


def test_what_a_suite_left_running_does_not_hold_the_runner(checkout, capfd):
    leaves = "import subprocess\ndef test_a():\n    subprocess.Popen(['sleep', '600'])\n"
    assert closing(checkout(rl=leaves), capfd) == (0, "1 passed, 0 failed")


def test_a_selection_that_leaves_a_suite_empty_is_no_failure_unless_nothing_ran(checkout, capfd):
    suites = checkout(data=GOOD, rl="def test_c():\n    pass\n")
    assert closing(suites, capfd, "-k", "test_c") == (0, "1 passed, 0 failed")
    assert closing(suites, capfd, "-k", "no_such_test") == (1, "0 passed, 0 failed")
