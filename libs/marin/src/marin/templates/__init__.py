"""Projects that `marin init` writes: small, runnable at once on a CPU, with their data inside."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from marin.templates import sequences

ROOT = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Template:
    """``samples`` maps files of the project to bundled files; ``made`` to functions that give their text."""

    name: str
    what: str
    samples: Mapping[str, str]
    made: Mapping[str, object]

    def files(self, job: str) -> dict[str, bytes]:
        """Path in the project -> content, for a job of this name."""
        import marin_samples
        from marin.config.schema import json_schema

        found = {
            p.name: p.read_text().replace("{{job}}", job).encode()
            for p in sorted((ROOT / self.name).iterdir())
            if p.suffix in (".yaml", ".md")
        }
        found["config.schema.json"] = json.dumps(json_schema(), indent=1).encode() + b"\n"
        found[".gitignore"] = b"/.marin/\n/store/\n/run/\n/logs/\n/nats/\n/catalog.db*\n"
        found |= {path: marin_samples.path(sample).read_bytes() for path, sample in self.samples.items()}
        found |= {path: make().encode() for path, make in self.made.items()}
        return found


_TEXT = {f"data/{n}/{n}.jsonl.gz": f"corpus/{n}.jsonl.gz" for n in ("folio", "milton", "modern")}
_CHAT = {"data/sft/train.jsonl": "conversations/train.jsonl"}

TEMPLATES = {
    t.name: t
    for t in (
        Template("llama", "a small Llama: three sources, SFT, one benchmark", {**_TEXT, **_CHAT}, {}),
        Template("qwen3", "a small Qwen3: three sources, SFT, one benchmark", {**_TEXT, **_CHAT}, {}),
        Template(
            "iceball-micro", "the sizes of `marin run iceball-micro`, without its RL stage", {**_TEXT, **_CHAT}, {}
        ),
        Template("dna", "a Llama on synthetic DNA", {}, {"data/dna/sequences.jsonl": sequences.dna}),
        Template("protein", "a Llama on synthetic proteins", {}, {"data/protein/sequences.jsonl": sequences.protein}),
    )
}
