"""The command line as a table; nothing here imports a command's code."""

import argparse
import importlib
import os
from collections.abc import Callable

_RUN_EXAMPLES = """examples:
  marin run iceball-micro                       the whole chain, on this machine
  marin run iceball-micro --stage pretrain      up to one stage, with what it needs
  marin run iceball-micro --version 2026.08.01  under another version label
  marin run config.yaml                         what a config says (`marin init` writes one)
  marin run config.yaml --stages data,pretrain  some of its stages, and what they need
  marin plan iceball-micro                      what would run, and why"""


_EVENTS_EXAMPLES = """examples:
  marin events --follow               print the log and wait for more
  marin events replay                 rebuild the state from the log alone and compare it with the catalog
  marin events dead                   what subscribers gave up on
  marin events dead --replay          publish it again"""


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
        p.add_argument("experiment", help="name of an experiment, for example iceball-micro, or a config.yaml")
        p.add_argument("--version", help="version label of the artifacts (v1)")
        p.add_argument("--stage", help="only this stage and what it needs")
        p.add_argument("--stages", metavar="A,B", help="of a config: only these stages and what they need")
        p.add_argument("--profile", help="cpu or gb200; by default what this machine has")
        p.add_argument(
            "--corpus", action="append", default=[], metavar="FILE", help="use this text in place of the bundled one"
        )
        p.add_argument("--project", default="default", help="project that owns the artifacts")
        _decisions(p)
    _project_commands(commands, add)
    p = add("status", "inspect:status", "show the processes of the workspace and the newest run")
    p.add_argument("run", nargs="?", help="a run id or a prefix of one")
    p = add(
        "logs",
        "inspect:logs",
        "print the log of a job",
        "examples:\n  marin logs pretrain --follow\n  marin logs --job my-3b-base --follow",
    )
    p.add_argument("job", nargs="?", help="stage or node of the newest run, or a job id; by default the newest job")
    p.add_argument(
        "--job",
        dest="of_job",
        metavar="NAME",
        help="of the newest run of the config or experiment NAME, step after step",
    )
    p.add_argument("--attempt", type=int, default=0, help="attempt number (the newest)")
    p.add_argument("--follow", "-f", action="store_true", help="go on until the attempt ends")
    p = add(
        "events",
        "maintain:events",
        "print the event log, check it, or see what subscribers could not take",
        _EVENTS_EXAMPLES,
    )
    p.add_argument("what", nargs="?", choices=("list", "replay", "dead"), default="list", help="print (list)")
    p.add_argument("--replay", action="store_true", help="of dead: publish them again")
    p.add_argument("--consumer", default="", metavar="NAME", help="of dead: only those of this subscriber")
    p.add_argument(
        "--letter", type=int, action="append", default=[], metavar="N", help="of dead --replay: only this one"
    )
    p.add_argument("--from", dest="start", type=int, default=0, metavar="SEQ", help="first sequence number")
    p.add_argument("--follow", "-f", action="store_true", help="wait for more")
    p = add("rebuild-stream", "maintain:rebuild_stream", "send the event log to the bus again, after the bus was lost")
    p.add_argument("--from", dest="start", type=int, default=0, metavar="SEQ", help="first sequence number")
    p = add(
        "gc",
        "maintain:gc",
        "put aside what no address and no artifact refers to, and delete what was put aside long ago",
    )
    p.add_argument("--dry-run", action="store_true", help="only say what would be done")
    p.add_argument("--older-than", type=float, default=7.0, metavar="DAYS", help="only attempts that ended before (7)")
    p.add_argument("--keep", type=float, default=7.0, metavar="DAYS", help="in quarantine before deletion (7)")
    p.add_argument("--store", metavar="DIR", help="where the services write ($WORKSPACE/store)")
    p.add_argument("--project", default="default")
    p = commands.add_parser("runs", help="list or show runs", description="Runs, with every attempt.")
    sub = p.add_subparsers(metavar="list|show", required=True)
    q = sub.add_parser("list", parents=[common], help="list runs, newest first")
    q.add_argument("--project", default="default")
    q.add_argument("--limit", type=int, default=20, help="at most so many (20)")
    q.set_defaults(command=_lazy("records:runs_list"))
    q = sub.add_parser("show", parents=[common], help="show one run: nodes, attempts, errors, logs")
    q.add_argument("run", help="a run id or a prefix of one")
    q.set_defaults(command=_lazy("records:runs_show"))
    p = add("lineage", "records:lineage", "show what an artifact was made from, or what was made from it")
    p.add_argument("address", help="name@version")
    way = p.add_mutually_exclusive_group()
    way.add_argument("--up", action="store_true", help="what it was made from (the default)")
    way.add_argument("--down", action="store_true", help="what was made from it")
    p.add_argument("--project", default="default")
    p = commands.add_parser("artifacts", help="list or show committed artifacts", description="Committed artifacts.")
    sub = p.add_subparsers(metavar="list|show", required=True)
    q = sub.add_parser("list", parents=[common], help="list committed artifacts")
    q.add_argument("--project", default="default")
    q.add_argument(
        "--job", metavar="NAME", help="only those of the config or experiment NAME, in the order of its stages"
    )
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


def _decisions(p: argparse.ArgumentParser) -> None:
    """What a person decides about addresses; see :mod:`marin.cli.decide`."""
    p.add_argument(
        "--on-drift",
        choices=("error", "serve", "rebuild"),
        default="error",
        help="when a version is committed with another build: stop, use it as it is, or build it anew in its place (error)",
    )
    p.add_argument("--fresh", action="store_true", help="build even what another address has already")
    p.add_argument(
        "--override", action="append", default=[], metavar="NAME=VERSION", help="use this version of one artifact"
    )


def _project_commands(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", add: Callable[..., argparse.ArgumentParser]
) -> None:
    """``init``, whose --workspace is where it writes, and ``validate``."""
    p = commands.add_parser(
        "init",
        help="write a small runnable project: config, data, README",
        epilog="examples:\n  marin init my-3b-base --template llama\n  marin init my-dna --template dna --workspace runs/dna",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("name", help="name of the job")
    p.add_argument("--template", default="llama", help="llama, qwen3, iceball-micro, dna or protein (llama)")
    p.add_argument("--workspace", metavar="DIR", help="directory to write to (the name)")
    p.add_argument("--output", choices=("table", "json"), default="table", help="form of the result on stdout")
    p.add_argument("--debug", action="store_true", help="show the Python trace of an error")
    p.set_defaults(command=_lazy("project:init"))
    p = add("validate", "project:validate", "check a config: form, files, references, and what cannot be honoured")
    p.add_argument("config", nargs="?", default="config.yaml", help="the main file (config.yaml)")
    p.add_argument("--stages", metavar="A,B", help="only as far as these stages need it")
    p.add_argument("--schema", action="store_true", help="print the JSON Schema of configs, for editors")
