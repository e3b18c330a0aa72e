#!/usr/bin/env python3
"""Lets rlctl ask a limiter that is a Python class:

    rlctl burst --limit 10/1s --exec './adapter.py limiter:SlidingWindow'

The class is created with a limit and a window in seconds. allow(key) returns whether a request may pass, or a dict of
all that rlctl can be told: allowed, remaining, retry_after_us. Its clock is the time of the request, whether it calls
time.time() or datetime.now().
"""
import datetime
import json
import os
import sys
import time
from importlib import import_module

request = {"now_us": 0}


class Datetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(request["now_us"] / 1e6, tz)


# Before the limiter is imported, so that `from time import time` imports this one.
time.time = time.monotonic = lambda: request["now_us"] / 1e6
datetime.datetime = Datetime

sys.path.insert(0, os.getcwd())
module, name = sys.argv[1].split(":")
Limiter = getattr(import_module(module), name)

limiter = None
for line in sys.stdin:
    request = json.loads(line)
    if "reset" in request:
        limiter = None
        continue
    if limiter is None:
        limiter = Limiter(request["limit"], request["window_us"] / 1e6)
    answer = limiter.allow(request["key"])
    print(json.dumps(answer if isinstance(answer, dict) else {"allowed": answer}), flush=True)
