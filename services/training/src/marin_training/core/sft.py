"""Supervised fine-tuning of a checkpoint on conversations."""

import shutil
from pathlib import Path
from typing import Any

from marin_chassis.engine import Job, write_json
from marin_training.core.config import sft_config
from marin_training.core.conversations import encode, read_conversations, supervision
from marin_training.core.export import finish
from marin_training.core.inputs import init_checkpoint, stage_tokenizer, token_ids
from marin_training.core.recorder import Recorder
from marin_training.core.spec import require_generation_block
from marin_training.core.vocabulary import check_vocab, pad_tokenizer


def sft(job: Job) -> dict[str, Any]:
    """Runs a job of kind ``checkpoint.sft``; see :func:`marin_training.core.export.finish` for what it leaves.

    The weights come from the Hugging Face directory, not from a native checkpoint: in 32 bits the way there and back is
    exact, it is the part of a checkpoint artifact that its digest covers, and every kind of checkpoint has it.
    """
    init = init_checkpoint(job)
    vocab_size = check_vocab(init.vocab_size, init.path, "the checkpoint", job.spec["pad_tokenizer_to_match_model"])
    tokenizer = stage_tokenizer(init.path, job.scratch / "tokenizer", job.spec["chat_template"])
    pad_tokenizer(tokenizer, vocab_size)
    require_generation_block(job.spec, _template(tokenizer))
    eos_ids = token_ids(tokenizer, job.spec["generation_eos_tokens"])
    conversations = read_conversations(job.input("conversations").path, tokenizer)
    cache = job.scratch / "conversations"
    config = sft_config(job, init, cache, tokenizer, eos_ids)
    write_json(job.record / "levanter.json", config)
    job.progress("load")

    from marin_training.core import levanter_adapter

    job.check_stop()
    rows = encode(job, conversations, levanter_adapter.load_tokenizer(str(tokenizer)), levanter_adapter.tokenize_chats)
    facts = supervision(job, rows)
    shutil.rmtree(cache, ignore_errors=True)
    levanter_adapter.write_chat_cache(cache, rows)
    recorder = Recorder(job, job.spec["num_train_steps"])
    levanter_adapter.train(config, recorder, job.spec["checkpoint_every_steps"])
    return finish(job, recorder, tokenizer, {"vocab_size": vocab_size, **facts})


def _template(tokenizer: Path) -> str:
    path = tokenizer / "chat_template.jinja"
    return path.read_text() if path.is_file() else ""
