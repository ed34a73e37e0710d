"""Trains once for all tests: engine processes are slow to start, so they run in two chains side by side."""

import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from marin_chassis.engine import Job

sys.path.insert(0, str(Path(__file__).parent))  # tests are no package, and share training_support
import training_support as support

MIXED = support.pretrain_spec(mixture_weights={"a": 0.75, "b": 0.25})


@dataclass(frozen=True)
class Disturbed:
    """One pretraining job in three attempts: ended by SIGTERM, by SIGKILL, and finished."""

    attempts: tuple[Job, Job, Job]
    codes: tuple[int, int, int]
    checkpoints_after_term: list[str]


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return support.write_tokens(tmp_path_factory.mktemp("tokens"))


@pytest.fixture(scope="session")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return support.write_conversations(tmp_path_factory.mktemp("chats"), support.CHATS)


@pytest.fixture(scope="session")
def chains(
    tmp_path_factory: pytest.TempPathFactory, tokens: Path, conversations: Path
) -> Iterator[tuple[Future, Future, Future]]:
    root = tmp_path_factory.mktemp("runs")
    plain = support.make_job(root / "plain", "checkpoint.pretrain", MIXED, _mixed(tokens))
    inputs = {"init": plain.out, "conversations": conversations}
    tuned = support.make_job(root / "tuned", "checkpoint.sft", support.sft_spec(), inputs)
    with ThreadPoolExecutor(2) as pool, pytest.MonkeyPatch.context() as env:
        env.setenv("MARIN_CACHE_DIR", str(root / "cache"))
        disturbed = pool.submit(_disturbed, root / "disturbed", tokens)
        undisturbed = pool.submit(_finished, plain)
        yield undisturbed, disturbed, pool.submit(lambda: undisturbed.result() and _finished(tuned))


@pytest.fixture(scope="session")
def pretrained(chains: tuple[Future, Future, Future]) -> Job:
    return chains[0].result()


@pytest.fixture(scope="session")
def disturbed(chains: tuple[Future, Future, Future]) -> Disturbed:
    return chains[1].result()


@pytest.fixture(scope="session")
def fine_tuned(chains: tuple[Future, Future, Future]) -> Job:
    return chains[2].result()


def _mixed(tokens: Path) -> dict[str, Path]:
    return {"tokens/a": tokens, "tokens/b": tokens}


def _finished(job: Job) -> Job:
    code = support.spawn(job).wait(support.HANG_SECONDS)
    assert code == 0, (job.record / "log.txt").read_text()[-3000:]
    return job


def _disturbed(root: Path, tokens: Path) -> Disturbed:
    def attempt(n: int) -> Job:
        return support.make_job(root / f"attempt-{n}", "checkpoint.pretrain", MIXED, _mixed(tokens), root / "scratch")

    first, second, third = attempt(1), attempt(2), attempt(3)
    termed = support.signal_at_step(first, support.spawn(first), 10, signal.SIGTERM)
    saved = sorted(p.parent.name for p in (root / "scratch" / "checkpoints").glob("step-*/metadata.json"))
    killed = support.signal_at_step(second, support.spawn(second), 80, signal.SIGKILL)
    _finished(third)
    return Disturbed((first, second, third), (termed, killed, 0), saved)
