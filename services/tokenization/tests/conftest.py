"""Fixtures: documents, a tokenizer trained on them, and a hub that is a server on this machine."""

import os
import sys
from pathlib import Path

import pytest

from marin.tokenization.v1 import tokenization_pb2 as pb

sys.path.insert(0, str(Path(__file__).parent))  # tests are no package, and share tokenization_support
from hub_stub import Hub

HUB = Hub()
# Read when huggingface_hub is imported. The imports below would otherwise settle on the real hub.
os.environ.update(HF_ENDPOINT=HUB.endpoint, MARIN_HUB_FIRST_PAUSE="0.01")
os.environ.pop("HF_HUB_OFFLINE", None)

from tokenization_support import TEXTS, make_job, stock_files, write_documents  # noqa: E402

from marin_tokenization import engine  # noqa: E402


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{"id": str(i), "text": t, "source": "test"} for i, t in enumerate(TEXTS)]
    return write_documents(tmp_path_factory.mktemp("documents"), [rows[:12], rows[12:], []])


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory, documents: Path) -> Path:
    job = make_job(
        tmp_path_factory.mktemp("t") / "a", "tokenizer", pb.TrainTokenizerSpec(vocab_size=300), documents=documents
    )
    engine.run(job)
    return job.out


@pytest.fixture(scope="session")
def stock(tokenizer: Path) -> dict[str, bytes]:
    """Files of a tokenizer as it lies on hubs: a class of its own, a template that marks nothing."""
    return stock_files(tokenizer / "tokenizer")


@pytest.fixture
def hub(stock: dict[str, bytes]) -> Hub:
    """A hub that has the stock tokenizer, with weights and a readme beside it."""
    HUB.clear()
    HUB.files["Qwen/Qwen3-0.6B-Base"] = {
        **stock,
        "model.safetensors": b"x" * 999,
        "README.md": b"#",
        "config.json": b"{}",
    }
    HUB.commits["Qwen/Qwen3-0.6B-Base"] = "da87bfb608c14b7cf20ba1ce41287e8de496c0cd"
    return HUB
