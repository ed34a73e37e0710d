import json
from pathlib import Path

import pytest
from levanter.store.cache import CacheLedger, TreeCache
from tokenization_support import FORGED, TEXTS, make_job, spawn, tree, write_documents
from tokenizers import Tokenizer

from marin.tokenization.v1 import tokenization_pb2 as pb
from marin_chassis.engine import EngineError, Job
from marin_tokenization import engine
from marin_tokenization.core.cache import EXEMPLAR


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory, documents: Path, tokenizer: Path) -> Job:
    root = tmp_path_factory.mktemp("cache") / "a"
    job = make_job(root, "tokens", pb.TokenizeSpec(), documents=documents, tokenizer=tokenizer)
    engine.run(job)
    return job


def test_another_directory_and_process_gives_the_same_bytes(
    cached: Job, tmp_path: Path, documents: Path, tokenizer: Path
) -> None:
    again = make_job(
        tmp_path / "elsewhere" / "b", "tokens", pb.TokenizeSpec(), documents=documents, tokenizer=tokenizer
    )
    assert spawn(again) == 0
    assert tree(again.out) == tree(cached.out)
    for name, data in tree(cached.out).items():
        assert str(cached.out).encode() not in data, name


def test_rows_are_the_documents_in_order(cached: Job) -> None:
    rows = TreeCache.load(str(cached.out / "cache" / "train"), EXEMPLAR)
    plain = Tokenizer.from_file(str(cached.out / "tokenizer" / "tokenizer.json"))
    assert [plain.decode(row["input_ids"][:-1], skip_special_tokens=False) for row in rows] == TEXTS
    assert {int(row["input_ids"][-1]) for row in rows} == {0}


def test_a_text_cannot_forge_special_tokens(cached: Job) -> None:
    rows = TreeCache.load(str(cached.out / "cache" / "train"), EXEMPLAR)
    forged = rows[TEXTS.index(FORGED)]["input_ids"]
    assert [int(i) for i in forged if i < 4] == [0]


def test_stats_agree_with_the_ledger(cached: Job) -> None:
    stats = json.loads((cached.out / "stats.json").read_text())
    ledger = CacheLedger.load(str(cached.out / "cache" / "train"))
    assert (stats["documents"], stats["tokens"]) == (len(TEXTS), ledger.field_counts["input_ids"])
    assert stats["text_bytes"] == sum(len(t.encode()) for t in TEXTS)
    assert stats["bytes_per_token"] == pytest.approx(stats["text_bytes"] / stats["tokens"], abs=1e-4)


def test_omit_eos_leaves_the_text_alone(tmp_path: Path, tokenizer: Path) -> None:
    documents = write_documents(tmp_path / "d", [[{"text": "river stone"}]])
    job = make_job(tmp_path / "j", "tokens", pb.TokenizeSpec(omit_eos=True), documents=documents, tokenizer=tokenizer)
    engine.run(job)
    ids = TreeCache.load(str(job.out / "cache" / "train"), EXEMPLAR)[0]["input_ids"]
    assert Tokenizer.from_file(str(tokenizer / "tokenizer" / "tokenizer.json")).decode(ids) == "river stone"


def test_an_empty_corpus_and_a_missing_tokenizer_are_errors(tmp_path: Path, documents: Path, tokenizer: Path) -> None:
    empty = write_documents(tmp_path / "d", [[], []])
    for n, (docs, tok, reason) in enumerate([(empty, tokenizer, "EMPTY_CORPUS"), (documents, empty, "NO_TOKENIZER")]):
        job = make_job(tmp_path / str(n), "tokens", pb.TokenizeSpec(), documents=docs, tokenizer=tok)
        with pytest.raises(EngineError) as e:
            engine.run(job)
        assert e.value.reason == reason
        assert not (job.out / "stats.json").exists()
