#!/usr/bin/python3
"""Makes semaphores in Lua, with and without a known flaw, runs `rlctl burst` on each, and compares what it says with
what its events mean.

    tests/support/semaphores.py RLCTL [SEED]

Prints each semaphore with which the two differ, or whose flaw was not seen or was seen in a sound one. The holders of
a run are simulated here from the lines of a .jsonl alone; nothing is shared with rlctl but these lines.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

LIMIT, LEASE_MS, TICK_US = 3, 6000, 1000
ARGUMENTS = "{limit} {lease_ms} {holder} {now_ms}"

# How a semaphore counts who holds, adds a holder and removes one.
COUNTER = {
    "count": "tonumber(redis.call('GET', KEYS[1]) or 0)",
    "add": "redis.call('INCR', KEYS[1])",
    "remove": "redis.call('DECR', KEYS[1])",
}
SET = {
    "count": "redis.call('SCARD', KEYS[1])",
    "add": "redis.call('SADD', KEYS[1], ARGV[3])",
    "remove": "redis.call('SREM', KEYS[1], ARGV[3])",
}
SORTED_SET = {
    "lapse": "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[4])",
    "count": "redis.call('ZCARD', KEYS[1])",
    "add": "redis.call('ZADD', KEYS[1], ARGV[4] + ARGV[2], ARGV[3])",
    "remove": "redis.call('ZREM', KEYS[1], ARGV[3])",
}

# What a flaw changes, and the numbers of the report of which one must then be above the limit or above 0.
FLAWS = {
    "none": ({}, []),
    "one too many": ({"full": "> tonumber(ARGV[1])"}, ["held"]),
    "denials count": ({"before": "add"}, ["leaked"]),
    "never released": ({"remove": "1"}, ["leaked"]),
    "ends too early": ({"end": "redis.call('PEXPIRE', KEYS[1], ARGV[2] / 6)"}, ["held"]),
    "dead members stay": ({"lapse": ""}, ["leaked"]),
    "released twice": ({"again": "remove"}, ["held"]),
    "dead holders stay": ({}, ["leaked"]),  # in a counter or a set, which cannot tell who has died
}


def sources(form, change):
    """The two scripts of a semaphore."""
    parts = {"lapse": "", "full": ">= tonumber(ARGV[1])", "end": ""} | form
    changed = {name: form.get(text, text) for name, text in change.items()}
    parts |= {name: text for name, text in changed.items() if name not in ("before", "again")}
    acquire = [parts["lapse"], f"local held = {parts['count']}", changed.get("before", ""),
               f"if held {parts['full']} then return 0 end",
               "" if "before" in changed else parts["add"], parts["end"], "return 1"]
    return "\n".join(filter(None, acquire)), "\n".join(["", changed.get("again", ""), f"return {parts['remove']}"])


def meaning(events, dies):
    """Who held, from the events of one key. With deaths only what does not depend on their times."""
    holders, most, starved, leaked = {}, 0, 0, 0
    for event in events:
        now, holder = event["at_us"], event["holder"]
        if event["event"] == "release":
            del holders[holder]
            continue
        if event["allowed"]:
            holders[holder] = now + 1000 * LEASE_MS
            most = max(most, sum(end - TICK_US > now for end in holders.values()))
        else:
            # Who has not released within the lease is dead: nobody holds for as long as that.
            taken = sum(not dies or end + TICK_US > now for end in holders.values())
            starved += taken < LIMIT
            leaked = max(leaked, LIMIT - taken)
    return {"held": None if dies else most, "starved": starved, "leaked": leaked}


def differences(rlctl, folder, seed, form, flaw, dies):
    change, shown = FLAWS[flaw]
    for name, source in zip(("acquire.lua", "release.lua"), sources(form, change)):
        (folder / name).write_text(source)
    burst = [rlctl, "burst", "poisson", "acquire.lua", "--head", "release release.lua", "--args", ARGUMENTS,
             "--concurrency", str(LIMIT), "--lease", f"{LEASE_MS}ms", "--hold", "2s",
             "--crash", "20%" if dies else "0%", "--rate", "3/s", "--duration", "60s", "--seed", str(seed)]
    report = json.loads(subprocess.run([*burst, "--json", "-o", "events.jsonl"], cwd=folder, check=True,
                                       capture_output=True, text=True).stdout)
    holding = report["runs"][0]["holding"]
    events = [json.loads(line) for line in open(folder / "events.jsonl")]
    for name, value in meaning(events, dies).items():
        # The end shows more, which has no events.
        from_end = holding["end_taken"] if name == "leaked" else 0
        told = holding[name]
        right = value is None or told == max(value, from_end) or (name == "held" and told > max(value, LIMIT)
                                                                    and shown == ["held"])
        if not right:
            yield f"{name} is {told}, not {value}"
    if not shown:
        if holding["held"] > LIMIT or holding["starved"] or holding["leaked"]:
            yield f"it is sound, but {holding}"
    for name in shown:
        if holding[name] <= (LIMIT if name == "held" else 0):
            yield f"its flaw was not seen: {name} is {holding[name]}"


def semaphores():
    """Each form with each flaw that it can have; and whether holders die, which only leases outlive."""
    for (name, form), flaw, dies in itertools.product(
            {"counter": COUNTER, "set": SET, "sorted set": SORTED_SET}.items(), FLAWS, (False, True)):
        is_sorted = form is SORTED_SET
        if (flaw == "dead members stay" and not (is_sorted and dies)) or flaw == "dead holders stay":
            continue
        if flaw == "released twice" and form is not COUNTER:
            continue  # nobody is in a set twice
        if dies and not is_sorted:
            if flaw != "none":
                continue
            yield name, form, "dead holders stay", dies
        else:
            yield name, form, flaw, dies


def main():
    rlctl, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    tried, found = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name, form, flaw, dies in semaphores():
            tried += 1
            for text in differences(rlctl, pathlib.Path(folder), seed, form, flaw, dies):
                found.append(f"{name}, {flaw}{', holders die' if dies else ''}: {text}")
    print("\n".join([*found, f"{tried} semaphores"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
