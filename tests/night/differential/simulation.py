"""What a Limiter of limiters.py does, written apart from its script: who is allowed, whether clients are locked out,
and the most that a window can allow. Times are whole microseconds, and 0 is the beginning of a window of the clock. A
state is None or a tuple whose last element is the time at which it expires (None: never); a ban keeps two of them."""

from math import ceil, inf, lcm

SECOND = 1_000_000
TICKS = {"s": SECOND, "ms": 1_000, "us": 1}
# Nobody knows to the millisecond when a key expires, so the schedules of worst() do not depend on it.
TTL_MARGIN = 20_000


def ttl(l, length):
    tick = SECOND if l.expire == "EXPIRE" else 1_000
    return -(-length // tick) * tick


def alive(state, t):
    return state if state and (state[-1] is None or t < state[-1]) else None


def reads_as_zero(l, state, t):
    """TTL rounds to the nearest second."""
    return l.flaw == "wait-of-zero" and state is not None and state[-1] - t < SECOND // 2


def counter(l, state, t, cost, window):
    n, end = state or (0, None)
    if l.first == "check" and n + cost > l.limit:
        if l.flaw == "denied-renews" and state:
            state = (n, t + ttl(l, window))
        return reads_as_zero(l, state, t), state
    new = n == 0
    if l.flaw == "cost-without-ttl":
        new = n + cost == 1
    if new or l.flaw in ("denied-renews", "allowed-renews"):
        length = {"short-ttl": window // (l.part + 1), "ttl-in-ms": 1000 * window,
                  "ttl-in-s": window // 1000}.get(l.flaw, window)
        end = t + ttl(l, length)
    elif l.flaw == "set-drops-ttl":
        end = None
    return n + cost <= l.limit, (n + cost, end)


def window(l, state, t, cost, window):
    length = ttl(l, window // (l.part + 1) if l.flaw == "short-ttl" else window * (l.slack + 1))
    if l.flaw == "denied-renews":
        n = state[1] if state and t // TICKS[l.unit] - state[0] // TICKS[l.unit] < window // TICKS[l.unit] else 0
        return n < l.limit, (t, min(n + 1, l.limit), t + length)
    this = t // window
    n, end = state[1:] if state and state[0] == this else (0, t + length)
    if l.store == "key-name":
        return n < l.limit, (this, n + 1, end)
    return (True, (this, n + 1, t + length)) if n < l.limit else (False, state)


def log(l, state, t, cost, window):
    tick = TICKS[l.unit]
    now = t // tick
    times, end = state or ((), None)
    kept = tuple(time for time in times if time > now - window // tick)
    n = len(times if l.flaw == "late-pruning" else kept)
    allowed = n < l.limit
    if not allowed and l.flaw != "denied-recorded":
        return False, (kept, end) if kept else None
    if l.flaw == "time-as-member":
        kept = tuple(time for time in kept if time != now)
    length = ttl(l, window // (l.part + 1) if l.flaw == "short-ttl" else window * (l.slack + 1))
    if l.flaw != "ttl-not-renewed" or n == 0:
        end = t + length
    return allowed, ((*kept, now)[-l.limit:] if l.flaw == "denied-recorded" else (*kept, now), end)


def bucket(l, state, t, cost, window):
    """A token is `window` units, and `limit` of them refill in each tick of the clock."""
    now, one = t // TICKS[l.unit], window // TICKS[l.unit]
    length = {"short-ttl": -(-l.burst * window // (l.limit * (l.part + 1))),
              "ttl-not-renewed": -(-l.burst * window // l.limit) + window}.get(
                  l.flaw, -(-l.burst * window * (l.slack + 1) // l.limit))
    had, at, end = state or (l.burst * one, now, None)
    refill = (now - at) * l.limit
    if l.flaw == "rounded-refill":
        refill -= refill % (one // l.part)
    have = min(l.burst * one, had + refill)
    allowed = have >= cost * one
    if not state or l.flaw != "ttl-not-renewed":
        end = t + ttl(l, length)
    if allowed:
        return True, (have - cost * one, now, end)
    if l.flaw == "lost-refill":
        return False, (had, now, end)
    if l.flaw == "rounded-refill":
        return False, (have, now, end)
    missing_us = (cost * one - have) * TICKS[l.unit] / l.limit
    return l.flaw == "wait-of-zero" and missing_us < SECOND, state


def gcra(l, state, t, cost, window):
    now, one = t // TICKS[l.unit] * l.limit, window // TICKS[l.unit]
    full = max(now, state[0] if state else now) + cost * one
    allowed = full <= now + l.burst * one
    return allowed, (full, None) if allowed or l.flaw == "denied-recorded" else state


def ban(l, state, t, cost, window):
    count, banned = state
    length = ttl(l, window * l.part // 2)
    new_ban = (None if l.flaw == "ban-without-ttl" else t + length,)
    if banned:
        if l.flaw == "ban-renewed":
            banned = new_ban
        if l.flaw != "counts-while-banned":
            return False, (count, banned)
    n, end = count or (0, None if l.flaw == "count-without-ttl" else t + ttl(l, window))
    if not banned and n >= l.limit:
        banned = new_ban
    return not banned, ((n + 1, end), banned)


RULES = {"counter": counter, "window": window, "log": log, "bucket": bucket, "gcra": gcra, "ban": ban}


def decide(l, state, t, cost=1, late=0):
    """Whether a request at this time is allowed, and the state that it leaves, if keys expire so much late."""
    if l.rule == "ban":
        state = tuple(alive(part, t - late) for part in state or (None, None))
    else:
        state = alive(state, t - late)
    return RULES[l.rule](l, state, t, cost, l.window * SECOND)


# --- starving ------------------------------------------------------------------------------------------

def steady(l, interval, cost, windows=16):
    """The times at which a client that sends a request in each interval is allowed, and is denied."""
    state, allowed, denied, t = None, [], [], 0
    while t < windows * l.window * SECOND:
        ok, state = decide(l, state, t, cost)
        (allowed if ok else denied).append(t)
        t += interval
    return allowed, denied


def starves(l):
    """How a client is locked out: what it sends, or ''. It is if it asks for the limit or more and gets less than an
    eighth of it in the second half of sixteen windows, or if anything is denied although it asks for less than the
    limit, in steps that fit into it."""
    window = l.window * SECOND
    for cost in sorted({1, l.limit, max(1, l.limit // 2)} if l.costs else {1}):
        refills = window * cost / l.limit
        for part in (1, 1.1, 1.2, 1.5, 2, 3, 5, 8, 12):
            interval = int(refills / part)
            if cost * sum(t >= 8 * window for t in steady(l, interval, cost)[0]) < l.limit:
                return f"a request of cost {cost} each {interval / SECOND:g} s is denied in the end"
        for times in (1.2, 1.7, 2, 4):
            interval = ceil(refills * times)
            if l.limit % cost == 0 and steady(l, interval, cost)[1]:
                return f"a request of cost {cost} each {interval / SECOND:g} s is denied now and then"
    return ""


# --- the worst window ----------------------------------------------------------------------------------

def worst(l):
    """The most units allowed within less than a window, for schedules that do not depend on the moment of an expiry."""
    L, B, window = l.limit, l.burst, l.window * SECOND
    short = ttl(l, window // (l.part + 1))
    # A clock that rounds down takes nearly a window for a full one.
    rounds = l.unit != "us"
    if l.flaw in ("time-as-member", "wait-of-zero", "ttl-in-s"):
        return inf
    if l.rule == "counter":
        # The last moment of one TTL, and the beginnings of those that begin within a window.
        return {"short-ttl": L - 1 + ceil(window / short) * L, "denied-renews": L, "allowed-renews": L,
                "set-drops-ttl": L}.get(l.flaw, 2 * L - 1)
    if l.rule == "window":
        if l.flaw == "denied-renews":
            return 2 * L if rounds else L
        if l.flaw == "short-ttl":
            return (ceil(window / short) + 1) * L + (L - 1 if l.store == "key-name" else 0)
        return 2 * L
    if l.rule == "ban":
        return L if l.flaw == "count-without-ttl" else 2 * L - 1
    if l.rule == "log":
        if l.flaw == "short-ttl":
            return ceil(window / short) * L
        if l.flaw == "ttl-not-renewed" and not rounds:
            return 2 * L if l.slack else 2 * L - 1
        if l.flaw == "late-pruning" and rounds and not l.slack:
            # One of them must be so much younger that the key does not expire just then.
            return 2 * L - 1
        return 2 * L if rounds else L
    if l.flaw == "short-ttl":
        # The bucket is full after each TTL without a request; what is left of the window refills it at its rate.
        short = ttl(l, -(-B * window // (L * (l.part + 1)))) + TTL_MARGIN
        times = ceil(window / short) - 1
        return B * (1 + times) + ceil((window - times * short) * L / window) - 1
    if l.flaw == "ttl-not-renewed":
        return 2 * B + L - 1
    return B + L - (0 if rounds else 1)


def bound(l):
    """A bound of the units allowed within less than a window by any schedule, also one that depends on the moment of an
    expiry: as in Redis, a key expires once the millisecond has passed in which its TTL ends."""
    if l.flaw == "pttl-of-zero":
        return inf
    if l.rule == "log" and l.flaw in ("late-pruning", "ttl-not-renewed"):
        return 2 * l.limit
    if l.rule == "gcra" and l.unit != "us":
        # A clock that rounds down is behind the TTL, so each key that expires forgets what would be free in less than
        # a tick.
        return worst(l) + l.limit
    return worst(l)


def grid(l):
    """Quarters of windows, also those of what refills, and what is just before and after them."""
    window, margin = l.window * SECOND, TTL_MARGIN + 5_000
    step = window // lcm(2, l.limit)
    times = [step * i + margin * j for i in range(3 * window // step + 1) for j in range(-1, 3)]
    if l.flaw == "ttl-in-ms":
        times = [*times[:20], *(1000 * window + t for t in times[:20])]
    first = {"s": 999_999, "ms": 999, "us": 0}[l.unit]
    return [first] + [t for t in times if t > first and t >= 0]


def exhaust(l, is_exact, requests=6):
    """The worst window of all schedules of so many requests on the grid; if keys do not expire exactly when they should,
    of those that do not depend on it."""
    times, window, worst_yet, seen = grid(l), l.window * SECOND, 0, {}

    def search(index, states, recent, left):
        nonlocal worst_yet
        worst_yet = max(worst_yet, len(recent))
        if left == 0 or len(recent) + left <= worst_yet:
            return
        for i in range(index, len(times)):
            t = times[i]
            lateness = (t % 1_000 + 1,) if is_exact else (0, -TTL_MARGIN, TTL_MARGIN)
            answers = [decide(l, state, t, late=late) for state, late in zip(states, lateness)]
            allowed, after = answers[0][0], tuple(state for _, state in answers)
            if any(answer != allowed for answer, _ in answers):
                continue
            now = tuple(time for time in recent if time > t - window) + ((t,) if allowed else ())
            key = (i, after, now)
            if seen.get(key, -1) < left - 1:
                seen[key] = left - 1
                search(i, after, now, left - 1)

    search(0, (None,) * (1 if is_exact else 3), (), requests)
    return worst_yet
