"""Grade-school problems {question, answer} as typed rows for reinforcement learning."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from marin_datakernels.errors import DataError
from marin_datakernels.text import normalise

MARKER = "####"
INSTRUCTION = 'Think step by step and give the final answer after "####".'
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)")
SCHEMA = pa.schema(
    [
        ("data_source", pa.string()),
        ("prompt", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        ("env_class", pa.string()),
        ("reward_spec", pa.struct([("method", pa.string()), ("ground_truth", pa.string())])),
        (
            "extra_info",
            pa.struct(
                [("split", pa.string()), ("index", pa.int64()), ("answer", pa.string()), ("question", pa.string())]
            ),
        ),
    ]
)


def final_answer(answer: str, split: str, index: int) -> str:
    """The number after the last ``####``: "1,234." -> "1234", "$18.00" -> "18", "-5 degrees" -> "-5".

    Raises DataError naming split and index when there is no marker (MISSING_ANSWER) or no number after it (BAD_ANSWER).
    """
    _, marker, tail = answer.rpartition(MARKER)
    if not marker:
        raise DataError(
            f"{split}[{index}]: the answer has no '{MARKER}' before the final answer: {answer[-60:]!r}",
            hint=f"end each answer in a line '{MARKER} N', or remove the row",
            reason="MISSING_ANSWER",
            split=split,
            index=index,
        )
    word = (re.sub(r"[$€£,]", "", tail).replace("\u2212", "-").split() or [""])[0]
    number = word.removesuffix("%").rstrip(".!;:")
    if not NUMBER.fullmatch(number):
        raise DataError(
            f"{split}[{index}]: no number follows '{MARKER}': {tail.strip()[:60]!r}",
            hint="write the final answer as digits, as in '#### 1,234' or '#### -0.5'",
            reason="BAD_ANSWER",
            split=split,
            index=index,
        )
    value = f"{Decimal(number):f}"
    value = value.rstrip("0").rstrip(".") if "." in value else value
    return "0" if value == "-0" else value.lstrip("+")


def typed_row(
    row: dict[str, Any], split: str, index: int, *, data_source: str, env_class: str, instruction: str
) -> dict[str, Any]:
    """One row of ``SCHEMA``. The prompt is one user message: question, space, instruction. Raises DataError."""
    for name in ("question", "answer"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise DataError(
                f"{split}[{index}]: '{name}' is missing or empty",
                hint='each row must be {"question": "...", "answer": "... #### N"}',
                reason="BAD_ROW",
                split=split,
                index=index,
            )
    question, answer = normalise(row["question"]), normalise(row["answer"])
    return {
        "data_source": data_source,
        "prompt": [{"role": "user", "content": f"{question} {instruction}"}],
        "env_class": env_class,
        "reward_spec": {"method": "rule", "ground_truth": final_answer(answer, split, index)},
        "extra_info": {"split": split, "index": index, "answer": answer, "question": question},
    }


def write_problems(path: Path, rows: list[dict[str, Any]]) -> None:
    """Writes typed rows as Parquet with the fixed ``SCHEMA``; the same rows give the same bytes."""
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path, compression="zstd", compression_level=3)
