"""What a GRPO job does, without any transport: plain functions and frozen records."""
