"""Starts the tokenization service: ``python -m marin_tokenization``."""

from marin_chassis.stage import main
from marin_tokenization.setup import STAGE

if __name__ == "__main__":
    main(STAGE)
