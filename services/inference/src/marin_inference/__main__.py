"""``python -m marin_inference``: runs the service."""

from marin_chassis.server import run_service
from marin_inference.setup import InferenceConfig, add

if __name__ == "__main__":
    run_service("inference", 7006, ["marin.inference.v1.InferenceService"], add, InferenceConfig)
