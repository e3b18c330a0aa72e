"""The memory that recorded requests take, and the longest call among many of them."""

import random

from common import ALGORITHMS, FEW, ROOT, WINDOW, CannotRun
from report import goal, table
from server import ReplyError, decode, encode, real_now


class Asker:
    """Calls one script for one key at a caller's time."""

    def __init__(self, client, algorithm, key="bench:{key}"):
        self.client, self.key = client, key
        self.sha = client.load(ROOT / f"lua/{algorithm}.lua")

    def command(self, now, limit, cost=1):
        return encode(["EVALSHA", self.sha, 1, self.key, limit, WINDOW, "", cost, now])

    def ask(self, now, limit, cost=1):
        return decode(self.client.pipeline(self.command(now, limit, cost)))[0]

    def memory(self):
        return self.client.call("MEMORY", "USAGE", self.key, "SAMPLES", 0)


def memory(client, quick):
    sizes = [1000, 10_000] if quick else [1000, 10_000, 100_000]
    logs = ["sliding-window-log", "sliding-window-zset"]
    bytes_each, entries_over = {}, 0
    for algorithm in logs:
        for size in sizes:
            client.flush()
            asker, now = Asker(client, algorithm), real_now()
            # A fifth more than the limit is requested, evenly over half a window.
            step = WINDOW / 2 / size
            client.pipeline(b"".join(asker.command(now + int(i * step), size)
                                     for i in range(size * 6 // 5)))
            bytes_each[algorithm, size] = asker.memory() / size
            length = client.call("LLEN" if algorithm == logs[0] else "ZCARD", asker.key)
            entries_over += length != size
    table(["bytes a request", *(f"{size:,}" for size in sizes)],
          [[f"`{algorithm}`", *(f"{bytes_each[algorithm, size]:.2f}" for size in sizes)]
           for algorithm in logs])

    rows = []
    for algorithm in ALGORITHMS:
        if algorithm in logs:
            continue
        client.flush()
        if algorithm == "concurrency":
            sha = client.load(ROOT / f"lua/{algorithm}.lua")
            client.call("EVALSHA", sha, 1, "bench:{key}", FEW, WINDOW, "acquire", "holder-1")
        else:
            Asker(client, algorithm).ask(real_now(), FEW)
        rows.append([f"`{algorithm}`" + (", one lease" if algorithm == "concurrency" else ""),
                     client.call("MEMORY", "USAGE", "bench:{key}", "SAMPLES", 0)])
    table(["bytes of a key", "`bench:{key}`"], rows)

    most = longest_logs(client, 20_000 if quick else 200_000)
    print(f"{entries_over} of {len(logs) * len(sizes)} full logs differ from the limit. With random times and costs and a "
          f"limit of {FEW:,}, the logs hold\nat most {' and '.join(f'{length:,}' for length in most)} entries.\n")
    of_log = [bytes_each[logs[0], size] for size in sizes]
    goal("`sliding-window-log`: at most 10.5 bytes a request", " / ".join(f"{each:.2f}" for each in of_log),
         *(each <= 10.5 for each in of_log))
    goal("a log: never more entries than the limit", f"{max(most):,} of {FEW:,}",
         entries_over == 0 and all(length <= FEW for length in most))


def longest_logs(client, requests):
    """For each log, the most entries that random traffic over many windows ever leaves in it."""
    out = []
    for algorithm, length in ("sliding-window-log", "LLEN"), ("sliding-window-zset", "ZCARD"):
        client.flush()
        asker, now, commands = Asker(client, algorithm), real_now(), []
        rng = random.Random(1)
        for _ in range(requests // 2):
            now += int(rng.expovariate(1.5 * FEW / WINDOW))
            commands += [asker.command(now, FEW, rng.choice([1, 1, 1, 2, 5, -1])),
                         encode([length, asker.key])]
        out.append(max(decode(client.pipeline(b"".join(commands)))[1::2]))
    return out


def longest_call(client, quick):
    size = 50_000 if quick else 1_000_000
    repeats = 2 if quick else 7
    print(f"A log of {size:,} entries; milliseconds of the longest of {repeats} calls (`INFO commandstats`), when all,\n"
          "half or none of the entries have expired.\n")
    rows, longest = [], 0
    for algorithm in ("sliding-window-log", "sliding-window-zset"):
        client.flush()
        start = real_now()
        full = Asker(client, algorithm, "bench:{key}:full")
        for i in range(100):  # half at once, half a quarter of a window later
            full.ask(start + (i + i // 50 * WINDOW // 4), size, size // 100)
        kind = "LLEN" if algorithm == "sliding-window-log" else "ZCARD"
        if client.call(kind, full.key) != size:
            raise CannotRun(f"{algorithm} did not record {size:,} units")
        asker = Asker(client, algorithm, "bench:{key}")
        for expired, now in (("all", start + 2 * WINDOW), ("half", start + WINDOW + 1000),
                             ("none", start + WINDOW // 2)):
            live = {"all": 0, "half": size // 2, "none": size}[expired]
            calls = {"allow": (1, size + 1), "deny": (2, max(live, 1)), "look": (0, size),
                     "refund": (-1, size)}
            worst = {}
            for word, (cost, limit) in calls.items():
                for _ in range(repeats):
                    client.call("COPY", full.key, asker.key, "REPLACE")
                    data, usec = client.timed(asker.command(now, limit, cost))
                    reply = decode(data)[0]
                    if isinstance(reply, ReplyError) or (reply[0] == 1) != (word != "deny"):
                        raise CannotRun(f"{algorithm}, {expired} expired, {word}: {reply}")
                    worst[word] = max(worst.get(word, 0), usec / 1000)
            rows.append([f"`{algorithm}`", expired, *(f"{ms:.2f}" for ms in worst.values())])
            if algorithm == "sliding-window-log":
                longest = max(longest, *worst.values())
    table(["algorithm", "expired", "allow", "deny", "look", "refund"], rows)
    goal("`sliding-window-log`: at most 3 ms a call", f"{longest:.2f} ms or less", longest <= 3)
