"""Two limiters in memory, for adapter.py: rlctl burst --limit 10/1s --exec './adapter.py limiter:SlidingWindow'"""
import time
from collections import defaultdict, deque
from datetime import datetime


class SlidingWindow:
    """Remembers when requests were allowed, and allows a limit of them within any window."""

    def __init__(self, limit, window):
        self.limit = limit
        self.window = window
        self.times = defaultdict(deque)

    def allow(self, key):
        now = time.time()
        times = self.times[key]
        while times and times[0] <= now - self.window:
            times.popleft()
        if len(times) >= self.limit:
            wait = times[0] + self.window - now
            return {"allowed": False, "remaining": 0, "retry_after_us": round(wait * 1e6)}
        times.append(now)
        return {"allowed": True, "remaining": self.limit - len(times)}


class FixedWindow:
    """Counts the requests of each window of the clock, such as 12:00 to 12:01."""

    def __init__(self, limit, window):
        self.limit = limit
        self.window = window
        self.counts = defaultdict(int)

    def allow(self, key):
        window = datetime.now().timestamp() // self.window
        self.counts[key, window] += 1
        return self.counts[key, window] <= self.limit
