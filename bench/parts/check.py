"""rlctl check and run: one process for a request, and many requests on one connection."""

import contextlib
import os
import random
import statistics
import tempfile

from common import PLENTY, ROOT, WINDOW
from processes import RLCTL, in_turn, median_ratio, tool
from report import goal, table
from server import cluster, free_port, private_server, reachable_by_tls

LIMIT = ["--limit", f"{PLENTY}/60s"]


def file_of(stack, lines):
    """A file of these lines, which is removed when the stack is closed."""
    file = stack.enter_context(tempfile.NamedTemporaryFile("w"))
    file.writelines(line + "\n" for line in lines)
    file.flush()
    return file.name


def process(client, quick):
    rounds = 20 if quick else 1000
    client.flush()
    sha = client.load(ROOT / "lua/sliding-window-log.lua")
    commands = {
        "rlctl check": [RLCTL, "-s", client.path, "check", "bench:{key}", *LIMIT],
        "redis-cli EVALSHA": [tool("redis-cli"), "-s", client.path, "EVALSHA", sha, "1",
                              "bench:{key}", str(PLENTY), str(WINDOW)],
    }
    wall, cpu = in_turn(commands, rounds)
    of_wall, of_cpu = median_ratio(*wall.values()), median_ratio(*cpu.values())
    print(f"`sliding-window-log`, one key, limit {PLENTY}/60s, over a unix socket. {rounds} "
          "runs of each, alternating;\nmedians. The ratio is the median of the ratios of the pairs.\n")
    table(["process", "wall ms", "user + system ms"],
          [[f"`{name}`", f"{statistics.median(wall[name]):.2f}", f"{statistics.median(cpu[name]):.2f}"]
           for name in commands]
          + [["ratio", f"{of_wall:.2f}", f"{of_cpu:.2f}"]])
    goal("`rlctl check`: at most 1.0 × the wall time of `redis-cli EVALSHA`", f"{of_wall:.2f} ×", of_wall <= 1.0)


def batch(client, quick):
    rounds, requests, keys, deep = (2, 5000, 1000, 100) if quick else (41, 40_000, 10_000, 100)
    sha = client.load(ROOT / "lua/sliding-window-log.lua")
    rng = random.Random(1)
    with contextlib.ExitStack() as stack:
        lines = file_of(stack, (f"bench:{rng.randrange(keys):012d}" for _ in range(requests)))
        commands = {"rlctl check --batch": [RLCTL, "-s", client.path, "check", "--batch", lines, *LIMIT]}
        for depth in (deep, 1000):
            commands[f"redis-benchmark -c 1 -P {depth}"] = [
                tool("redis-benchmark"), "-s", client.path, "-c", "1", "-P", str(depth), "-n",
                str(requests), "-r", str(keys), "-q", "EVALSHA", sha, "1", "bench:__rand_int__",
                str(PLENTY), str(WINDOW)]
        wall, _ = in_turn(commands, rounds, client.flush)
    mine = wall["rlctl check --batch"]
    ratios = {name: median_ratio(theirs, mine) for name, theirs in wall.items()}
    print(f"`sliding-window-log`, limit {PLENTY}/60s, {requests:,} requests for {keys:,} keys "
          f"over a unix socket; rlctl prints\none line for each result. {rounds} rounds, alternating; medians. "
          "`rlctl is` is the median of the rounds' ratios.\n")
    table(["", "requests a second", "rlctl is"],
          [[f"`{name}`", f"{1000 * requests / statistics.median(each):,.0f}",
            "" if each is mine else f"{ratios[name]:.2f} ×"] for name, each in wall.items()])
    name = f"redis-benchmark -c 1 -P {deep}"
    goal(f"`rlctl check --batch`: at least 0.9 × as fast as `{name}`", f"{ratios[name]:.2f} ×", ratios[name] >= 0.9)


def run(client, quick):
    rounds = 20 if quick else 1000
    rlctl = [RLCTL, "-s", client.path]
    with tempfile.NamedTemporaryFile() as lock:
        commands = {
            "rlctl run --limit -- true": [*rlctl, "run", "bench:run", *LIMIT, "--", "true"],
            "rlctl run --concurrency 1 -- true": [*rlctl, "run", "bench:lease", "--concurrency", "1",
                                                  "--", "true"],
            "rlctl check": [*rlctl, "check", "-q", "bench:run", *LIMIT],
            "true": [tool("true")],
            "flock -n FILE true": [tool("flock"), "-n", lock.name, "true"],
        }
        wall, _ = in_turn(commands, rounds, client.flush)
    rows = {"rlctl check, then true": [a + b for a, b in zip(wall["rlctl check"], wall["true"])], **wall}
    both = rows["rlctl check, then true"]
    print(f"`sliding-window-log`, one key, limit {PLENTY}/60s, over a unix socket; the time of the whole "
          f"process. {rounds} rounds,\nalternating; medians in ms. `more` is the median of the rounds' "
          "differences from `rlctl check`, then `true`.\n")

    def more(name):
        return statistics.median(a - b for a, b in zip(rows[name], both))

    table(["", "ms", "more"],
          [[f"`{name}`", f"{statistics.median(each):.2f}", "" if each is both else f"{more(name):+.2f}"]
           for name, each in rows.items()])
    extra = more("rlctl run --limit -- true")
    goal("`rlctl run -- true`: at most 1.5 ms more than `rlctl check` and `true`", f"{extra:+.2f} ms", extra <= 1.5)


def tls(client, quick):
    rounds, batches, requests = (20, 2, 5000) if quick else (300, 21, 40_000)
    sha = client.load(ROOT / "lua/sliding-window-log.lua")
    arguments = ["1", "bench:__rand_int__", str(PLENTY), str(WINDOW)]
    with contextlib.ExitStack() as stack:
        ways = stack.enter_context(reachable_by_tls(client))
        lines = file_of(stack, (f"bench:{i:012d}" for i in range(requests)))
        single, many = {}, {}
        for way, (ours, theirs) in ways.items():
            single[f"rlctl check, {way}"] = [RLCTL, *ours, "check", "bench:key", *LIMIT]
            single[f"redis-cli EVALSHA, {way}"] = [tool("redis-cli"), *theirs, "EVALSHA", sha, *arguments]
            many[f"rlctl check --batch, {way}"] = [RLCTL, *ours, "check", "--batch", lines, *LIMIT]
            many[f"redis-benchmark -P 100, {way}"] = [
                tool("redis-benchmark"), *theirs, "-c", "1", "-P", "100", "-n", str(requests), "-r",
                str(requests), "-q", "EVALSHA", sha, *arguments]
        wall, cpu = in_turn(single, rounds, client.flush)
        times, _ = in_turn(many, batches, client.flush)
    print(f"`sliding-window-log`, limit {PLENTY}/60s, on this machine; certificates with P-256 keys. One check: "
          f"{rounds} rounds;\n{requests:,} requests: {batches} rounds; alternating, medians.\n")
    table(["one request", "wall ms", "user + system ms"],
          [[f"`{name}`", f"{statistics.median(wall[name]):.2f}", f"{statistics.median(cpu[name]):.2f}"]
           for name in single])
    table([f"{requests:,} requests", "requests a second"],
          [[f"`{name}`", f"{1000 * requests / statistics.median(each):,.0f}"] for name, each in times.items()])
    one = median_ratio(wall["rlctl check, TLS"], wall["redis-cli EVALSHA, TLS"])
    goal("`rlctl check` with TLS: at most 1.0 × the wall time of `redis-cli --tls`", f"{one:.2f} ×", one <= 1.0)
    all_of_them = median_ratio(times["redis-benchmark -P 100, TLS"], times["rlctl check --batch, TLS"])
    goal("`rlctl check --batch` with TLS: at least 0.9 × as fast as `redis-benchmark --tls`",
         f"{all_of_them:.2f} ×", all_of_them >= 0.9)


UNROUTED = "the same, by redis://"


def on_cluster(_client, quick):
    rounds, requests, keys = (2, 5000, 1000) if quick else (11, 100_000, 10_000)
    rng = random.Random(1)
    with contextlib.ExitStack() as stack:
        port = free_port()
        stack.enter_context(private_server("--port", str(port), "--bind", "127.0.0.1"))
        urls = {"one server": f"redis://127.0.0.1:{port}"}
        for masters in (1, 2, 3):
            name = f"Cluster of {masters}" + (" master" if masters == 1 else " masters")
            urls[name] = stack.enter_context(cluster(masters))
            if masters == 1:  # no reply shows that it is one, so nothing is routed
                urls[UNROUTED] = urls[name].replace("redis+cluster:", "redis:")
        lines = file_of(stack, (f"bench:{rng.randrange(keys):012d}" for _ in range(requests)))
        kinds = {"check --batch": ["check", "--batch", lines, *LIMIT],
                 "burst": ["burst", "steady", "sliding-window-log", *LIMIT, "--requests",
                           str(requests), "--keys", "1000", "-q"]}
        times = {kind: in_turn({name: [RLCTL, "-u", url, *words] for name, url in urls.items()}, rounds)
                 for kind, words in kinds.items()}
    print(f"`sliding-window-log`, limit {PLENTY}/60s, {requests:,} requests over TCP, for {keys:,} keys "
          f"(the burst: 1,000\nkeys); {os.cpu_count()} cores for rlctl and all servers. {rounds} "
          "rounds, alternating; medians. The ratios to one\nserver are medians of the rounds' ratios.\n")
    rows = []
    for kind, (wall, cpu) in times.items():
        for name in urls:
            rows.append([f"`{kind}`", name, f"{1000 * requests / statistics.median(wall[name]):,.0f}",
                         f"{median_ratio(wall['one server'], wall[name]):.2f} ×",
                         f"{statistics.median(cpu[name]) / 1000 * 1e6 / requests:.2f} s",
                         f"{median_ratio(cpu[name], cpu['one server']):.2f} ×"])
    table(["", "", "requests a second", "", "rlctl's CPU for a million", ""], rows)
    _, cpu = times["check --batch"]
    more = median_ratio(cpu["Cluster of 1 master"], cpu[UNROUTED]) - 1
    goal("routing: less than 5 % more CPU time of `rlctl check --batch`", f"{more:+.1%}", more < 0.05)
    for kind, (wall, _) in times.items():
        ratio = median_ratio(wall["one server"], wall["Cluster of 3 masters"])
        goal(f"`{kind}`: three masters 1.5 × as fast as one server, with cores for all",
             f"{ratio:.2f} × on {os.cpu_count()} cores", ratio >= 1.5)
