"""Starts the training service: ``python -m marin_training``."""

from marin_chassis.stage import main
from marin_training.setup import STAGE

if __name__ == "__main__":
    main(STAGE)
