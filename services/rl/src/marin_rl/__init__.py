"""RL service: policies improved by SkyRL's group-relative methods on rollouts of the inference service."""
