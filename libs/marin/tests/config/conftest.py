"""Projects in a temporary directory, and ``marin validate`` on them."""

import json
import textwrap
from pathlib import Path

import pytest

from marin.cli.__main__ import main

DATA = """\
data:
  sources:
    - name: web
      type: jsonl
      path: web/
      weight: 0.6
    - name: code
      type: jsonl
      path: code/part-*.jsonl
      weight: 0.4
  tokenizer:
    train:
      vocab_size: 512
  max_seq_len: 128
  preprocessing:
    dedup: exact
    filter:
      min_text_len: 32
      max_doc_ratio: 0.95
  output: /data/tokenized/
"""
PRETRAIN = """\
pretrain:
  model:
    type: llama
    hidden_size: 64
    intermediate_size: 128
    num_layers: 2
    num_attention_heads: 4
    num_kv_heads: 2
    vocab_size: 512
  data:
    path: /data/tokenized/
    micro_batch_size: 4
  training:
    lr: 3e-4
    warmup_steps: 10
    total_steps: 100
    max_grad_norm: 1.0
  parallel:
    data_parallel: 2
  output:
    base_model: /models/base/
    save_every: 50
"""
FINETUNE = """\
finetune:
  base_model: /models/base/latest
  data:
    path: sft/
    conversation_format: chatml
  training:
    epochs: 3
    lr: 2e-5
    micro_batch_size: 2
  output:
    instruct_model: /models/instruct/
"""
EVAL = """\
eval:
  base_model: /models/base/latest
  instruct_model: /models/instruct/final
  benchmarks:
    - gsm8k-smoke
    - aime-smoke
  metrics:
    - accuracy
    - pass@1
  output: /reports/report.json
"""
MAIN = """\
name: small
includes:
  - data.yaml
  - pretrain.yaml
  - finetune.yaml
  - eval.yaml
"""


class Project:
    """Files of a valid project. ``edit`` changes one; every change must find what it replaces."""

    def __init__(self, root: Path) -> None:
        self.root, self.main = root, root / "config.yaml"
        self.write("config.yaml", MAIN)
        for name, text in (("data", DATA), ("pretrain", PRETRAIN), ("finetune", FINETUNE), ("eval", EVAL)):
            self.write(f"{name}.yaml", text)
        self.write("web/a.jsonl", "".join(json.dumps({"text": f"page {i}"}) + "\n" for i in range(5)))
        self.write("code/part-0.jsonl", json.dumps({"text": "print()"}) + "\n")
        chat = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
        self.write("sft/chat.jsonl", (json.dumps(chat) + "\n\n") * 7)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else textwrap.dedent(content).encode())
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        self.write(name, text.replace(old, new).encode())

    def add(self, name: str, text: str) -> None:
        self.write(name, ((self.root / name).read_text() + text).encode())


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


@pytest.fixture
def validate(capsys):
    def run(*args: str) -> tuple[int, str, str]:
        code = main(["validate", *args])
        out, err = capsys.readouterr()
        return code, out, err

    return run
