"""Pretraining from random weights."""

from typing import Any

from marin_chassis.engine import Job, write_json
from marin_training.core.config import pretrain_config
from marin_training.core.export import finish
from marin_training.core.inputs import stage_tokenizer, token_ids, token_inputs
from marin_training.core.recorder import Recorder
from marin_training.core.vocabulary import check_vocab, pad_tokenizer


def pretrain(job: Job) -> dict[str, Any]:
    """Runs a job of kind ``checkpoint.pretrain``; see :func:`marin_training.core.export.finish` for what it leaves."""
    sources, tokenizer = token_inputs(job)
    pad = job.spec["pad_tokenizer_to_match_model"]
    vocab_size = check_vocab(job.spec["model"]["vocab_size"], tokenizer, "the model", pad)
    if pad:
        tokenizer = stage_tokenizer(tokenizer, job.scratch / "tokenizer")
        pad_tokenizer(tokenizer, vocab_size)
    eos_ids = token_ids(tokenizer, job.spec["generation_eos_tokens"])
    config = pretrain_config(job, sources, tokenizer, eos_ids)
    write_json(job.record / "levanter.json", config)
    job.progress("load")

    from marin_training.core import levanter_adapter

    job.check_stop()
    recorder = Recorder(job, job.spec["num_train_steps"])
    levanter_adapter.train(config, recorder, job.spec["checkpoint_every_steps"])
    facts = {"vocab_size": vocab_size, "dataset_tokens": {s.name: s.tokens for s in sources}}
    return finish(job, recorder, tokenizer, facts)
