"""Everything that touches Levanter. It moves fast and has no stable release, so it is held at arm's length here.

:func:`train` runs the stock ``levanter.main.train_lm.main`` and reaches into it only through Levanter's own registries:
a tracker, and an adaptor (which is handed the live trainer) that adds one callback. Levanter keeps global state, so a
process trains once.
"""

import dataclasses
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import draccus
import numpy as np
from levanter.adaptor import AdaptorConfig, NoAdaptorConfig
from levanter.callbacks import Callback, ProgressEvent
from levanter.checkpoint import CheckpointRetention
from levanter.main import train_lm
from levanter.store.cache import CacheMetadata, SerialCacheWriter, consolidate_shard_cache_ledgers
from levanter.tokenizers import MarinTokenizer, load_tokenizer
from levanter.tracker.tracker import Tracker, TrackerConfig

from marin_chassis.engine import EngineError, Stopped
from marin_training.core.recorder import Recorder

CHAT_EXEMPLAR = {"input_ids": np.zeros((0,), np.int32), "assistant_masks": np.zeros((0,), np.int32)}
_recorder: Recorder  # set by train(): Levanter builds tracker and adaptor from configs, which cannot carry it
_checkpoint_every = 0

__all__ = ["decode", "load_tokenizer", "tokenize_chats", "train", "write_chat_cache"]


def train(config: Mapping[str, Any], recorder: Recorder, checkpoint_every: int) -> None:
    """Trains as ``config`` says (the shape of ``TrainLmConfig``).

    Raises :class:`Stopped` after a stop request, with a checkpoint on disk; :class:`EngineError` for a config that
    Levanter refuses, for a missing accelerator and for a loss that is no number.
    """
    global _recorder, _checkpoint_every
    _recorder, _checkpoint_every = recorder, checkpoint_every
    # Levanter would compare the ledger's tokenizer hash with a path; inputs.py has compared hash with hash.
    logging.getLogger("levanter.store.cache").addFilter(lambda r: "Metadata mismatch" not in r.getMessage())
    try:
        train_lm.main(decode(config))
    except RuntimeError as e:
        raise _explained(e) from e


def decode(config: Mapping[str, Any]) -> train_lm.TrainLmConfig:
    """The typed configuration. Raises :class:`EngineError` naming a key that Levanter does not know."""
    try:
        return draccus.decode(train_lm.TrainLmConfig, config)
    except draccus.utils.DecodingError as e:
        raise EngineError(
            f"Levanter does not take this configuration: {e}",
            hint="the spec maps to a setting that the pinned Levanter does not know; report it with the build id",
            reason="BAD_LEVANTER_CONFIG",
        ) from e


def tokenize_chats(
    tokenizer: MarinTokenizer, chats: list[list[dict[str, str]]]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yields ids and assistant mask (1 inside a generation block) of each conversation."""
    encoded = tokenizer.apply_chat_template_with_masks(chats)
    yield from zip(encoded["input_ids"], encoded["assistant_masks"], strict=True)


def write_chat_cache(root: Path, rows: Iterable[tuple[list[int], list[int]]]) -> None:
    """Writes ids and masks as the one-shard cache that a chat component reads."""
    path, metadata = root / "part-00000-of-00001", CacheMetadata({})
    with SerialCacheWriter(str(path), CHAT_EXEMPLAR, metadata=metadata, shard_name=path.name) as writer:
        writer.write_batch(
            [
                {"input_ids": np.asarray(ids, np.int32), "assistant_masks": np.asarray(mask, np.int32)}
                for ids, mask in rows
            ]
        )
    consolidate_shard_cache_ledgers([str(path)], str(path.parent), CHAT_EXEMPLAR, metadata)


@AdaptorConfig.register_subclass("recorded")
@dataclasses.dataclass(frozen=True)
class RecordedAdaptorConfig(NoAdaptorConfig):
    """No adaptation; the hook through which the live trainer becomes reachable."""

    def install_export_hooks(self, *, trainer, **kwargs: Any) -> None:
        super().install_export_hooks(trainer=trainer, **kwargs)
        trainer.add_hook(_StepCallback(trainer), every=1)


class _StepCallback(Callback):
    """Publishes each step, asks for checkpoints, and ends the run after a stop request.

    Levanter's own checkpoint hook runs before this one, so what is asked for at step k is saved at step k + 1.
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer, self._stopping = trainer, False

    def on_event(self, event: ProgressEvent) -> None:
        if event is ProgressEvent.TRAIN_STEP_STARTED:
            _recorder.begin()

    def on_step(self, info: Any, force: bool = False) -> None:
        if force:
            return
        _recorder.publish(info.step)
        if self._stopping:
            raise Stopped
        self._stopping = _recorder.job.stop_requested
        if self._stopping or (_checkpoint_every and info.next_step % _checkpoint_every == 0):
            self._trainer.request_checkpoint(CheckpointRetention.TEMPORARY)


@TrackerConfig.register_subclass("recorder")
@dataclasses.dataclass
class RecorderTrackerConfig(TrackerConfig):
    def init(self, run_id: str | None) -> Tracker:
        return _RecorderTracker()


class _RecorderTracker(Tracker):
    name = "recorder"

    def log(self, metrics: Mapping[str, Any], *, step: int | None, commit: bool | None = None) -> None:
        _recorder.log(metrics, step)

    def log_summary(self, metrics: Mapping[str, Any]) -> None:
        _recorder.summary.update(metrics)

    def log_hyperparameters(self, hparams: Mapping[str, Any]) -> None:
        pass

    def log_artifact(self, artifact_path: Any, *, name: str | None = None, type: str | None = None) -> None:
        pass

    def finish(self) -> None:
        pass


def _explained(error: RuntimeError) -> Exception:
    text = str(error)
    if "Loss is" in text:
        return EngineError(
            f"training diverged: {text} after step {_recorder.steps_done}",
            hint="lower optimizer.learning_rate, lengthen optimizer.warmup or set optimizer.max_grad_norm to 1",
            reason="DIVERGED",
            code="ABORTED",
        )
    if "No accelerator" in text:
        return EngineError(
            "the spec asks for an accelerator and JAX found none on this machine",
            hint="run the worker where the accelerator is, or set resources.accelerator to 'cpu'",
            reason="NO_ACCELERATOR",
            code="FAILED_PRECONDITION",
        )
    return error
