import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tiny import make_policy, make_problems, toy_spec
from transformers import AutoTokenizer

from marin_chassis.engine import EngineError
from marin_rl.core.problems import batch_positions, read_problems, sampling_seed
from marin_rl.core.spec import parse


@pytest.fixture(scope="module")
def tokenizer(policy):
    return AutoTokenizer.from_pretrained(policy / "hf")


def read(path, tokenizer, **changes):
    return read_problems(path, tokenizer, parse(toy_spec(**changes)))


def test_prompts_are_rendered_with_the_policys_template(tmp_path, tokenizer):
    problems = read(make_problems(tmp_path, "token_share") / "train.parquet", tokenizer)
    text = tokenizer.decode(problems.items[1].prompt_ids)
    assert text == "<|im_start|>user\nTom has 1 apples and buys 4 more. How many?<|im_end|>\n<|im_start|>assistant\n"
    assert problems.items[1].extras["reward_spec"] == {"method": "rule", "ground_truth": "5"}


def test_long_prompts_are_an_error_or_counted(tmp_path, tokenizer):
    path = make_problems(tmp_path, "token_share", count=12) / "train.parquet"
    lengths = [len(p.prompt_ids) for p in read(path, tokenizer).items]
    limit = min(lengths)
    with pytest.raises(EngineError, match=rf"row \d+: its prompt has \d+ tokens, and max_prompt_tokens is {limit}"):
        read(path, tokenizer, max_prompt_tokens=limit)
    kept = read(path, tokenizer, max_prompt_tokens=limit, drop_long_prompts=True, prompts_per_step=1)
    assert len(kept.items) == lengths.count(limit) and kept.dropped_long == 12 - len(kept.items)


def test_rows_of_another_environment_are_refused(tmp_path, tokenizer):
    with pytest.raises(EngineError, match="row 0: its env_class is 'gsm8k', and the job's is 'token_share'"):
        read(make_problems(tmp_path, "gsm8k") / "train.parquet", tokenizer)


def test_a_row_without_messages_is_named(tmp_path, tokenizer):
    path = tmp_path / "train.parquet"
    pq.write_table(pa.Table.from_pylist([{"prompt": [], "env_class": "token_share"}]), path)
    with pytest.raises(EngineError, match="row 0: its prompt is not a list of messages"):
        read(path, tokenizer)


def test_too_few_prompts_and_a_missing_file_are_refused(tmp_path, tokenizer):
    with pytest.raises(EngineError, match="gives 2 usable prompts"):
        read(make_problems(tmp_path, "token_share", count=2) / "train.parquet", tokenizer)
    with pytest.raises(EngineError, match=r"has no train\.parquet"):
        read(tmp_path / "nothing" / "train.parquet", tokenizer)


def test_a_policy_without_a_chat_template_is_refused(tmp_path):
    bare = AutoTokenizer.from_pretrained(make_policy(tmp_path / "hf", template=None))
    with pytest.raises(EngineError) as e:
        read(make_problems(tmp_path, "token_share") / "train.parquet", bare)
    assert e.value.reason == "NO_CHAT_TEMPLATE"


def test_every_epoch_holds_every_prompt_once_in_another_order():
    flat = [p for step in range(1, 11) for p in batch_positions(step, 4, 10, seed=3)]
    epochs = [flat[i : i + 10] for i in range(0, 40, 10)]
    assert all(sorted(e) == list(range(10)) for e in epochs) and len({tuple(e) for e in epochs}) == 4


def test_seeds_differ_between_steps_prompts_and_jobs():
    seeds = {sampling_seed(s, step, i) for s in (1, 2) for step in range(1, 9) for i in range(8)}
    assert len(seeds) == 128 and all(0 <= s < 2**63 for s in seeds)
