"""Tokenizers that were made elsewhere: from a hub (a server on this machine) and from a directory."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from hub_stub import Hub
from levanter.store.cache import TreeCache
from tokenization_support import make_job, spawn, tree, write_files
from transformers import AutoTokenizer

from marin.tokenization.v1 import tokenization_pb2 as pb
from marin_artifacts.identity import build_key, spec_dict
from marin_chassis.engine import EngineError, Job
from marin_contracts.chat import CHATML
from marin_contracts.tokenizer_files import TOKENIZER_FILES
from marin_tokenization import engine
from marin_tokenization.core.cache import EXEMPLAR
from marin_tokenization.core.spec import check_import_tokenizer

QWEN = pb.HubTokenizer(repo="Qwen/Qwen3-0.6B-Base", revision="da87bfb")


def spec(hub: pb.HubTokenizer = QWEN, chat_template: str = CHATML) -> pb.ImportTokenizerSpec:
    return pb.ImportTokenizerSpec(hub=hub, chat_template=chat_template)


def from_directory(path: Path, digest: str, chat_template: str = "") -> pb.ImportTokenizerSpec:
    return pb.ImportTokenizerSpec(
        directory=pb.TokenizerDirectory(path=str(path), sha256=digest), chat_template=chat_template
    )


def imported(root: Path, spec: pb.ImportTokenizerSpec) -> Job:
    job = make_job(root, "tokenizer.import", spec)
    engine.run(job)
    return job


def failure(root: Path, spec: pb.ImportTokenizerSpec) -> EngineError:
    job = make_job(root, "tokenizer.import", spec)
    with pytest.raises(EngineError) as e:
        engine.run(job)
    assert e.value.hint and not tree(job.out)
    return e.value


def test_a_hub_tokenizer_keeps_its_files_and_gets_the_template(tmp_path: Path, hub: Hub, stock: dict) -> None:
    out = imported(tmp_path / "j", spec()).out / "tokenizer"
    files = tree(out)
    assert files.pop("chat_template.jinja").decode() == CHATML
    config = json.loads(files.pop("tokenizer_config.json"))
    assert files == {k: v for k, v in stock.items() if k != "tokenizer_config.json"}
    stock_config = json.loads(stock["tokenizer_config.json"])
    del stock_config["chat_template"]
    assert config == stock_config
    chat = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]
    loaded = AutoTokenizer.from_pretrained(out)
    encoded = loaded.apply_chat_template(chat, return_dict=True, return_assistant_tokens_mask=True)
    said = [i for i, m in zip(encoded["input_ids"], encoded["assistant_masks"], strict=True) if m]
    assert loaded.decode(said) == "4<|im_end|>"


def test_only_tokenizer_files_are_fetched_and_all_from_the_commit(tmp_path: Path, hub: Hub, stock: dict) -> None:
    imported(tmp_path / "j", spec())
    fetched = {r.split("/resolve/")[1] for r in hub.requests if r.startswith("GET") and "/resolve/" in r}
    assert fetched == {f"da87bfb608c14b7cf20ba1ce41287e8de496c0cd/{name}" for name in stock}


def test_a_token_cache_takes_an_imported_tokenizer_for_a_trained_one(
    tmp_path: Path, hub: Hub, documents: Path, tokenizer: Path
) -> None:
    taken = imported(tmp_path / "i", spec()).out
    rows = []
    for n, source in enumerate((tokenizer, taken)):
        job = make_job(tmp_path / str(n), "tokens", pb.TokenizeSpec(), documents=documents, tokenizer=source)
        engine.run(job)
        rows.append([r["input_ids"].tolist() for r in TreeCache.load(str(job.out / "cache" / "train"), EXEMPLAR)])
    assert rows[0] == rows[1]


def test_hub_and_directory_in_another_process_give_the_same_bytes(tmp_path: Path, hub: Hub, stock: dict) -> None:
    place = write_files(tmp_path / "files", {**stock, "README.md": b"not of the tokenizer"})
    shell = f"sha256sum {' '.join(TOKENIZER_FILES)} 2>/dev/null | sha256sum"
    digest = subprocess.run(shell, shell=True, cwd=place, capture_output=True, text=True).stdout.split()[0]
    job = make_job(tmp_path / "d", "tokenizer.import", from_directory(place, digest, CHATML))
    assert spawn(job) == 0
    assert tree(job.out) == tree(imported(tmp_path / "h", spec()).out)


def test_the_digest_is_the_identity_of_a_directory_and_its_path_is_not() -> None:
    def key(*args: str) -> str:
        return build_key("tokenizer.import", from_directory(*args), {})

    assert key("/a", "0" * 64) == key("/b", "0" * 64) != key("/a", "1" * 64)
    assert key("/a", "0" * 64) != key("/a", "0" * 64, CHATML)


def test_a_directory_with_other_files_is_refused(tmp_path: Path, stock: dict) -> None:
    place = write_files(tmp_path / "files", stock)
    e = failure(tmp_path / "j", from_directory(place, "0" * 64))
    lines = "".join(f"{hashlib.sha256(stock[name]).hexdigest()}  {name}\n" for name in sorted(stock))
    assert e.reason == "DIGEST_MISMATCH" and hashlib.sha256(lines.encode()).hexdigest() in e.message
    assert failure(tmp_path / "k", from_directory(tmp_path / "nowhere", "0" * 64)).reason == "NO_TOKENIZER"


def test_failures_that_pass_are_tried_again(tmp_path: Path, hub: Hub) -> None:
    hub.failures[:] = [500, 429]
    imported(tmp_path / "j", spec())
    assert not hub.failures


def test_a_hub_that_stays_down_is_a_retryable_error(tmp_path: Path, hub: Hub) -> None:
    hub.failures[:] = [500] * 500
    e = failure(tmp_path / "j", spec())
    assert (e.code, e.reason, e.retryable) == ("UNAVAILABLE", "HUB_UNAVAILABLE", True)


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (pb.HubTokenizer(repo="nobody/nothing"), "NOT_FOUND", "the hub has no nobody/nothing at revision da87bfb"),
        (pb.HubTokenizer(revision="1234567"), "NOT_FOUND", "at revision 1234567"),
        (pb.HubTokenizer(repo="someone/gated"), "PERMISSION_DENIED", "does not let us read someone/gated"),
        (pb.HubTokenizer(repo="someone/slow"), "NOT_FOUND", "someone/slow has no tokenizer.json"),
        (pb.HubTokenizer(revision="feedbee"), "INVALID_ARGUMENT", "the revision is a branch or tag of that name"),
    ],
)
def test_what_the_hub_has_not_or_does_not_give(
    tmp_path: Path, hub: Hub, change: pb.HubTokenizer, code: str, says: str
) -> None:
    for repo in ("someone/gated", "someone/slow"):
        hub.files[repo], hub.commits[repo] = {"vocab.json": b"{}"}, hub.commits[QWEN.repo]
    asked = pb.HubTokenizer(repo=QWEN.repo, revision=QWEN.revision)
    asked.MergeFrom(change)
    e = failure(tmp_path / "j", spec(asked))
    assert e.code == code and says in e.message


def test_offline_is_said_so_with_the_fix(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    job = make_job(tmp_path / "j", "tokenizer.import", spec())
    assert spawn(job) == 1
    error = json.loads((job.record / "error.json").read_text())
    assert error["reason"] == "HUB_OFFLINE" and "unset HF_HUB_OFFLINE" in error["hint"]
    assert not hub.requests


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (pb.ImportTokenizerSpec(), "NO_SOURCE"),
        (spec(pb.HubTokenizer(repo="Qwen/Qwen3-0.6B-Base", revision="main")), "UNPINNED_REVISION"),
        (spec(pb.HubTokenizer(repo="gpt2", revision="da87bfb")), "BAD_REPO"),
        (spec(chat_template="{{ messages }}"), "TEMPLATE_WITHOUT_GENERATION"),
        (from_directory(Path("/a"), ""), "NO_DIGEST"),
        (from_directory(Path("a"), "0" * 64), "RELATIVE_PATH"),
    ],
)
def test_a_spec_that_does_not_pin_a_tokenizer_is_refused_at_creation(bad: pb.ImportTokenizerSpec, reason: str) -> None:
    with pytest.raises(EngineError) as e:
        check_import_tokenizer(spec_dict(bad), {})
    assert e.value.reason == reason
    with pytest.raises(EngineError, match="roles"):
        check_import_tokenizer(spec_dict(spec()), {"documents": "d@v1"})


def test_a_tokenizer_that_later_stages_would_stumble_over_is_refused(tmp_path: Path, hub: Hub, stock: dict) -> None:
    def error(name: str, **files: bytes) -> str:
        hub.files[QWEN.repo] = {**stock, **{k.replace("_json", ".json"): v for k, v in files.items()}}
        return failure(tmp_path / name, spec()).reason

    raw = json.loads(stock["tokenizer.json"])
    raw["added_tokens"].append({**raw["added_tokens"][0], "id": 999, "content": "<|far|>"})
    config = {**json.loads(stock["tokenizer_config.json"]), "eos_token": None}
    assert error("no-json", tokenizer_json=b"{}") == "BAD_TOKENIZER"
    raw["model"]["vocab"]["zzz"] = 999
    assert error("gap", tokenizer_json=json.dumps(raw).encode()) == "SPARSE_VOCABULARY"
    assert error("no-eos", tokenizer_config_json=json.dumps(config).encode()) == "NO_EOS_TOKEN"
    broken = pb.ImportTokenizerSpec(
        hub=QWEN, chat_template="{% generation %}{% endgeneration %}{{ messages[0]['content'] / 2 }}"
    )
    hub.files[QWEN.repo] = stock
    assert failure(tmp_path / "template", broken).reason == "BAD_TEMPLATE"
