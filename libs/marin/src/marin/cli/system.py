"""``marin up | down | doctor | env``."""

import argparse
import os
import shutil
import sys
from pathlib import Path

from marin.cli.output import print_json, print_table


def up(args: argparse.Namespace) -> int:
    """Starts services and leaves them running."""
    from marin.local import envs
    from marin.local.client import connect_or_start
    from marin.local.services import TABLE, environments_for

    names = args.services or [s.name for s in TABLE]
    for name in environments_for(names):
        envs.ensure(name)
    with connect_or_start(Path(args.workspace), ephemeral=False) as system:
        endpoints = system.ensure(names)
    if args.output == "json":
        print_json(endpoints)
    else:
        print_table(("service", "endpoint"), list(endpoints.items()))
    return 0


def down(args: argparse.Namespace) -> int:
    """Stops everything in the workspace."""
    from marin.local.client import connect

    system = connect(Path(args.workspace))
    if system is None:
        print("nothing runs in this workspace")
        return 0
    system.stop()
    print("stopped")
    return 0


def doctor(args: argparse.Namespace) -> int:
    """One line for each check; exit 1 if something must be mended."""
    checks = [_python(), _disk(Path(args.workspace)), _memory(), _accelerator(), *_environments()]
    if args.output == "json":
        print_json([{"check": n, "ok": ok, "detail": d} for n, ok, d in checks])
    else:
        print_table(("check", "", "detail"), [(n, "ok" if ok else "MEND", d) for n, ok, d in checks])
    return 0 if all(ok for _, ok, _ in checks) else 1


def env(args: argparse.Namespace) -> int:
    """Hands over to the environment installer."""
    from marin.local.envs import main

    return main(args.rest)


def _python() -> tuple[str, bool, str]:
    version = ".".join(map(str, sys.version_info[:3]))
    return "python", sys.version_info[:2] == (3, 12), f"{version} (3.12 is needed)"


def _disk(workspace: Path) -> tuple[str, bool, str]:
    place = workspace.resolve()
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK):
        return "workspace", False, f"{place} is not writable: choose another with --workspace"
    free = shutil.disk_usage(place).free / 2**30
    return "workspace", free > 15, f"{workspace}: {free:.0f} GiB free (15 GiB with all environments)"


def _memory() -> tuple[str, bool, str]:
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return "memory", gib > 7, f"{gib:.0f} GiB (8 GiB for iceball-micro)"


def _accelerator() -> tuple[str, bool, str]:
    from experiments.registry import default_profile

    return "profile", True, f"{default_profile()} is the default here"


_STATES = {"ready": "installed", "stale": "out of date: renewed when needed", "missing": "installed when first needed"}


def _environments() -> list[tuple[str, bool, str]]:
    from marin.local import envs
    from marin.local.errors import LocalError

    rows = []
    for name in envs.TABLE_NAMES:
        try:
            rows.append((f"env {name}", True, _STATES[envs.state(name)]))
        except LocalError as e:
            rows.append((f"env {name}", False, f"{e.message}: {e.hint}"))
    return rows
