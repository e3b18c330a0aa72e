"""What all measurements share."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ALGORITHMS = ["fixed-window", "sliding-window-log", "sliding-window-zset", "sliding-window-counter",
              "token-bucket", "gcra", "leaky-bucket", "concurrency", "budget"]
WINDOW = 60_000_000  # µs
PLENTY = 1_000_000   # the limit of requests that are all allowed
FEW = 1000           # the limit, used up, of requests that are all denied


class CannotRun(Exception):
    """Something that a measurement needs is missing or does not answer as it should."""
