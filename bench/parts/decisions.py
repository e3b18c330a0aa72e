"""The server's time for each decision of a script, beside a floor and other libraries' scripts."""

import math
import random
import statistics
import time
from collections import namedtuple
from pathlib import Path

from common import ALGORITHMS, FEW, PLENTY, ROOT, WINDOW, CannotRun
from report import goal, table
from server import ReplyError, decode, encode, real_now

# A contender: `file` its script; `keys` and `arguments` make what EVALSHA gets for a limit and a
# time; `allowed` reads a reply; `clock` says whose time decides.
Contender = namedtuple("Contender", "library algorithm clock file keys arguments allowed")


def ours(algorithm, clock):
    def arguments(limit, now):
        if clock == "server":
            return [limit, WINDOW]
        return [limit, WINDOW, "", "", now]

    def lease(limit, now):
        held = [limit, WINDOW, "acquire", b"%016d" % random.getrandbits(53)]
        return held if clock == "server" else [*held, now]

    return Contender("rlctl", algorithm, clock, ROOT / f"lua/{algorithm}.lua",
                     lambda key, now: [key],
                     lease if algorithm == "concurrency" else arguments,
                     lambda limit, reply: reply[0] == 1)


def another(library, algorithm, clock, file, arguments, allowed, keys=lambda key, now: [key]):
    return Contender(library, algorithm, clock, ROOT / f"bench/others/{file}.lua", keys, arguments,
                     allowed)


SECONDS = WINDOW // 1_000_000
MILLISECONDS = WINDOW // 1000


def window_key(key, now, back=0):
    """upstash counts each window under a separate key."""
    return f"{key}:{now // WINDOW - back}"


OTHERS = [
    another("rate-limiter-flexible", "fixed-window", "server", "rate-limiter-flexible",
          lambda limit, now: [1, SECONDS, limit, SECONDS],
          lambda limit, reply: reply[0] <= limit),
    another("upstash", "fixed-window", "caller", "upstash-fixed-window",
          lambda limit, now: [limit, MILLISECONDS, 1],
          lambda limit, reply: reply[0] <= limit,
          keys=lambda key, now: [window_key(key, now), ""]),
    another("limits", "sliding-window-log", "caller", "limits-moving-window",
          lambda limit, now: [repr(now / 1e6), limit, SECONDS, 1],
          lambda limit, reply: reply == 1),
    another("async-ratelimiter", "sliding-window-log", "caller", "async-ratelimiter",
          lambda limit, now: [repr(now / 1e3), MILLISECONDS, limit, 0],
          lambda limit, reply: reply[0] > 0),
    another("upstash", "sliding-window-counter", "caller", "upstash-sliding-window",
          lambda limit, now: [limit, now // 1000, MILLISECONDS, 1],
          lambda limit, reply: reply[0] >= 0,
          keys=lambda key, now: [window_key(key, now), window_key(key, now, 1), ""]),
    another("throttled-py", "token-bucket", "server", "throttled-py-token-bucket",
          lambda limit, now: [limit / SECONDS, limit, 1],
          lambda limit, reply: reply[0] is None),
    another("upstash", "token-bucket", "caller", "upstash-token-bucket",
          lambda limit, now: [limit, MILLISECONDS, limit, now // 1000, 1],
          lambda limit, reply: reply[0] >= 0,
          keys=lambda key, now: [key, ""]),
    another("redis_rate", "gcra", "server", "redis_rate",
          lambda limit, now: [limit, limit, SECONDS, 1],
          lambda limit, reply: reply[0] == 1),
    another("throttled-py", "gcra", "server", "throttled-py-gcra",
          lambda limit, now: [SECONDS / limit, limit, 1],
          lambda limit, reply: reply[0] == 0),
]

# What the contract forces on a script in a steady state, with constants: the Lua of its Redis calls for every
# request, and then for an allowed one. Besides these, a floor reads the numbers of its arguments and of TIME, and
# replies.


def packed(form, offset, what):
    """A string, of which an allowed request overwrites a part."""
    return ([f"local tag = struct.unpack('{form}', call('GET', key))"],
            [f"call('SETRANGE', key, '{offset}', struct.pack({what}))"])


FLOORS = {
    "fixed-window": packed("<c6dI4I4d", 14, "'<I4', 5"),
    "sliding-window-log": (["call('LLEN', key)", "local newest = tonumber(call('LINDEX', key, '-1'))",
                            "local oldest = tonumber(call('LINDEX', key, '0'))"],
                           ["call('PTTL', key)", "call('RPUSH', key, string.format('%d', now))"]),
    "sliding-window-zset": (["call('ZCARD', key)", "local last = call('ZRANGE', key, '-1', '-1', 'WITHSCORES')",
                             "local newest = tonumber(last[2])", "call('ZCOUNT', key, '-inf', string.format('%d', 0))"],
                            ["call('PTTL', key)",
                             "call('ZADD', key, string.format('%d', 1e15), '1000000000000000:0000000000')"]),
    "sliding-window-counter": packed("<c8dI4I4I4d", 20, "'<I4', 5"),
    "token-bucket": packed("<c7ddI4dI4", 7, "'<dd', 5, now"),
    "gcra": packed("<c5dI4I4dI4", 5, "'<dI4', now, 0"),
    "leaky-bucket": packed("<c6dI4I4dI4", 6, "'<dI4', now, 0"),
}
MOST_OF_FLOOR = (1.35, 1.35)

# The most that ours may take, as a multiple of another library: for allowed requests and for denied ones.
MOST_OF_OTHERS = {("gcra", "redis_rate"): (0.77, 0.87), ("token-bucket", "throttled-py"): (0.78, 1),
                  ("sliding-window-counter", "upstash"): (1.17, 1.32),
                  ("fixed-window", "rate-limiter-flexible"): (1.35, 1.15)}


def floor_text(algorithm, clock, limit):
    always, if_allowed = FLOORS[algorithm]
    lines = ["local call, key = redis.call, KEYS[1]",
             "local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])"]
    if clock == "server":
        lines += ["local now = call('TIME')", "now = now[1] * 1000000 + now[2]"]
    else:
        lines.append("local now = tonumber(ARGV[5])")
    lines += always + (if_allowed if limit == PLENTY else [])
    return "\n".join([*lines, "return {1, 5, 0, 100, 0, 0}"])


class Traffic:
    """Pipelines of one contender against one limit, and the time that the server took for them."""

    def __init__(self, client, contender, limit, calls):
        self.client, self.contender, self.limit, self.calls = client, contender, limit, calls
        self.sha = client.load(contender.file)
        self.key = f"bench:{Path(contender.file).stem}:{contender.clock}:{limit}"
        self.step = 5.0  # µs of real time from call to call: `now` advances as fast
        self.multiples = []           # of a bare `return 1`, a round each
        self.multiples_of_floor = []
        self.floor = None            # the SHA1 of a script
        if contender.library == "rlctl" and contender.algorithm in FLOORS:
            self.floor = client.call("SCRIPT", "LOAD",
                                     floor_text(contender.algorithm, contender.clock, limit)).decode()
            # State for it that only it reads and writes from now on.
            client.pipeline(self.commands(FEW if limit == FEW else 1, key=self.floor_key))
            client.call("PERSIST", self.floor_key)

    @property
    def floor_key(self):
        return self.key + ":floor"

    def commands(self, count, sha=None, key=None):
        now, out = real_now(), []
        for i in range(count):
            at = now + int(i * self.step)
            keys = self.contender.keys(key or self.key, at)
            out.append(encode(["EVALSHA", sha or self.sha, len(keys), *keys,
                               *self.contender.arguments(self.limit, at)]))
        return b"".join(out)

    def allowed(self, data):
        """Whether each reply in `data` allowed."""
        out = []
        for reply in decode(data):
            if isinstance(reply, ReplyError):
                raise CannotRun(f"{self.contender.file.name}: {reply}")
            out.append(self.contender.allowed(self.limit, reply))
        return out

    def warm_up(self):
        """Uses up a limit of FEW again: the window has moved on since the last round."""
        while self.allowed(self.client.pipeline(self.commands(20)))[-1] and self.limit == FEW:
            pass

    def measure(self):
        """Runs one round; returns the microseconds per call."""
        for _ in range(3):  # a new window may begin during a round
            self.warm_up()
            commands = self.commands(self.calls)
            start = time.perf_counter()
            data, usec = self.client.timed(commands)
            self.step = (time.perf_counter() - start) * 1e6 / self.calls
            wrong = self.allowed(data).count(self.limit == FEW)
            # A bucket gains 1000 units per minute, and throttled-py's gains a second's worth at once.
            if wrong <= 20:
                return usec
        raise CannotRun(f"{self.contender.file.name}: {wrong} of {self.calls} requests were "
                        f"{'allowed' if self.limit == FEW else 'denied'}")


def server_time(client, quick):
    rounds, calls = (3, 100) if quick else (101, 250)
    contenders = [ours(algorithm, clock) for algorithm in ALGORITHMS
                  for clock in ("server", "caller")] + OTHERS
    traffic = {(contender, limit): Traffic(client, contender, limit, calls)
               for contender in contenders for limit in (PLENTY, FEW)}

    sha = client.call("SCRIPT", "LOAD", "return 1").decode()
    bare = encode(["EVALSHA", sha, 0]) * calls
    units = []
    before = client.timed(bare)[1]
    for _ in range(rounds):
        for each in traffic.values():
            usec = each.measure()
            if each.floor:
                floor = client.timed(each.commands(calls, each.floor, each.floor_key))[1]
                each.multiples_of_floor.append(usec / floor)
            after = client.timed(bare)[1]
            each.multiples.append(usec / ((before + after) / 2))
            units.append(after)
            before = after

    def medians(contender, of="multiples"):
        return [statistics.median(getattr(traffic[contender, limit], of) or [math.nan])
                for limit in (PLENTY, FEW)]

    def both(values, digits=1):
        return "{:.{d}f} / {:.{d}f}".format(*values, d=digits).replace("nan / nan", "")

    own = {(c.algorithm, c.clock): c for c in contenders if c.library == "rlctl"}
    print(f"""\
The server's time for each EVALSHA from `INFO commandstats`, pipelined over a unix socket, with one key,
cost 1 and a window of 60 s. It is a multiple of the time of `return 1` without keys and arguments, which
took {statistics.median(units):.2f} µs and ran before and after each measurement. Allowed: the limit is {PLENTY:,}. Denied: the limit
is {FEW:,} and used up. The caller's `now` is the real time. {rounds} rounds of {calls} calls each; medians,
allowed / denied.
""")
    rows = [[f"`{algorithm}`"] + [both(values, digits) for clock in ("server", "caller")
                                  for values, digits in (
                                      (medians(own[algorithm, clock]), 1),
                                      (medians(own[algorithm, clock], "multiples_of_floor"), 2))]
            for algorithm in ALGORITHMS]
    table(["rlctl", "server's clock", "of its floor", "caller's clock", "of its floor"], rows)
    print("A floor is a script that reads the same numbers, makes the same Redis calls, unpacks and packs the same "
          "state, and replies with six fixed numbers: what the contract forces on any script.\n")

    print("Other libraries: rewritten scripts that call the same Redis commands in the same order "
          "(`others/`).\n")
    table(["library", "algorithm", "clock", "allowed / denied", "rlctl"],
          [[c.library, f"`{c.algorithm}`", c.clock + "'s", both(medians(c)),
            both(medians(own[c.algorithm, c.clock]))] for c in OTHERS])

    def goals_of(name, most, measured):
        goal(f"{name}: at most {{:.2f}} / {{:.2f}} ×".format(*most), "{:.2f} / {:.2f}".format(*measured),
             *(value <= its for value, its in zip(measured, most)))

    for algorithm in FLOORS:
        for clock in ("server", "caller"):
            goals_of(f"`{algorithm}`, its floor, {clock}'s clock", MOST_OF_FLOOR,
                     medians(own[algorithm, clock], "multiples_of_floor"))
    for other in OTHERS:
        if most := MOST_OF_OTHERS.get((other.algorithm, other.library)):
            mine = medians(own[other.algorithm, other.clock])
            goals_of(f"`{other.algorithm}`, {other.library}", most,
                     [a / b for a, b in zip(mine, medians(other))])
