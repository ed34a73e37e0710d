"""Trains once for all tests, in three chains on two cores.

Loading Levanter is most of what a tiny training costs. It is loaded here once, before any of its threads is started,
and two idle copies of this process are forked; the chains run in them, and fork an engine process for each job.
"""

import multiprocessing
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

CACHE = tempfile.TemporaryDirectory(prefix="marin-training-tests-")
# Read when the libraries are imported; the engine sets the same for itself. Compiled steps are shared by all processes.
os.environ |= {
    "HF_HUB_OFFLINE": "1",
    "JAX_PLATFORMS": "cpu",
    "MARIN_CACHE_DIR": CACHE.name,
    "JAX_COMPILATION_CACHE_DIR": f"{CACHE.name}/jax",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "TRANSFORMERS_VERBOSITY": "error",
}
sys.path.insert(0, str(Path(__file__).parent))  # tests are no package, and share training_support

import training_support as support  # noqa: E402

import marin_training.core.levanter_adapter  # noqa: E402, F401
from marin_chassis.engine import Job  # noqa: E402


@dataclass(frozen=True)
class Chains:
    tuned: Future
    disturbed: Future
    padded: Future


@pytest.fixture(scope="session", autouse=True)
def pool() -> Iterator[ProcessPoolExecutor]:
    """Forked before the first test starts a thread of JAX's or tensorstore's, which a fork would not survive."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pool.submit(os.getpid).result()
        yield pool


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return support.write_tokens(tmp_path_factory.mktemp("tokens"))


@pytest.fixture(scope="session")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return support.write_conversations(tmp_path_factory.mktemp("chats"), support.CHATS)


@pytest.fixture(scope="session")
def chains(
    pool: ProcessPoolExecutor, tmp_path_factory: pytest.TempPathFactory, tokens: Path, conversations: Path
) -> Chains:
    root = tmp_path_factory.mktemp("runs")
    mixed = support.pretrain_spec(mixture_weights={"a": 0.75, "b": 0.25})
    inputs = {"tokens/a": tokens, "tokens/b": tokens}
    return Chains(
        tuned=pool.submit(support.run_tuned, root, mixed, inputs, conversations),
        disturbed=pool.submit(support.run_disturbed, root / "disturbed", mixed, inputs),
        padded=pool.submit(support.run_padded, root, tokens, conversations),
    )


@pytest.fixture(scope="session")
def pretrained(chains: Chains) -> Job:
    return chains.tuned.result()[0]


@pytest.fixture(scope="session")
def fine_tuned(chains: Chains) -> Job:
    return chains.tuned.result()[1]


@pytest.fixture(scope="session")
def disturbed(chains: Chains) -> support.Disturbed:
    return chains.disturbed.result()


@pytest.fixture(scope="session")
def padded(chains: Chains) -> support.Padded:
    return chains.padded.result()
