#!/usr/bin/env python3
"""usage: limit.py SOCKET SCRIPT LIMIT/SECONDS...

Asks for one request for each key, a line of standard input, with redis-py.
"""
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Optional

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT = 1  # in seconds


@dataclass(frozen=True)
class Decision:
    allowed: bool
    remaining: int
    retry_after: Optional[timedelta]  # None: such a request can never be allowed


class Limiter:
    def __init__(self, redis, script, limits):
        """The limits are pairs of a number of requests and a timedelta."""
        self.limits = limits
        # A Script sends EVALSHA; after NOSCRIPT it loads the script and sends EVALSHA again.
        self.script = redis.register_script(script)

    def check(self, key):
        keys, args = [key], []
        if len(self.limits) > 1:  # the braces are a hash tag: one slot of a Cluster for all keys
            keys = [f"{{{key}}}:{window.total_seconds():.0f}s" for _, window in self.limits]
        for limit, window in self.limits:
            args += [limit, window // timedelta(microseconds=1), ""]
        allowed, remaining, retry_after, *_ = self.script(keys, args)
        retry_after = timedelta(microseconds=retry_after) if retry_after >= 0 else None
        return Decision(allowed == 1, remaining, retry_after)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__.splitlines()[0])
    # A request that timed out may have been counted, so it must not be sent again.
    redis = Redis(unix_socket_path=sys.argv[1], socket_timeout=TIMEOUT, retry=Retry(NoBackoff(), 0))
    limits = (argument.split("/") for argument in sys.argv[3:])
    limiter = Limiter(redis, Path(sys.argv[2]).read_bytes(),
                      [(int(number), timedelta(seconds=int(seconds))) for number, seconds in limits])
    for line in sys.stdin:
        decision = limiter.check(line.rstrip("\n"))
        if decision.allowed:
            print(f"allowed remaining={decision.remaining}", flush=True)
        else:
            wait = decision.retry_after
            retry_after = "never" if wait is None else f"{wait.total_seconds():.3f}s"
            print(f"denied remaining={decision.remaining} retry_after={retry_after}", flush=True)
