"""Random small limiters: a Limiter is one sentence of the grammar, with at most one flaw. It knows its Lua script and
the options with which rlctl runs the script. What it does is known to simulation.py alone, which shares no code with
this file."""

import random
from dataclasses import dataclass

# For each rule: where it keeps its state, and the flaws that it can have.
RULES = {
    # Counts since the first request; the window ends with the TTL.
    "counter": (["string", "hash", "list", "zset"],
                ["denied-renews", "allowed-renews", "short-ttl", "cost-without-ttl", "set-drops-ttl", "ttl-in-ms",
                 "ttl-in-s", "wait-of-zero", "pttl-of-zero"]),
    # Counts in a window of the clock.
    "window": (["hash", "key-name"], ["short-ttl", "denied-renews"]),
    # Keeps the time of each request of the last window.
    "log": (["zset", "list", "hash"],
            ["denied-recorded", "short-ttl", "ttl-not-renewed", "seconds", "time-as-member", "late-pruning"]),
    # Refills with time.
    "bucket": (["hash", "strings", "text"],
               ["lost-refill", "rounded-refill", "short-ttl", "ttl-not-renewed", "seconds", "wait-of-zero"]),
    # A bucket that keeps the time at which it will be full.
    "gcra": (["string", "hash"], ["denied-recorded", "seconds"]),
    # A counter, and a ban once it is exceeded.
    "ban": (["string", "hash"], ["counts-while-banned", "ban-renewed", "ban-without-ttl", "count-without-ttl"]),
}
# Flaws that the simulation does not know, since one look at the script shows what they do; lint has to find them.
CONDUCT = {
    "counter": ["one-more", "one-less", "shared", "debt", "wait-rounded-down", "remaining-before", "rounded-end"],
    "window": ["one-more", "one-less", "shared", "remaining-before"],
    "log": ["one-more", "one-less", "shared", "other-unit", "never-pruned"],
    "bucket": ["one-more", "one-less", "shared", "debt", "whole-refill"],
    "gcra": ["one-more", "one-less", "shared"],
}
UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}


@dataclass(frozen=True)
class Limiter:
    rule: str
    store: str
    flaw: str
    limit: int
    burst: int
    window: int  # seconds
    clock: str  # TIME or argument
    unit: str  # of the clock
    expire: str  # EXPIRE or PEXPIRE
    slack: int  # how many windows (of a bucket: fill times) a TTL is longer than it need be
    part: int  # the divisor of a short TTL and of a rounded token; how many half windows a ban lasts
    first: str  # counter: whether it counts or checks first
    costs: bool
    reply: str

    def script(self):
        return "\n".join([*header(self), *BODIES[self.rule](self), *reply(self)]) + "\n"

    def options(self):
        """Those of lint and of burst, without the script and the limit."""
        keys = {"key-name": ["{key}:{window_index}"], "strings": ["{{key}}:tokens", "{{key}}:at"]}.get(self.store, [])
        if self.rule == "ban":
            keys = ["{{key}}:count", "{{key}}:ban"]
        now = "{now_" + self.unit + "}" if self.clock == "argument" else "-"
        window_unit = {"s": "ms", "ms": "s", "us": "s"}[self.unit] if self.flaw == "other-unit" else self.unit
        words = f"{{limit}} {{window_{window_unit}}} {now} {'{cost}' if self.costs else '1'} {{burst}} {{id}}"
        # The simulation has requests at any microsecond. The search has none between the units of the time that a
        # script is told, so every script is also told the microseconds, which it does not read.
        words += " {now_us}"
        options = [word for key in keys for word in ("--keys", key)] + ["--args", words]
        if self.burst != self.limit:
            options += ["--head", f"burst {self.burst}"]
        return options + {
            "count": ["--allowed-when", "<=limit"],
            "array": ["--allowed-when", "r[2] == 1"],
            "word": ["--allowed-when", "r == 'yes'"],
            "nil": ["--allowed-when", "nil"],
            "error": ["--head", "denied_error LIMIT"],
            "wait": ["--allowed-when", "zero"],
            "told": ["--allowed-when", "r[1] == 1", "--head", "remaining r[2]", "--head", "retry_after r[3] s"],
        }.get(self.reply, [])

    def is_simulated(self):
        return self.flaw not in CONDUCT.get(self.rule, []) and self.reply != "told"


def make(rng, flawed, conduct=False):
    """A random limiter, with a flaw if it is to be flawed: one of conduct, or one that the simulation knows."""
    flaws_of = CONDUCT if conduct else {rule: flaws for rule, (_, flaws) in RULES.items()}
    rule, flaw = rng.choice([(rule, flaw) for rule, flaws in flaws_of.items() for flaw in (flaws if flawed else [""])])
    store = rng.choice(RULES[rule][0])
    tells = rule in ("counter", "window") and conduct
    if tells or flaw == "debt" and store in ("list", "zset"):
        store = rng.choice(["string", "hash"]) if rule == "counter" else "hash"
    if flaw == "never-pruned":
        store = "hash"
    if flaw == "shared" and store == "key-name":
        store = "hash"
    if flaw in ("cost-without-ttl", "set-drops-ttl"):
        store = "string"
    if flaw == "time-as-member":
        store = "zset"
    if flaw == "denied-renews" and rule == "window":
        store = "hash"
    window = rng.choice([4, 10, 20, 60, 300, 3600])
    unit = "s" if flaw == "seconds" else rng.choice(["s", "ms", "us"])
    if unit == "s" and flaw != "seconds" and rule in ("log", "bucket", "gcra"):
        unit = "ms"
    if flaw == "seconds":
        window = rng.choice([4, 10, 20, 60])
    expire = "PEXPIRE" if flaw == "ttl-in-s" else rng.choice(["EXPIRE", "PEXPIRE"])
    limit = rng.choice([2, 3, 4, 5, 8, 10])
    if rule == "gcra" and unit == "us":
        limit = min(limit, 4)  # beyond, its whole numbers exceed 2^53
    burst = rng.choice([limit, limit, limit + 2]) if rule in ("bucket", "gcra") else limit
    costs = rule in ("counter", "bucket", "gcra") and store not in ("list", "zset") and rng.random() < 0.3
    checks_first = tells or flaw in ("debt", "denied-renews", "allowed-renews", "set-drops-ttl", "wait-of-zero", "pttl-of-zero")
    first = "check" if checks_first else rng.choice(["count", "check"])
    replies = ["number", "array", "word", "nil", "error"]
    if rule == "counter" and first == "count":
        replies.append("count")
    if rule == "bucket" or rule == "counter":
        replies.append("wait")
    if flaw in ("other-unit", "whole-refill", "rounded-end"):
        unit = "s" if flaw == "rounded-end" else "ms"
        window = max(window, 20)
    told = "told" if tells else rng.choice(replies)
    return Limiter(rule, store, flaw, limit, burst, window,
                   "argument" if store == "key-name" else rng.choice(["TIME", "argument"]), unit,
                   expire, rng.choice([0, 1]), rng.choice([1, 2, 4]), first,
                   costs or flaw in ("cost-without-ttl", "debt"), "wait" if flaw.endswith("of-zero") else told)


# --- Lua -----------------------------------------------------------------------------------------------

def header(l):
    lines = [f"-- {l}",
             "local limit, window, cost, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4]), "
             "tonumber(ARGV[5])"]
    if l.flaw == "shared":
        lines.append("local KEYS = {'{all}:1', '{all}:2'}")
    if l.flaw in ("one-more", "one-less"):
        by = "+ 1" if l.flaw == "one-more" else "- 1"
        lines.append(f"burst = burst {by}" if l.rule in ("bucket", "gcra") else f"limit = limit {by}")
    if l.clock == "argument":
        return lines + ["local now = tonumber(ARGV[3])"]
    now = {"s": "tonumber(time[1])", "ms": "time[1] * 1000 + math.floor(time[2] / 1000)",
           "us": "time[1] * 1000000 + time[2]"}[l.unit]
    return lines + ["local time = redis.call('TIME')", f"local now = {now}"]


def expire(l, length, key="KEYS[1]"):
    """Sets a TTL of that many units of the clock."""
    per_second = 1_000_000 // UNITS[l.unit]
    if l.expire == "EXPIRE":
        return f"redis.call('EXPIRE', {key}, math.ceil(({length}) / {per_second}))"
    return f"redis.call('PEXPIRE', {key}, math.ceil(({length}) / {per_second} * 1000))"


def lasting(l):
    """The TTL of what counts for a window."""
    return f"window / {l.part + 1}" if l.flaw == "short-ttl" else f"window * {l.slack + 1}"


def counter(l):
    get = {"string": "redis.call('GET', KEYS[1])", "hash": "redis.call('HGET', KEYS[1], 'n')",
           "list": "redis.call('LLEN', KEYS[1])", "zset": "redis.call('ZCARD', KEYS[1])"}[l.store]
    add = {"string": "redis.call('INCRBY', KEYS[1], cost)", "hash": "redis.call('HINCRBY', KEYS[1], 'n', cost)",
           "list": "redis.call('RPUSH', KEYS[1], now)",
           "zset": "redis.call('ZADD', KEYS[1], now, ARGV[6])"}[l.store]
    ttl = expire(l, {"short-ttl": f"window / {l.part + 1}", "ttl-in-ms": "window * 1000",
                     "ttl-in-s": "window / 1000"}.get(l.flaw, "window"))
    new = "n == 1" if l.flaw == "cost-without-ttl" else "n == cost"
    wait = "local wait = ok and 0 or math.max(1, redis.call('PTTL', KEYS[1]))"
    if l.flaw == "wait-of-zero":
        wait = "local wait = ok and 0 or redis.call('TTL', KEYS[1])"
    if l.flaw == "pttl-of-zero":
        wait = "local wait = ok and 0 or redis.call('PTTL', KEYS[1])"
    if l.first == "count":
        counted = [f"local n = {add}"] if l.store != "zset" else [add, f"local n = {get}"]
        return [*counted, f"if {new} then {ttl} end", "local ok = n <= limit", wait]
    lines = [f"local n = tonumber({get} or 0)", "local ok = n + cost <= limit"]
    if l.flaw == "debt":
        lines[1] = "local ok = n < limit"
    if l.reply == "told":
        rounded = "math.floor" if l.flaw == "wait-rounded-down" else "math.ceil"
        left = "0" if l.flaw == "remaining-before" else "(ok and cost or 0)"
        wait = (f"local wait = ok and 0 or {rounded}(redis.call('PTTL', KEYS[1]) / 1000) "
                f"local left = math.max(0, limit - before - {left})")
        lines.append("local before = n")
    if l.flaw == "rounded-end":
        ends = f"redis.call('EXPIRE', KEYS[1], {l.window} - now % {l.window})"
        return lines + [f"if ok then {add} {ends} end", wait]
    if l.flaw == "denied-renews":
        return lines + [f"if ok then {add} end", ttl, wait]
    if l.flaw == "allowed-renews":
        return lines + [f"if ok then {add} {ttl} end", wait]
    if l.flaw == "set-drops-ttl":
        return lines + ["if ok then", "  redis.call('SET', KEYS[1], n + cost)", f"  if n == 0 then {ttl} end", "end",
                        wait]
    return lines + ["if ok then", f"  {add}", f"  n = n + cost if {new} then {ttl} end", "end", wait]


def window(l):
    if l.store == "key-name":
        return ["local n = redis.call('INCR', KEYS[1])", f"if n == 1 then {expire(l, lasting(l))} end",
                "local ok = n <= limit"]
    told = []
    if l.reply == "told":
        left = "0" if l.flaw == "remaining-before" else "(ok and 1 or 0)"
        told = [f"local left = math.max(0, limit - n - {left})",
                f"local wait = ok and 0 or math.ceil((this + window - now) / {1_000_000 // UNITS[l.unit]})"]
    test = "now - start >= window" if l.flaw == "denied-renews" else "start ~= this"
    return ["local this = now - now % window",
            "local start = tonumber(redis.call('HGET', KEYS[1], 'start') or 0)",
            "local n = tonumber(redis.call('HGET', KEYS[1], 'n') or 0)",
            f"if {test} then n = 0 end",
            "local ok = n < limit",
            *(["if ok then n = n + 1 end", "redis.call('HSET', KEYS[1], 'start', now, 'n', n)"]
              if l.flaw == "denied-renews" else
              ["if ok then", "  redis.call('HSET', KEYS[1], 'start', this, 'n', n + 1)"]),
            f"  {expire(l, lasting(l))}", *([] if l.flaw == "denied-renews" else ["end"]), *told]


def log(l):
    count = {"zset": "redis.call('ZCARD', KEYS[1])", "list": "redis.call('LLEN', KEYS[1])",
             "hash": "redis.call('HLEN', KEYS[1])"}[l.store]
    prune = {"zset": ["redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)"],
             "list": ["while true do", "  local oldest = redis.call('LINDEX', KEYS[1], 0)",
                      "  if not oldest or tonumber(oldest) > now - window then break end",
                      "  redis.call('LPOP', KEYS[1])", "end"],
             "hash": ["local all = redis.call('HGETALL', KEYS[1])", "for i = 1, #all, 2 do",
                      "  if tonumber(all[i + 1]) <= now - window then redis.call('HDEL', KEYS[1], all[i]) end",
                      "end"]}[l.store]
    member = "now" if l.flaw == "time-as-member" else "ARGV[6]"
    add = {"zset": f"redis.call('ZADD', KEYS[1], now, {member})", "list": "redis.call('RPUSH', KEYS[1], now)",
           "hash": "redis.call('HSET', KEYS[1], ARGV[6], now)"}[l.store]
    counted = [f"local n = {count}"]
    if l.flaw == "never-pruned":
        prune = ["local n, all = 0, redis.call('HGETALL', KEYS[1])", "for i = 1, #all, 2 do",
                 "  if tonumber(all[i + 1]) > now - window then n = n + 1 end", "end"]
        counted = []
    ttl = expire(l, lasting(l))
    if l.flaw == "ttl-not-renewed":
        ttl = f"if n == 0 then {ttl} end"
    lines = counted + prune if l.flaw == "late-pruning" else prune + counted
    lines.append("local ok = n < limit")
    if l.flaw == "denied-recorded":
        # Some keep the newest only.
        trim = {"zset": "redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -limit - 1)",
                "list": "redis.call('LTRIM', KEYS[1], -limit, -1)"}.get(l.store, "") if l.slack else ""
        return lines + [add, trim, ttl]
    return lines + ["if ok then", f"  {add}", f"  {ttl}", "end"]


def bucket(l):
    """Tokens are kept in units of 1 / window, so that all numbers are whole; rounded ones in units of 1 / part."""
    get = {"hash": ["local have = redis.call('HGET', KEYS[1], 'have')",
                    "local at = tonumber(redis.call('HGET', KEYS[1], 'at') or now)"],
           "strings": ["local have = redis.call('GET', KEYS[1])",
                       "local at = tonumber(redis.call('GET', KEYS[2]) or now)"],
           "text": ["local text = redis.call('GET', KEYS[1])",
                    "local have, at = string.match(text or '', '(%d+):(%d+)')", "at = tonumber(at or now)"]}[l.store]
    put = {"hash": "redis.call('HSET', KEYS[1], 'have', have, 'at', at)",
           "strings": "redis.call('SET', KEYS[1], have) redis.call('SET', KEYS[2], at)",
           "text": "redis.call('SET', KEYS[1], string.format('%d:%d', have, at))"}[l.store]
    one, refill = "window", "(now - at) * limit"
    if l.flaw == "rounded-refill":
        one, refill = f"{l.part}", f"math.floor((now - at) * limit * {l.part} / window)"
    if l.flaw == "whole-refill":
        one, refill = "1", "math.floor((now - at) * limit / window)"
    length = f"burst * window / limit * {l.slack + 1}"
    if l.flaw == "short-ttl":
        length = f"burst * window / limit / {l.part + 1}"
    if l.flaw == "ttl-not-renewed":
        length = "burst * window / limit + window"
    keys = ["KEYS[1]", "KEYS[2]"] if l.store == "strings" else ["KEYS[1]"]
    ttl = " ".join(expire(l, length, key) for key in keys)
    lines = [*get, "local new = not have", f"have = tonumber(have or burst * {one})",
             f"have = math.min(burst * {one}, have + {refill})", f"local ok = have >= cost * {one}"]
    if l.flaw == "debt":
        lines[-2:] = [f"have = math.min(burst * {one}, math.max(0, have) + {refill})", f"local ok = have >= {one}"]
    if l.flaw == "ttl-not-renewed":
        # SET would remove the TTL.
        put = {"strings": "redis.call('SET', KEYS[1], have, 'KEEPTTL') redis.call('SET', KEYS[2], at, 'KEEPTTL')",
               "text": "redis.call('SET', KEYS[1], string.format('%d:%d', have, at), 'KEEPTTL')"}.get(l.store, put)
        ttl = f"if new then {ttl} end"
    to_ms = 1_000_000 // UNITS[l.unit] // 1000 or 1 / 1000
    wait = f"math.ceil((cost * {one} - have) * window / {one} / limit / {to_ms})"
    if l.flaw == "wait-of-zero":
        wait = f"math.floor((cost * {one} - have) * window / {one} / limit / {1_000_000 // UNITS[l.unit]})"
    lines.append(f"local wait = ok and 0 or {wait}")
    if l.flaw == "lost-refill":
        back = {"hash": "redis.call('HSET', KEYS[1], 'at', now)", "strings": "redis.call('SET', KEYS[2], now)",
                "text": "redis.call('SET', KEYS[1], string.format('%d:%d', before, now))"}[l.store]
        lines.insert(len(get) + 2, "local before = have")
        return lines + ["if ok then", f"  have, at = have - cost * {one}, now", f"  {put}", f"else {back} end", ttl]
    if l.flaw == "rounded-refill":
        return lines + [f"if ok then have = have - cost * {one} end", "at = now", put, ttl]
    return lines + ["if ok then", f"  have, at = have - cost * {one}, now", f"  {put}", f"  {ttl}", "end"]


def gcra(l):
    """Times are multiplied by the limit, so that all numbers are whole."""
    get = {"string": "redis.call('GET', KEYS[1])", "hash": "redis.call('HGET', KEYS[1], 'full')"}[l.store]
    put = {"string": "redis.call('SET', KEYS[1], string.format('%.0f', full))",
           "hash": "redis.call('HSET', KEYS[1], 'full', string.format('%.0f', full))"}[l.store]
    ttl = expire(l, f"(full / limit - now) * {l.slack + 1}")
    lines = [f"local full = math.max(now * limit, tonumber({get} or 0)) + cost * window",
             "local ok = full <= now * limit + burst * window"]
    if l.flaw == "denied-recorded":
        return lines + [put, ttl]
    return lines + [f"if ok then {put} {ttl} end"]


def ban(l):
    add = {"string": "redis.call('INCR', KEYS[1])", "hash": "redis.call('HINCRBY', KEYS[1], 'n', 1)"}[l.store]
    count = [f"local n = {add}"]
    if l.flaw != "count-without-ttl":
        count.append(f"if n == 1 then {expire(l, 'window')} end")
    set_ban = f"redis.call('SET', KEYS[2], 1) {expire(l, f'window * {l.part} / 2', 'KEYS[2]')}"
    if l.flaw == "ban-without-ttl":
        set_ban = "redis.call('SET', KEYS[2], 1)"
    lines = ["local banned = redis.call('EXISTS', KEYS[2]) == 1", "local ok = false"]
    if l.flaw == "counts-while-banned":
        return lines + count + ["if not banned then", f"  if n > limit then {set_ban} else ok = true end", "end"]
    renew = [f"if banned then {expire(l, f'window * {l.part} / 2', 'KEYS[2]')} end"] if l.flaw == "ban-renewed" else []
    return lines + renew + ["if not banned then", *("  " + line for line in count),
                            f"  if n > limit then {set_ban} else ok = true end", "end"]


BODIES = {"counter": counter, "window": window, "log": log, "bucket": bucket, "gcra": gcra, "ban": ban}


def reply(l):
    return {"number": ["return ok and 1 or 0"], "array": ["return {limit, ok and 1 or 0}"], "count": ["return n"],
            "word": ["return ok and 'yes' or 'no'"], "nil": ["if not ok then return 1 end"],
            "error": ["if not ok then return redis.error_reply('LIMIT exceeded') end", "return 1"],
            "wait": ["return wait"], "told": ["return {ok and 1 or 0, left, wait}"]}[l.reply]
