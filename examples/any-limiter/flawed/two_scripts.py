"""A token bucket in Redis, made of two scripts: a timer runs `add` for each client, and each request runs `take`.

What goes wrong in TwoScripts: `take` looks whether there is a token, but takes none. One token is enough for everybody.
What goes wrong in TakesTokens, in which this is mended: `add` adds tokens to a full bucket, too. A client that has been
away for an hour finds all the tokens of that hour.
"""
import os
import time

from redis import Redis

redis = Redis.from_url(os.environ["RLCTL_REDIS_URL"])
add = redis.register_script("for _ = 1, ARGV[1] do redis.call('RPUSH', KEYS[1], 'token') end")


class TwoScripts:
    take = redis.register_script("return redis.call('LLEN', KEYS[1]) > 0")

    def __init__(self, limit, window):
        self.limit = limit
        self.interval = window / limit
        self.ticks = {}

    def allow(self, key):
        self.run_timer(key)
        return self.take([key]) is not None

    def run_timer(self, key):
        """Adds what a timer that adds a token each interval would have added since the last request."""
        tick = int(time.time() / self.interval)
        tokens = tick - self.ticks[key] if key in self.ticks else self.limit
        if tokens > 0:
            add([key], [tokens])
        self.ticks[key] = tick


class TakesTokens(TwoScripts):
    take = redis.register_script("return redis.call('LPOP', KEYS[1])")
