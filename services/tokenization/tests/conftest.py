"""Fixtures: documents, and a tokenizer trained on them."""

import sys
from pathlib import Path

import pytest
from marin.tokenization.v1 import tokenization_pb2 as pb

sys.path.insert(0, str(Path(__file__).parent))  # tests are no package, and share tokenization_support
from marin_tokenization import engine
from tokenization_support import TEXTS, make_job, write_documents


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
