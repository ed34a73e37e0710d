"""A toy system, and ``marin`` on it."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))
from toy import Toy


@pytest.fixture
def make_toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Toy]]:
    """Starts systems, each on a workspace of its own below ``tmp_path``; ends them all."""
    started: list[Toy] = []
    for name in ("TOY", "PYTHONPATH"):
        monkeypatch.setenv(name, "")  # put back at the end

    def make(name: str = "ws", relative: bool = False, **options: Any) -> Toy:
        """``relative``: to the current directory, which must be ``tmp_path``."""
        started.append(Toy(Path(name) if relative else tmp_path / name, **options))
        return started[-1]

    yield make
    for toy in started:
        toy.stop()


@pytest.fixture
def toy(make_toy: Callable[..., Toy]) -> Toy:
    return make_toy()


@pytest.fixture
def marin(toy: Toy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """``marin ARGS`` in this process; returns (exit code, stdout, stderr), or the JSON with ``as_json``."""
    import marin.cli.__main__ as cli
    from marin.local import client, envs

    monkeypatch.setattr(client, "connect_or_start", lambda *args, **options: toy)
    monkeypatch.setattr(envs, "ensure", lambda name: None)

    def call(*args: str, as_json: bool = False) -> Any:
        capsys.readouterr()
        output = ["--output", "json"] if as_json else []
        code = cli.main([*args, "--workspace", str(toy.workspace), *output])
        out, err = capsys.readouterr()
        return json.loads(out) if as_json else (code, out, err)

    return call
