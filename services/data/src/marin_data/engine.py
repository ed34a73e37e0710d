"""The engine process: ``python -m marin_data.engine ATTEMPT_DIR``. It builds one artifact and ends."""

import logging
import os
import sys
from pathlib import Path
from typing import Any

from marin_chassis.engine import Job, main
from marin_data.core.errors import engine_errors
from marin_data.core.spec import check_conversations, check_pipeline, check_problems

CHECKS = {"documents": check_pipeline, "conversations": check_conversations, "problems": check_problems}


def run(job: Job) -> dict[str, Any]:
    CHECKS[job.kind](job.spec, {role: i.address for role, i in job.inputs.items()})
    # Beam starts its worker processes as "python", wherever that is found first.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    with engine_errors():
        if job.kind == "problems":
            from marin_data.core.problems import convert_problems

            return convert_problems(job)
        logging.disable(logging.WARNING)  # Beam warns about each cloud extra that is not installed
        from marin_data.core.pipeline import run_pipeline

        logging.disable(logging.NOTSET)
        return run_pipeline(job)


if __name__ == "__main__":
    main(run)
