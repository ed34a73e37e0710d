"""Starts the evaluation service: ``python -m marin_evaluation``."""

from marin_chassis.stage import main
from marin_evaluation.setup import STAGE

if __name__ == "__main__":
    main(STAGE)
