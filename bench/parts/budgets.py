"""The server's time for the calls of a budget with many holds, beside gcra, and the bytes of a hold."""

import statistics

from common import PLENTY, ROOT, WINDOW, CannotRun
from report import goal, table
from server import ReplyError, decode, encode

HOLDS = {1: 1.5, 10: 1.5, 100: 2}  # how many there are: the most that a call may take, as a multiple of gcra
MOST_BYTES = 48
HOLD = 3_600_000_000  # µs: none ends during a run
ID = "{:016}"  # as long as those that rlctl makes

# What is asked of a budget after its limit, window and burst, with the ID of the newest hold.
CALLS = {
    "take": lambda newest: [1],
    "reserve": lambda newest: [5, "", "reserve", ID.format(newest + 1), HOLD],
    "settle": lambda newest: [3, "", "settle", ID.format(newest)],
    "release": lambda newest: [0, "", "settle", ID.format(newest)],
}


class Script:
    """Calls a script by the server's clock, each time on the same state."""

    def __init__(self, client, algorithm, name="key"):
        self.client, self.key = client, f"bench:{{{name}}}:{algorithm}"
        self.sha = client.load(ROOT / f"lua/{algorithm}.lua")

    def command(self, *arguments):
        return encode(["EVALSHA", self.sha, 1, self.key, PLENTY, WINDOW, "", *arguments])

    def prepare(self, holds):
        """Makes a key of which something is spent, with as many holds; returns what makes it again."""
        self.client.call("DEL", self.key)
        self.client.pipeline(self.command() + b"".join(
            self.command(5, "", "reserve", ID.format(i), HOLD) for i in range(1, holds + 1)))
        ttl, dump = self.client.call("PTTL", self.key), self.client.call("DUMP", self.key)
        return encode(["RESTORE", self.key, ttl, dump, "REPLACE"])

    def measure(self, calls, holds, *arguments):
        """The microseconds of one call. INFO counts those of RESTORE apart."""
        data, usec = self.client.timed((self.prepare(holds) + self.command(*arguments)) * calls)
        for reply in decode(data)[1::2]:
            if isinstance(reply, ReplyError) or reply[0] != 1:
                raise CannotRun(f"{self.key}, {arguments}: {reply}")
        return usec

    def in_turn(self, numbers):
        """The microseconds of one call, of reservations that are each settled at once and remembered."""
        return self.client.timed(b"".join(
            self.command(5, "", "reserve", ID.format(i), HOLD) + self.command(3, "", "settle", ID.format(i))
            for i in numbers))[1]


def bytes_of(client, budget, holds):
    budget.prepare(0)
    empty = client.call("MEMORY", "USAGE", budget.key, "SAMPLES", 0)
    budget.prepare(holds)
    return (client.call("MEMORY", "USAGE", budget.key, "SAMPLES", 0) - empty) / holds


def server_time(client, quick):
    rounds, calls = (3, 50) if quick else (101, 100)
    client.flush()
    gcra, budget = Script(client, "gcra"), Script(client, "budget")
    multiples = {(call, holds): [] for holds in HOLDS for call in CALLS}
    units, full = [], []
    crowded = Script(client, "budget", "full")
    crowded.in_turn(range(600))
    before = gcra.measure(calls, 0)
    for i in range(rounds):
        # So many that some are forgotten once, to make room.
        full.append(crowded.in_turn(range(600 + 50 * i, 650 + 50 * i)) / before)
        for (call, holds), each in multiples.items():
            usec = budget.measure(calls, holds, *CALLS[call](holds))
            after = gcra.measure(calls, 0)
            each.append(usec / ((before + after) / 2))
            units.append(after)
            before = after
    medians = {case: statistics.median(each) for case, each in multiples.items()}
    print(f"""\
The server's time for each EVALSHA from `INFO commandstats`, with one key, as a multiple of an allowed request
of `gcra`, which took {statistics.median(units):.2f} µs and ran before and after each. Before each call of both, RESTORE makes
the key what it was; its time is not counted. IDs of {len(ID.format(1))} bytes. {rounds} rounds of {calls} calls; medians.
""")
    table(["holds", *(f"{holds}" for holds in HOLDS)],
          [[call, *(f"{medians[call, holds]:.2f}" for holds in HOLDS)] for call in CALLS])
    print("A reserve and its settle in turn, when the table is full of 500 settled IDs, each: "
          f"{statistics.median(full):.1f}.\n")
    each_hold = {holds: bytes_of(client, budget, holds) for holds in HOLDS}
    table(["bytes a hold", *(f"{holds}" for holds in HOLDS)],
          [["`budget`", *(f"{each:.1f}" for each in each_hold.values())]])
    for holds, most in HOLDS.items():
        measured = [medians[call, holds] for call in ("reserve", "settle")]
        goal(f"`budget`, reserve and settle with {holds} held, `gcra`: at most {most:.2f} ×",
             "{:.2f} / {:.2f}".format(*measured), *(value <= most for value in measured))
    goal(f"`budget`: at most {MOST_BYTES} bytes a hold with {max(HOLDS)} held", f"{each_hold[max(HOLDS)]:.1f}",
         each_hold[max(HOLDS)] <= MOST_BYTES)
