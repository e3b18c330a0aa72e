"""rlctl burst: through scripts, by models, of recorded traffic, and with TIME under the virtual clock."""

import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from common import ALGORITHMS, PLENTY, ROOT, WINDOW, CannotRun
from processes import RLCTL, in_turn, measured, median_ratio, tool
from report import goal, table
from server import real_now


def benchmark(client, sha, requests, keys):
    """redis-benchmark with the same requests as `rlctl burst`: key length, arguments and pipelining."""
    return [tool("redis-benchmark"), "-s", client.path, "-c", "1", "-P", "500",
            "-n", str(requests), "-r", str(keys), "-q", "EVALSHA", sha, "1",
            "rlctl-burst:{0123456789abcdef}:__rand_int__", str(PLENTY), str(WINDOW), "", "",
            str(real_now())]


def scripts(client, quick):
    rounds, requests = (2, 5000) if quick else (11, 400_000)
    burst = [RLCTL, "burst"]
    wall, _ = in_turn({"rlctl burst": burst}, 3 if quick else 51)
    whole = statistics.median(wall["rlctl burst"])
    sha = client.load(ROOT / "lua/sliding-window-log.lua")
    common = [RLCTL, "-s", client.path, "burst", "steady", "sliding-window-log",
              "--limit", f"{PLENTY}/60s", "--requests", str(requests), "-q"]
    rows, ratios = [], []
    for keys in (1, 1000):
        mine = [*common, "--keys", str(keys)]
        theirs = benchmark(client, sha, requests, keys)
        wall, _ = in_turn({"rlctl": mine, "redis-benchmark": theirs}, rounds, client.flush)
        own, other = wall.values()
        ratios.append(median_ratio(other, own))
        rows.append([f"{keys:,}",
                     *(f"{1000 * requests / statistics.median(each):,.0f}" for each in (own, other)),
                     f"{ratios[-1]:.2f} ×"])
    print(f"`sliding-window-log`, limit {PLENTY}/60s, {requests:,} requests over a unix socket; "
          f"the time of the\nwhole process. {rounds} rounds, alternating; medians. `rlctl is` is the "
          "median of the rounds' ratios. rlctl keeps\nup to 1024 requests in flight.\n")
    table(["keys", "rlctl: requests a second", "redis-benchmark -c 1 -P 500", "rlctl is"], rows)
    goal("`rlctl burst` with its private server: less than 0.5 s", f"{whole:.0f} ms", whole < 500)
    goal("`rlctl burst` under the virtual clock: at least 0.9 × as fast as `redis-benchmark`",
         " / ".join(f"{ratio:.2f} ×" for ratio in ratios), *(ratio >= 0.9 for ratio in ratios))


def models(_client, quick):
    rounds, requests = (1, 100_000) if quick else (5, 5_000_000)
    shapes = [(pattern, keys) for pattern in ("boundary", "steady", "poisson")
              for keys in (1, 1000)]
    rows, slowest = [], None
    for algorithm in ALGORITHMS:
        if algorithm == "concurrency":
            continue
        commands = {shape: [RLCTL, "burst", shape[0], "--model", "-q", algorithm,
                            "--keys", str(shape[1]), "--requests", str(requests)]
                    for shape in shapes}
        _, cpu = in_turn(commands, rounds)
        rates = [requests / 1000 / statistics.median(cpu[shape]) for shape in shapes]
        rows.append([f"`{algorithm}`", *(f"{rate:.1f}" for rate in rates)])
        slowest = min(rates + ([slowest] if slowest else []))
    print(f"Millions of decisions in a second of CPU time, including the time to generate and "
          f"measure the traffic.\nLimit 1000/60s, {requests:,} requests; the median of {rounds} rounds.\n")
    table(["keys", *(f"{pattern}, {keys:,}" for pattern, keys in shapes)], rows)
    goal("every model: 10 million decisions in a second of CPU time", f"{slowest:.1f} million or more", slowest >= 10)


def replay(_client, quick):
    large, small = (20_000, 5_000) if quick else (10_000_000, 1_000_000)
    common = ["sliding-window-log", "--limit", "100/60s", "-q"]
    with tempfile.TemporaryDirectory(prefix="rlctl-bench.") as folder:
        rows, medians = [], {}
        for name, lines, keys, model in (("`--model`", large, 100_000, ["--model"]),
                                         ("`--model`", small, 1_000_000, ["--model"]),
                                         ("Redis", small, 100_000, [])):
            log = os.path.join(folder, f"{lines}-{keys}.log")
            with open(log, "wb") as file:
                subprocess.run([ROOT / "bench/make_log", str(lines), str(keys)], stdout=file, check=True)
            command = [RLCTL, "burst", "--replay", log, *common, *model]
            runs = [measured(command) for _ in range(1 if quick else 3)]
            wall, cpu, memory = (statistics.median(run[i] for run in runs) for i in range(3))
            medians[name, lines] = wall
            rows.append([name, f"{lines:,}", f"{keys:,}", f"{wall:.1f}", f"{cpu:.1f}",
                         f"{memory:.0f}", f"{lines / wall:,.0f}"])
            os.remove(log)
    print("An access log in the combined format, nearly sorted; `sliding-window-log`, limit 100/60s; the "
          "time of the whole\nprocess, medians of three runs. The CPU time includes that of the "
          "server.\n")
    table(["decided by", "lines", "addresses", "s", "CPU s", "peak MB", "lines a second"], rows)
    of_model, of_redis = medians["`--model`", large], medians["Redis", small]
    goal(f"`--replay --model`: {large:,} lines in less than 15 s", f"{of_model:.1f} s", of_model < 15)
    goal("`--replay` through Redis: at least 120,000 lines a second", f"{small / of_redis:,.0f}",
         small / of_redis >= 120_000)


TOLD = "local time = { ARGV[4], ARGV[5] }"


def virtual_time(_client, quick):
    rounds, requests = (1, 3_000) if quick else (15, 60_000)
    asks = (ROOT / "tests/limiters/libraries/throttled_py_gcra.lua").read_text()
    call = "local time = redis.call('TIME')"
    ways = {
        "told the time in ARGV": asks.replace(call, TOLD),
        "`redis.call('TIME')`": asks,
        "`local call = redis.call`": "local call = redis.call\n" + asks.replace("redis.call('", "call('"),
        "`redis` in a table": "local t = { r = redis }\n" + asks.replace("redis.call('TIME')", "t.r.call('TIME')"),
    }
    if call not in asks:
        raise CannotRun("the script does not call TIME as expected")
    with tempfile.TemporaryDirectory() as folder:
        commands = {}
        for number, (way, source) in enumerate(ways.items()):
            file = Path(folder, f"{number}.lua")
            file.write_text(source)
            arguments = "0.06 {burst} {cost}" + (" {now_s} 0" if TOLD in source else "")
            commands[way] = [RLCTL, "burst", "poisson", "--rate", "3000/s", "--requests", str(requests),
                             "--limit", "1000/60s", "-q", str(file), "--args", arguments,
                             "--allowed-when", "r[1] == 0"]
        wall, _ = in_turn(commands, rounds)
    told, *others = ways
    rows = [[way, f"{requests / statistics.median(wall[way]):.1f}",
             f"{median_ratio(wall[way], wall[told]):.2f} ×"] for way in ways]
    print(f"A limiter of another library, {requests:,} requests, its TTLs included; the median of {rounds} "
          f"rounds.\n")
    table(["the script", "thousand requests a second", "time"], rows)
    cost = median_ratio(wall[others[0]], wall[told])
    goal("the substitute for TIME: at most 10 % of the rate", f"{1 - 1 / cost:.1%}", cost <= 1 / 0.9)
