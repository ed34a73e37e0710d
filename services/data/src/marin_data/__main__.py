"""Starts the data service: ``python -m marin_data``."""

from marin_chassis.stage import main
from marin_data.setup import STAGE

if __name__ == "__main__":
    main(STAGE)
