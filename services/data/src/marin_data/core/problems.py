"""The job kind "problems": small enough for a plain loop."""

from collections.abc import Mapping
from typing import Any

from marin_chassis.engine import Job, write_json
from marin_data.core.sources import Source, resolve
from marin_data.core.spec import source_name
from marin_datakernels import KERNELS
from marin_datakernels.errors import DataError
from marin_datakernels.problems import INSTRUCTION, typed_row, write_problems

ENV_CLASS = "gsm8k"


def convert_problems(job: Job) -> dict[str, Any]:
    """Writes train.parquet, validation.parquet and counts.json. Raises DataError."""
    spec = job.spec
    filled = {
        "data_source": spec["data_source"] or _own_name(spec["train"]),
        "env_class": spec["env_class"] or ENV_CLASS,
        "instruction": spec["instruction"] or INSTRUCTION,
    }
    names = ("train", "validation")
    tables = dict(zip(names, resolve([spec[name] for name in names]), strict=True))
    counts: dict[str, Any] = {"kernels": KERNELS, "splits": {}}
    for table, source in tables.items():
        split = spec[table]["name"] or table
        rows = _typed_rows(job, source, split, filled)
        write_problems(job.out / f"{table}.parquet", rows)
        counts["splits"][table] = {
            "name": split,
            "in": len(rows),
            "kept": len(rows),
            "dropped": {},
            "files": list(source.facts),
        }
        job.progress("convert", step=len(counts["splits"]), total=len(tables), rows=len(rows))
    counts["in"] = counts["kept"] = sum(s["kept"] for s in counts["splits"].values())
    counts["dropped"] = {}
    write_json(job.out / "counts.json", counts)
    kept = {table: counts["splits"][table]["kept"] for table in names}
    return {
        "summary": {"problems": counts["kept"], **kept},
        "headline": f"{kept['train']} train and {kept['validation']} validation problems",
    }


def _typed_rows(job: Job, source: Source, split: str, filled: dict[str, str]) -> list[dict[str, Any]]:
    rows = []
    for part in source.splits:
        for _, row in part.rows(["question", "answer"]):
            rows.append(typed_row(row, split, len(rows), **filled))
        job.check_stop()
    if not rows:
        raise DataError(
            f"nothing is left: the source of {split} holds no row",
            hint="check that the source holds what you expect",
            reason="EMPTY_CORPUS",
        )
    return rows


def _own_name(source: Mapping[str, Any]) -> str:
    return source["sample"]["name"].removesuffix(".jsonl") if source["sample"] else source_name({**source, "name": ""})
