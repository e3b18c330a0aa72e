"""rlctl reset, inspect and list: many keys and entries."""

import statistics
import struct
import subprocess
import time

from common import ALGORITHMS, CannotRun
from processes import RLCTL, in_turn, measured, median_ratio, tool
from report import goal, table
from server import encode


def reset(client, quick):
    rounds, keys = (2, 5000) if quick else (21, 100_000)
    cli = f"'{tool('redis-cli')}' -s '{client.path}'"
    commands = {
        "rlctl reset --match 'k:*' --yes": [RLCTL, "-s", client.path, "reset", "--match", "k:*", "--yes", "--quiet"],
        "redis-cli --scan \\| xargs -n 1000 redis-cli UNLINK":
            ["/bin/sh", "-c", f"{cli} --scan --pattern 'k:*' | xargs -n 1000 {cli} UNLINK"],
    }
    state = struct.pack("<5sdIIdI", b"gcra ", 1700000034409170, 2, 7, 60000000, 7)
    make_all = b"".join(encode(["SET", f"k:{i}", state]) for i in range(keys))

    def require_none():
        if left := client.call("DBSIZE"):
            raise CannotRun(f"{left} keys were left")

    def make_again():
        require_none()
        client.pipeline(make_all)

    client.flush()
    wall, _ = in_turn(commands, rounds, make_again)
    require_none()
    ratio = median_ratio(*wall.values())
    print(f"{keys:,} keys of gcra, over a unix socket. {rounds} rounds, alternating; medians. "
          "The ratio is the\nmedian of the rounds' ratios.\n")
    table(["", "ms"], [[f"`{name}`", f"{statistics.median(each):.0f}"]
                       for name, each in wall.items()] + [["ratio", f"{ratio:.2f}"]])
    goal("`rlctl reset --match`: at most 1.5 × the time of redis-cli, which examines no key", f"{ratio:.2f} ×",
         ratio <= 1.5)


def inspect(client, quick):
    rounds, entries = (3, 5000) if quick else (101, 100_000)
    client.flush()
    begin = int(time.time() * 1_000_000) - entries * 500
    times_of_units = [str(begin + 500 * i) for i in range(entries)]
    client.pipeline(b"".join(encode(["RPUSH", "k"] + times_of_units[i:i + 1000])
                             for i in range(0, entries, 1000)))
    client.call("PEXPIRE", "k", "75000000")
    commands = {
        "rlctl inspect k --entries all --json": [RLCTL, "-s", client.path, "inspect", "k", "--entries", "all",
                                                 "--json"],
        "redis-cli LRANGE k 0 -1": [tool("redis-cli"), "-s", client.path, "LRANGE", "k", "0", "-1"],
        "rlctl inspect k": [RLCTL, "-s", client.path, "inspect", "k"],
    }
    wall, _ = in_turn(commands, rounds)
    mine, theirs, _ = wall.values()
    ratio = median_ratio(mine, theirs)
    print(f"A log of {entries:,} entries, over a unix socket. {rounds} rounds, alternating; medians. The "
          "ratio is the median\nof the rounds' ratios.\n")
    table(["", "ms"], [[f"`{name}`", f"{statistics.median(each):.1f}"] for name, each in wall.items()]
          + [["ratio of the first two", f"{ratio:.2f}"]])
    goal("`rlctl inspect --entries all --json`: at most 1.5 × the time of `redis-cli LRANGE`", f"{ratio:.2f} ×",
         ratio <= 1.5)


# Reads each key that redis-cli --scan finds, as one connection can in one pipeline.
READ_ALL = r"""
{cli} --scan | awk '{{ n = length($0); printf "*2\r\n$4\r\nTYPE\r\n$%d\r\n%s\r\n", n, $0
  printf "*4\r\n$8\r\nGETRANGE\r\n$%d\r\n%s\r\n$1\r\n0\r\n$3\r\n127\r\n", n, $0 }}' |
  {cli} --pipe >/dev/null 2>&1 || true
"""


def fill_with_limiters(client, kinds, each):
    """Keys of each algorithm, of sorted sets, numbers and texts, made on the server from one of each."""
    client.flush()
    for name in kinds:
        subprocess.run([RLCTL, "-s", client.path, "check", name, "-q", "--limit", "5/1d", "--algorithm", name],
                       check=True)
        for i in range(0, each, 10_000):
            client.call("EVAL", """local dump = redis.call('DUMP', KEYS[1])
                for i = 1, ARGV[2] do
                  redis.call('RESTORE', KEYS[1] .. ':' .. ARGV[1] + i, 86400000, dump)
                end""", "1", name, str(i), str(min(each, 10_000)))
        client.call("DEL", name)
    for i in range(0, each, 10_000):
        client.call("EVAL", """for i = ARGV[1] + 1, ARGV[1] + ARGV[2] do
                redis.call('SET', 'session:' .. i, 'the text of a session')
                redis.call('SET', 'hits:' .. i, i, 'EX', 86400)
                redis.call('ZADD', 'window:' .. i, 1790000000000, 'a')
              end""", "0", str(i), str(min(each, 10_000)))


def listing(client, quick):
    kinds = [name for name in ALGORITHMS if name != "concurrency"]
    each, rounds = (1000, 2) if quick else (100_000, 5)
    fill_with_limiters(client, kinds, each)
    keys = client.call("DBSIZE")
    cli = f"'{tool('redis-cli')}' -s '{client.path}'"
    lists = [RLCTL, "-s", client.path, "list"]
    commands = {"rlctl list": lists,
                "redis-cli --scan, then TYPE and GETRANGE of each": ["/bin/sh", "-c", READ_ALL.format(cli=cli)]}
    wall, _ = in_turn(commands, rounds)
    ratio = median_ratio(*wall.values())
    memory = {"rlctl list " + " ".join(words): measured([*lists, *words])[2]
              for words in ([], ["--top", "20"], ["--sort", "used"])}
    print(f"{keys:,} keys of eleven kinds, over a unix socket. {rounds} rounds, alternating; medians. The ratio is the "
          "median of the\nrounds' ratios.\n")
    table(["", "s"], [[f"`{name}`", f"{statistics.median(one) / 1000:.2f}"] for name, one in wall.items()]
          + [["ratio", f"{ratio:.2f}"]])
    table(["", "most memory, MB"],
          [[f"`{name.rstrip()}`", f"{megabytes:.0f}"] for name, megabytes in memory.items()])
    goal("`rlctl list`: at most 1.3 × the time of redis-cli", f"{ratio:.2f} ×", ratio <= 1.3)
    unsorted = max(megabytes for name, megabytes in memory.items() if "--sort" not in name)
    goal("`rlctl list`: less than 64 MB unless it sorts all keys", f"{unsorted:.0f} MB", unsorted < 64)
