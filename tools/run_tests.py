"""Runs every test suite in the environment of its part, light ones first, whole-system tests last.

A suite is one pytest process: the test directories that share an environment. The last line printed is the total,
``N passed, M failed[, K skipped]``. A suite that ends without a summary (crashed, hung) counts as one failure.
"""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from marin.local import envs
from marin.local.errors import LocalError

ROOT = envs.ROOT
DEV = ("contracts", "artifacts", "chassis", "marin", "catalog", "workflow")
BESIDE = {
    "evaluation": ("harness-lm-eval", "harness-harbor"),
    "rl": ("inference",),
    "training": ("inference",),
}
"""Environments that a suite runs processes of, beside its own."""
ORDER = ("dev", "data", "evaluation", "tokenization", "training", "rl", "inference")
LIMIT_SECONDS = 40 * 60
SUMMARY = re.compile(r"^=* ?((?:\d+ [a-z]+(?:, )?)+|no tests ran)(?: in [\d.]+s.*)$")
COUNT = re.compile(r"(\d+) ([a-z]+)")


@dataclass
class Suite:
    """Test directories that run in one environment, and how they went."""

    name: str
    environment: str
    directories: list[Path]
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    trouble: str = ""

    def total(self, *words: str) -> int:
        return sum(self.counts.get(w, 0) for w in words)

    @property
    def passed(self) -> int:
        return self.total("passed", "xfailed", "xpassed")

    @property
    def failed(self) -> int:
        return self.total("failed", "error", "errors") + bool(self.trouble)

    @property
    def skipped(self) -> int:
        return self.total("skipped")


def discover(root: Path = ROOT) -> list[Suite]:
    """All suites of a checkout in the order they run."""
    found: dict[str, list[Path]] = {}
    for directory in sorted([*root.glob("libs/*/tests"), *root.glob("services/*/tests")]):
        part = directory.parent.name
        environment = "dev" if part in DEV else "data" if part in ("datakernels", "samples") else part
        if any(directory.rglob("test_*.py")):
            found.setdefault(environment, []).append(directory)
    rank = {name: i for i, name in enumerate(ORDER)}
    suites = [Suite(e, e, found[e]) for e in sorted(found, key=lambda e: (rank.get(e, len(rank)), e))]
    if any((root / "tests").rglob("test_*.py")):
        suites.append(Suite("system", "dev", [root / "tests"]))
    return suites


def choose(suites: list[Suite], names: list[str]) -> list[Suite]:
    """Narrows the suites to the named ones, or the named parts of them. Raises LocalError for an unknown name."""
    if not names:
        return suites
    parts = {d.parent.name: s for s in suites for d in s.directories if s.name != "system"}
    if unknown := [n for n in names if n not in parts and n not in {s.name for s in suites}]:
        known = sorted({s.name for s in suites} | parts.keys())
        raise LocalError(f"there is no test suite '{unknown[0]}'", f"choose from: {', '.join(known)}")
    chosen = []
    for suite in suites:
        own = [
            d for d in suite.directories if suite.name in names or (suite.name != "system" and d.parent.name in names)
        ]
        if own:
            chosen.append(Suite(suite.name, suite.environment, own))
    return chosen


def run(suite: Suite, extra: list[str]) -> None:
    """Runs one suite, shows its output as it comes, and fills in how it went."""
    suite.counts, suite.trouble = {}, ""
    began = time.monotonic()
    print(f"\n=== {suite.name} (environment {suite.environment}): {_places(suite)}", flush=True)
    try:
        python = envs.ensure(suite.environment)
        for needed in BESIDE.get(suite.environment, ()):
            envs.ensure(needed)
    except LocalError as e:
        print(f"error: {e}", flush=True)
        suite.trouble = "its environment could not be installed"
        return
    _pytest(suite, [str(python), "-m", "pytest", *map(str, suite.directories), *extra], bool(extra))
    suite.seconds = time.monotonic() - began


def _pytest(suite: Suite, command: list[str], narrowed: bool) -> None:
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    summaries: list[str] = []
    reader = threading.Thread(target=_show, args=(process.stdout, summaries), daemon=True)
    reader.start()
    try:
        status = process.wait(LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        with contextlib.suppress(ProcessLookupError):  # also what the tests left running, which may hold the pipe
            os.killpg(process.pid, signal.SIGKILL)
    reader.join(5)
    if summaries:
        counts = COUNT.findall(SUMMARY.match(summaries[-1])[1])
        suite.counts = {word: int(number) for number, word in counts}
    suite.trouble = _trouble(suite, status, bool(summaries), narrowed)


def _show(lines: IO[str], summaries: list[str]) -> None:
    for line in lines:
        print(line, end="", flush=True)
        if SUMMARY.match(line.strip()):
            summaries.append(line.strip())


def _trouble(suite: Suite, status: int | None, summed_up: bool, narrowed: bool) -> str:
    """What went wrong beyond failing tests, or nothing."""
    if status is None:
        return f"it was ended after {LIMIT_SECONDS / 60:.0f} minutes"
    if status == 5 or (status == 0 and not suite.passed):
        return "" if narrowed else "it ran no test"
    if not summed_up:
        return f"pytest ended with status {status} and without a summary"
    told = status == 0 or (
        status in (1, 2) and suite.failed
    )  # 2: modules that could not be imported, counted as errors
    return "" if told else f"pytest ended with status {status}"


def _places(suite: Suite) -> str:
    return " ".join(os.path.relpath(d, ROOT) for d in suite.directories)


def report(suites: list[Suite]) -> int:
    """Prints the times and the closing line; returns the exit status."""
    print("\nsuite               seconds   passed   failed  skipped")
    for s in suites:
        print(f"{s.name:<18} {s.seconds:8.0f} {s.passed:8} {s.failed:8} {s.skipped:8}  {s.trouble}".rstrip())
    passed, failed, skipped = (sum(getattr(s, k) for s in suites) for k in ("passed", "failed", "skipped"))
    if not passed and not failed:
        print("no test ran", file=sys.stderr)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 0 if passed and not failed else 1


def main() -> int:
    suites = discover()
    parser = argparse.ArgumentParser(
        prog="tools/test", description="Runs the tests, each suite in its own environment."
    )
    parser.add_argument(
        "names", nargs="*", help=f"only these suites, or parts of them: {', '.join(s.name for s in suites)}"
    )
    parser.add_argument("-k", metavar="EXPRESSION", help="only tests whose names match (as in pytest)")
    parser.add_argument("--fast", action="store_true", help="leave out tests marked slow")
    args = parser.parse_args()
    try:
        chosen = choose(suites, args.names)
    except LocalError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    extra = (["-k", args.k] if args.k else []) + (["-m", "not slow"] if args.fast else [])
    try:
        for suite in chosen:
            run(suite, extra)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    return report(chosen)


if __name__ == "__main__":
    sys.exit(main())
