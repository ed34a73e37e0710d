"""The command line as a table; nothing here imports a command's code."""

import argparse
import importlib
import os
from collections.abc import Callable

_RUN_EXAMPLES = """examples:
  marin run iceball-micro                       the whole chain, on this machine
  marin run iceball-micro --stage pretrain      up to one stage, with what it needs
  marin run iceball-micro --version 2026.08.01  under another version label
  marin plan iceball-micro                      what would run, and why"""


def _lazy(target: str) -> Callable[[argparse.Namespace], int | None]:
    module, _, function = target.partition(":")

    def call(args: argparse.Namespace) -> int | None:
        return getattr(importlib.import_module(f"marin.cli.{module}"), function)(args)

    return call


def parse(argv: list[str]) -> argparse.Namespace:
    """Parses a command line. Usage errors exit with 2, as argparse does."""
    parser = argparse.ArgumentParser(
        prog="marin",
        description="Develop foundation models in the open: raw text in, trained and evaluated model out.",
        epilog=_RUN_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--workspace",
        default=os.environ.get("MARIN_WORKSPACE", ".marin"),
        metavar="DIR",
        help="store, database, logs and ports ($MARIN_WORKSPACE, or .marin)",
    )
    common.add_argument("--output", choices=("table", "json"), default="table", help="form of the result on stdout")
    common.add_argument("--debug", action="store_true", help="show the Python trace of an error")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, target: str, help_: str, epilog: str = "") -> argparse.ArgumentParser:
        p = commands.add_parser(
            name,
            parents=[common],
            help=help_,
            description=help_,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        p.set_defaults(command=_lazy(target))
        return p

    for name, target, help_ in (
        ("run", "run:run", "build what an experiment needs, and say what came out"),
        ("plan", "run:plan", "say what a run would do with each artifact, and why"),
    ):
        p = add(name, target, help_, _RUN_EXAMPLES)
        p.add_argument("experiment", help="name of an experiment, for example iceball-micro")
        p.add_argument("--version", help="version label of the artifacts (v1)")
        p.add_argument("--stage", help="only this stage and what it needs")
        p.add_argument("--profile", help="cpu or gb200; by default what this machine has")
        p.add_argument("--corpus", action="append", default=[], metavar="FILE", help="use this text in place of the bundled one")
        p.add_argument("--project", default="default", help="project that owns the artifacts")
    p = add("status", "inspect:status", "show the processes of the workspace and the newest run")
    p.add_argument("run", nargs="?", help="a run id or a prefix of one")
    p = add("logs", "inspect:logs", "print the log of a job", "examples:\n  marin logs pretrain --follow")
    p.add_argument("job", nargs="?", help="stage or node of the newest run, or a job id; by default the newest job")
    p.add_argument("--attempt", type=int, default=0, help="attempt number (the newest)")
    p.add_argument("--follow", "-f", action="store_true", help="go on until the attempt ends")
    p = add("events", "inspect:events", "print the event log")
    p.add_argument("--from", dest="start", type=int, default=0, metavar="SEQ", help="first sequence number")
    p.add_argument("--follow", "-f", action="store_true", help="wait for more")
    p = commands.add_parser("artifacts", help="list or show committed artifacts", description="Committed artifacts.")
    sub = p.add_subparsers(metavar="list|show", required=True)
    q = sub.add_parser("list", parents=[common], help="list committed artifacts")
    q.add_argument("--project", default="default")
    q.set_defaults(command=_lazy("inspect:artifacts_list"))
    q = sub.add_parser("show", parents=[common], help="show one artifact: facts, inputs, files")
    q.add_argument("address", help="name@version")
    q.add_argument("--project", default="default")
    q.set_defaults(command=_lazy("inspect:artifacts_show"))
    p = add("up", "system:up", "start the bus and the services, and leave them running")
    p.add_argument("services", nargs="*", help="which ones (all)")
    add("down", "system:down", "stop what runs in the workspace")
    add("doctor", "system:doctor", "check this machine and the workspace, and say what to mend")
    p = commands.add_parser("env", help="list, install or remove the services' Python environments")
    p.add_argument("rest", nargs=argparse.REMAINDER, metavar="list|install|remove ...")
    p.set_defaults(command=_lazy("system:env"), debug=False)
    return parser.parse_args(argv)
