"""``marin init`` and ``marin validate``: no service, no network, and no package heavier than pydantic."""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marin.config.problems import ConfigError, Problem, suggestion


def init(args: argparse.Namespace) -> int:
    """Writes a small runnable project."""
    from marin.config.text import artifact_name
    from marin.templates import TEMPLATES

    if artifact_name(args.name) != args.name or "/" in args.name:
        fix = "use letters, digits, '.', '_' and '-', starting with a letter or digit"
        raise ConfigError([Problem("marin init", f"'{args.name}' can be no job's name", fix)])
    if args.template not in TEMPLATES:
        fix = suggestion(args.template, TEMPLATES, f"templates are: {', '.join(TEMPLATES)}")
        raise ConfigError([Problem("marin init", f"there is no template '{args.template}'", fix)])
    root = Path(args.workspace or args.name)
    files = TEMPLATES[args.template].files(args.name)
    if taken := [name for name in files if (root / name).exists()]:
        fix = "choose another directory with --workspace, or remove what is there"
        raise ConfigError([Problem(str(root), f"there is a {taken[0]} already", fix)])
    try:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as e:
        what = f"{e.filename or root} cannot be written: {e.strerror}"
        raise ConfigError([Problem(str(root), what, "choose a directory that you may write to")]) from e
    if args.output == "json":
        print(
            json.dumps(
                {"name": args.name, "template": args.template, "directory": str(root), "files": sorted(files)}, indent=2
            )
        )
    else:
        print(f"{root}: {len(files)} files of the template {args.template}")
        print(f"next:\n  cd {root}\n  marin validate config.yaml\n  marin run config.yaml", file=sys.stderr)
    return 0


def validate(args: argparse.Namespace) -> int:
    """Checks a config and prints all that is wrong with it; exit 1 if anything is."""
    if args.schema:
        from marin.config.schema import json_schema

        print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
        return 0
    try:
        name, stages = _checked(Path(args.config), stages_of(args))
        problems: list[Problem] = []
    except ConfigError as e:
        name, stages, problems = "", [], e.problems
    if args.output == "json":
        print(
            json.dumps(
                {"valid": not problems, "job": name, "stages": stages, "problems": [vars(p) for p in problems]},
                indent=2,
            )
        )
    elif problems:
        from marin.cli.output import clean

        for p in problems:
            print(f"error: {clean(f'{p.where}: {p.what}')}\n  fix: {clean(p.fix)}", file=sys.stderr)
    else:
        print(f"{args.config} is valid: job {name}, stages {', '.join(stages)}")
    return 1 if problems else 0


def graph_of(args: argparse.Namespace, owner: str) -> Any:
    """The graph of the config that ``marin run`` or ``marin plan`` names."""
    from marin.config.compile import compile_graph
    from marin.config.load import load

    for option in ("profile", "corpus"):
        if getattr(args, option):
            what, fix = (
                f"--{option} is for experiments in Python",
                "leave it out; the config says what is read and how large the model is",
            )
            raise ConfigError([Problem(f"--{option}", what, fix)])
    return compile_graph(load(Path(args.experiment)), stages_of(args), args.version, owner)


def targets_of(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Least scores by name of the report and benchmark, as the config states them."""
    from marin.config.compile import report_name
    from marin.config.load import load

    block = load(Path(args.experiment)).config.eval
    if block is None or not block.targets:
        return {}
    return {report_name(block, "instruct" if block.instruct_model else "base"): dict(block.targets)}


def missed(targets: Mapping[str, Mapping[str, float]], scores: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One phrase for each score below its target. Reports that were not asked for are left out."""
    return [
        f"{report}: {benchmark} is {scores[report][benchmark]:.3g}, below the target of {least:g}"
        for report, wanted in targets.items()
        if report in scores
        for benchmark, least in wanted.items()
        if scores[report][benchmark] < least
    ]


def is_config(name: str) -> bool:
    """Whether what stands after ``marin run`` is a config and no experiment's name."""
    return name.endswith((".yaml", ".yml")) or (os.sep in name and Path(name).is_file())


def stages_of(args: argparse.Namespace) -> list[str]:
    """``--stages a,b`` and ``--stage a`` together."""
    listed = [s.strip() for s in (args.stages or "").split(",")] if args.stages is not None else []
    if args.stages is not None and not all(listed):
        fix = "write names with commas, for example --stages data,pretrain"
        raise ConfigError([Problem("--stages", "a stage has no name", fix)])
    return list(dict.fromkeys([*listed, *([args.stage] if getattr(args, "stage", None) else [])]))


def _checked(path: Path, stages: list[str]) -> tuple[str, list[str]]:
    from marin.config.checks import check, needed
    from marin.config.load import load

    project = load(path)
    wanted = needed(project, stages or project.stages)
    check(project, wanted)
    return project.name, wanted
