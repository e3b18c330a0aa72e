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
            return False
        times.append(now)
        return True


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
