"""A sliding window in Redis as many articles write it: a sorted set for each client, with the times of its requests.

What goes wrong: the members are times in milliseconds, and a set holds each member only once. Requests in the same
millisecond count as one. The set also has no TTL, so it stays forever if the client never comes back.
"""
import os
import time

from redis import Redis

redis = Redis.from_url(os.environ["RLCTL_REDIS_URL"])


class SortedSet:
    def __init__(self, limit, window):
        self.limit = limit
        self.window_ms = int(window * 1000)

    def allow(self, key):
        now = int(time.time() * 1000)
        with redis.pipeline() as transaction:
            transaction.zremrangebyscore(key, 0, now - self.window_ms)
            transaction.zadd(key, {now: now})
            transaction.zcard(key)
            *_, count = transaction.execute()
        return count <= self.limit
