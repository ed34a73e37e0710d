"""Data and tokens: where text comes from, how it is cleaned, and how it becomes token caches."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from marin.client.errors import MarinError
from marin.data.v1 import data_pb2 as pb
from marin.execution.lazy import ArtifactStep, ResourceConfig
from marin.tokenization.v1 import tokenization_pb2 as tok
from marin_contracts.tokenizer_files import tokenizer_digest


def sample(name: str, file: str) -> pb.Source:
    """A bundled file, for example ``corpus/folio.jsonl.gz``. Its digest is part of the identity."""
    import marin_samples

    return pb.Source(name=name, sample=pb.SampleSource(name=file), sha256=_digest([marin_samples.path(file)]))


def files(name: str, path: str, *, column: str = "", limit: int = 0) -> pb.Source:
    """Local files by path or glob. What the client can see is pinned by its digest, so that a changed file is another build."""
    place = Path(path).absolute()
    found = sorted(place.parent.glob(place.name)) if place.parent.is_dir() else []
    digest = _digest(found) if found else ""
    return pb.Source(name=name, file=pb.FileSource(path=str(place)), column=column, limit=limit, sha256=digest)


def hub(name: str, dataset: str, revision: str, path: str, *, column: str = "", limit: int = 0) -> pb.Source:
    """Files of a hub data set at a pinned revision; ``limit`` rows from the start, an error if there are fewer."""
    source = pb.HubSource(dataset=dataset, revision=revision, path=path)
    return pb.Source(name=name, hub=source, column=column, limit=limit)


def documents(
    *,
    name: str,
    sources: Sequence[pb.Source],
    version: str = "dev",
    filters: pb.Filters | None = None,
    dedup: str = "exact",
    shards: int = 1,
    workers: int = 0,
    resources: ResourceConfig = ResourceConfig(),
    stage: str = "",
) -> ArtifactStep:
    """Reads, normalises, filters and dedups sources into document shards, counting every drop by its reason."""
    spec = pb.RunPipelineSpec(
        sources=sources,
        filters=filters,
        dedup=pb.Dedup.Value(f"DEDUP_{dedup.upper()}"),
        shards=shards,
        workers=workers,
    )
    return ArtifactStep(name, version, "documents", spec, {}, stage, resources)


def conversations(
    *, name: str, sources: Sequence[pb.Source], version: str = "dev", shards: int = 1, stage: str = ""
) -> ArtifactStep:
    """Turns rows with messages into conversation shards for fine-tuning."""
    spec = pb.ConvertConversationsSpec(sources=sources, dedup=pb.DEDUP_EXACT, shards=shards)
    return ArtifactStep(name, version, "conversations", spec, {}, stage)


def problems(
    *,
    name: str,
    train: pb.Source,
    validation: pb.Source,
    version: str = "dev",
    data_source: str = "",
    resources: ResourceConfig = ResourceConfig(),
    stage: str = "",
) -> ArtifactStep:
    """Turns question/answer rows into typed rows with a rule reward (the final answer after ``####``)."""
    spec = pb.ConvertProblemsSpec(train=train, validation=validation, data_source=data_source)
    return ArtifactStep(name, version, "problems", spec, {}, stage, resources)


def train_tokenizer(
    *, name: str, documents: ArtifactStep | str, vocab_size: int, version: str = "dev", stage: str = ""
) -> ArtifactStep:
    """Trains a byte-level BPE tokenizer with a ChatML template on documents."""
    spec = tok.TrainTokenizerSpec(vocab_size=vocab_size)
    return ArtifactStep(name, version, "tokenizer", spec, {"documents": documents}, stage)


def hub_tokenizer(
    *, name: str, repo: str, revision: str, version: str = "dev", chat_template: str = "", stage: str = ""
) -> ArtifactStep:
    """Takes over the tokenizer of a model on the hub at a commit. ``chat_template`` replaces the tokenizer's own."""
    spec = tok.ImportTokenizerSpec(hub=tok.HubTokenizer(repo=repo, revision=revision), chat_template=chat_template)
    return ArtifactStep(name, version, "tokenizer.import", spec, {}, stage)


def local_tokenizer(
    *, name: str, directory: str, version: str = "dev", chat_template: str = "", stage: str = ""
) -> ArtifactStep:
    """Takes over the tokenizer in a directory that client and service both see, pinned by the digest of its files.

    Raises MarinError if there is none.
    """
    place = Path(directory).absolute()
    digest = tokenizer_digest(place)
    if not digest:
        raise MarinError(f"{place} holds no tokenizer", "name the directory that holds tokenizer.json", "NO_TOKENIZER")
    source = tok.TokenizerDirectory(path=str(place), sha256=digest)
    spec = tok.ImportTokenizerSpec(directory=source, chat_template=chat_template)
    return ArtifactStep(name, version, "tokenizer.import", spec, {}, stage)


def tokenize(
    *,
    name: str,
    documents: ArtifactStep | str,
    tokenizer: ArtifactStep | str,
    version: str = "dev",
    resources: ResourceConfig = ResourceConfig(),
    stage: str = "",
) -> ArtifactStep:
    """Writes the token cache of documents, an end-of-document token after each."""
    inputs = {"documents": documents, "tokenizer": tokenizer}
    return ArtifactStep(name, version, "tokens", tok.TokenizeSpec(), inputs, stage, resources)


def _digest(paths: Sequence[Path]) -> str:
    """SHA-256 of one file, or of the ``sha256sum`` lines of several."""
    sums = []
    for path in paths:
        with open(path, "rb") as f:
            sums.append((hashlib.file_digest(f, "sha256").hexdigest(), path.name))
    if len(sums) == 1:
        return sums[0][0]
    return hashlib.sha256("".join(f"{digest}  {name}\n" for digest, name in sums).encode()).hexdigest()
