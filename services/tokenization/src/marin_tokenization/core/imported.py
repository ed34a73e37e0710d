"""Takes over a tokenizer that was made elsewhere, byte for byte."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import AutoTokenizer

from marin_chassis.engine import EngineError, Job
from marin_contracts.tokenizer_files import TOKENIZER_FILES, tokenizer_digest
from marin_tokenization.core.tokenizer import check_template


def import_tokenizer(job: Job) -> dict[str, Any]:
    """Runs a job of kind ``tokenizer.import``: writes ``out/tokenizer``. Raises :class:`EngineError`."""
    source, name, version = _source(job)
    staged = job.scratch / "tokenizer"
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    for file in TOKENIZER_FILES:
        if (source / file).is_file():
            shutil.copyfile(source / file, staged / file)
    if job.spec["chat_template"]:
        _replace_template(staged, job.spec["chat_template"])
    size = _checked_size(staged, name)
    if job.spec["chat_template"]:
        check_template(AutoTokenizer.from_pretrained(staged))
    shutil.copytree(staged, job.out / "tokenizer")
    job.log(f"took over {name} at {version}: {size} entries, {sum(1 for _ in staged.iterdir())} files")
    summary = {"vocab_size": size, "source": name, "version": version}
    return {"summary": summary, "headline": f"{size} entries from {name}"}


def _source(job: Job) -> tuple[Path, str, str]:
    """Where the files lie now, the name that a person knows the tokenizer by, and its commit or digest."""
    hub, directory = job.spec["hub"], job.spec["directory"]
    if hub:
        from marin_tokenization.core.hub import fetch

        job.progress("download")
        commit = fetch(hub["repo"], hub["revision"], TOKENIZER_FILES, job.scratch / "hub")
        job.check_stop()
        return job.scratch / "hub" / commit, hub["repo"], commit
    path = Path(directory["path"])
    _check_digest(path, directory)
    return path, path.name, f"sha256:{directory['sha256']}"


def _check_digest(path: Path, directory: Mapping[str, str]) -> None:
    digest = tokenizer_digest(path)
    if not digest:
        raise EngineError(
            f"{path} holds no tokenizer file, or the tokenization service cannot see it",
            hint="give the directory that holds tokenizer.json, on the machine of the tokenization service",
            reason="NO_TOKENIZER",
            code="NOT_FOUND",
        )
    if digest != directory["sha256"]:
        raise EngineError(
            f"the tokenizer files in {path} have the digest {digest}, and the spec asks for {directory['sha256']}",
            hint="the files have changed: if they are the ones you mean, name their digest in directory.sha256",
            reason="DIGEST_MISMATCH",
            code="FAILED_PRECONDITION",
        )


def _replace_template(tokenizer: Path, template: str) -> None:
    (tokenizer / "chat_template.jinja").write_text(template)
    path = tokenizer / "tokenizer_config.json"
    if path.is_file() and "chat_template" in (config := json.loads(path.read_text())):
        del config["chat_template"]  # where older tokenizers keep it, and where it would win
        path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def _checked_size(tokenizer: Path, name: str) -> int:
    """The number of ids. Raises :class:`EngineError` for what later stages would stumble over."""
    for file in ("tokenizer.json", "tokenizer_config.json"):
        if not (tokenizer / file).is_file():
            raise EngineError(
                f"{name} has no {file}",
                hint="choose one of the fast kind, or convert it: transformers' save_pretrained writes both files",
                reason="NO_TOKENIZER",
                code="NOT_FOUND",
            )
    try:
        vocabulary = Tokenizer.from_file(str(tokenizer / "tokenizer.json")).get_vocab(with_added_tokens=True)
        eos = json.loads((tokenizer / "tokenizer_config.json").read_text()).get("eos_token")
        size = len(AutoTokenizer.from_pretrained(tokenizer))
    except Exception as e:  # three parsers, each with errors of its own
        raise EngineError(
            f"the tokenizer of {name} cannot be loaded: {e}",
            hint="choose one that this version of transformers and tokenizers can load",
            reason="BAD_TOKENIZER",
        ) from e
    ids = max(vocabulary.values(), default=-1) + 1
    if not len(vocabulary) == ids == size:
        raise EngineError(
            f"{name} has {len(vocabulary)} entries with ids up to {ids - 1}, and transformers counts {size}: some ids "
            "have no text, or not the same in every library",
            hint="choose a tokenizer whose ids are 0 to size - 1",
            reason="SPARSE_VOCABULARY",
        )
    eos = eos["content"] if isinstance(eos, dict) else eos
    if eos not in vocabulary:
        raise EngineError(
            f"{name} names no end-of-document token (eos_token is {eos!r}), so documents would run into each other",
            hint="set eos_token in a copy of its tokenizer_config.json and import that as a directory",
            reason="NO_EOS_TOKEN",
        )
    return size
