"""A sliding window in Redis, with redis-py, for adapter.py:

    rlctl burst --limit 10/1s --exec './adapter.py redis_limiter:SlidingWindow'

rlctl starts a server for it, in which time is virtual too, and passes its address in RLCTL_REDIS_URL.
"""
import os
import time
import uuid

from redis import Redis

redis = Redis.from_url(os.environ["RLCTL_REDIS_URL"])
allow = redis.register_script("""
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[2] / 1000) + 1)
return 1
""")


class SlidingWindow:
    def __init__(self, limit, window):
        self.limit = limit
        self.window_us = round(window * 1e6)

    def allow(self, key):
        now_us = round(time.time() * 1e6)
        return allow([key], [now_us, self.window_us, self.limit, uuid.uuid4().hex]) == 1
