# needs: server
load ../../support/common

# `rlctl lint --exec`: limiters that are programs, of which only the answers are known.

setup() {
  cd "$BATS_TEST_TMPDIR"
  # A program is `limiter.py NAME`: a sliding log, which flaws change, or another limiter.
  cat >limiter.py <<'PYTHON'
import json, sys

class Log:
    """Answers with all figures; subclasses have a flaw each."""
    def __init__(self):
        self.clients = {}
    def units(self, request):
        return request["cost"]
    def now(self, request):
        return request["now_us"]
    def gone(self, times, now, window):
        while times and times[0] <= now - window:
            times.pop(0)
    def fits(self, count, units, limit):
        return count + units <= limit
    def denied(self, times, now):
        pass
    def added(self, times, now, units):
        times.extend([now] * units)
    def figures(self, answer, request):
        return answer
    def ask(self, request):
        now, window, limit, units = self.now(request), request["window_us"], request["limit"], self.units(request)
        times = self.clients.setdefault(request["key"], [])
        self.gone(times, now, window)
        allowed = self.fits(len(times), units, limit)
        if allowed:
            self.added(times, now, units)
        else:
            self.denied(times, now)
        answer = {"allowed": allowed, "remaining": max(0, limit - len(times)),
                  "reset_after_us": times[-1] + window - now if times else 0}
        if not allowed:
            answer["retry_after_us"] = times[min(len(times), len(times) + units - limit) - 1] + window - now
        return self.figures(answer, request)

class Plain(Log):
    def figures(self, answer, request):
        return {"allowed": answer["allowed"]}

class Fixed:
    def __init__(self):
        self.counts = {}
    def ask(self, request):
        now, window, limit = request["now_us"], request["window_us"], request["limit"]
        key = (request["key"], now // window)
        count = self.counts.get(key, 0)
        allowed = count + request["cost"] <= limit
        if allowed:
            self.counts[key] = count = count + request["cost"]
        left = (now // window + 1) * window - now
        answer = {"allowed": allowed, "remaining": limit - count, "reset_after_us": left if count else 0}
        if not allowed:
            answer["retry_after_us"] = left
        return answer

class Gcra:
    """Times are multiplied by the limit, so that all is exact."""
    def __init__(self):
        self.ends = {}
    def ask(self, request):
        window, limit, burst = request["window_us"], request["limit"], request["burst"]
        now = request["now_us"] * limit
        end = max(self.ends.get(request["key"], now), now)
        new = end + window * request["cost"]
        allowed = new - window * burst <= now
        if allowed:
            self.ends[request["key"]] = end = new
        answer = {"allowed": allowed, "remaining": (now + window * burst - end) // window,
                  "reset_after_us": -(-(end - now) // limit)}
        if not allowed:
            answer["retry_after_us"] = -(-(new - window * burst - now) // limit)
        return answer

class Bucket:
    """A unit has as many parts as the window has microseconds, so that all is exact."""
    def __init__(self):
        self.buckets = {}
    def parts(self, elapsed, request):
        return elapsed * request["limit"]
    def ask(self, request):
        now, window, limit = request["now_us"], request["window_us"], request["limit"]
        full = request["burst"] * window
        level, at = self.buckets.get(request["key"], (full, now))
        level = min(full, level + self.parts(now - at, request))
        needed = request["cost"] * window
        allowed = level >= needed
        if allowed:
            level -= needed
        self.buckets[request["key"]] = level, now
        answer = {"allowed": allowed, "remaining": level // window, "reset_after_us": -(-(full - level) // limit)}
        if not allowed:
            answer["retry_after_us"] = -(-(needed - level) // limit)
        return answer

class CountsDenials(Plain):
    def denied(self, times, now):
        times.append(now)

class TruncatingBucket(Bucket):
    """Asked more often than a unit refills, it never does."""
    def parts(self, elapsed, request):
        return elapsed * request["limit"] // request["window_us"] * request["window_us"]
    def ask(self, request):
        return {"allowed": super().ask(request)["allowed"]}

class Renewed(Plain):
    def gone(self, times, now, window):
        if times and times[-1] <= now - window:
            times.clear()

class Endless(Plain):
    def gone(self, times, now, window):
        pass

class ForgetsTheIdle(Plain):
    seen = 0
    def gone(self, times, now, window):
        super().gone(times, now, window)
        if now - self.seen > 20_000_000:
            times.clear()
        self.seen = now

class FreePass(Fixed):
    """Nobody is denied in the last five seconds of a window."""
    def ask(self, request):
        answer = super().ask(request)
        left = request["window_us"] - request["now_us"] % request["window_us"]
        return {"allowed": answer["allowed"] or left < 5_000_000}

class WholeSeconds(Plain):
    def now(self, request):
        return request["now_us"] // 1_000_000 * 1_000_000

class IgnoresCost(Plain):
    def units(self, request):
        return 1

class ForgetsCost(Plain):
    """Compares before it adds."""
    def fits(self, count, units, limit):
        return count < limit

class Told(Log):
    """A figure is multiplied and something is added, unless it would be negative."""
    def figures(self, answer, request):
        name, factor, added = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
        if name in answer:
            answer[name] = max(0, answer[name] * factor + added)
        return answer

class Nobody:
    def ask(self, request):
        return {"allowed": False}

class Everybody:
    def ask(self, request):
        return {"allowed": True}

class Three(Plain):
    def fits(self, count, units, limit):
        return count + units <= 3

class Dies:
    def ask(self, request):
        sys.exit("out of tokens")

class Sleeps:
    def ask(self, request):
        open("asked", "w").close()
        import time
        time.sleep(1000)

make = globals()[sys.argv[1]]
limiter = make()
for line in sys.stdin:
    request = json.loads(line)
    if "reset" in request:
        limiter = make()
    else:
        print(json.dumps(limiter.ask(request)), flush=True)
PYTHON
}

# finds STATUS FINDINGS NAME [ARGUMENT…]: the status, and "NAME SEVERITY" of the findings, separated by commas.
finds() {
  run "-$1" --separate-stderr rlctl lint --json --limit 5/60s --exec "python3 limiter.py ${*:3}"
  run -0 gojq -rs '[.[] | select(.finding) | "\(.finding) \(.severity)"] | unique | join(", ")' <<<"$output"
  assert_output "$2"
}

@test "correct limiters have no findings: a log, a fixed window, a GCRA and a bucket" {
  local name
  for name in Log Plain Fixed Gcra Bucket; do finds 0 '' "$name"; done
}

@test "denied requests that count lock out who keeps trying, and so does a bucket that drops parts" {
  finds 2 'denied-write critical' CountsDenials
  finds 2 'denied-write critical' TruncatingBucket
}

@test "a window that each allowed request renews" {
  finds 2 'renewed-window critical' Renewed
}

@test "a client that is denied forever" {
  finds 2 'locked-out critical' Endless
}

# bats test_tags=night
@test "a client that is idle is forgotten while its requests count" {
  finds 2 'short-ttl critical' ForgetsTheIdle
}

# bats test_tags=night
@test "an instant at which nobody is denied" {
  finds 2 'free-pass critical' FreePass
}

# bats test_tags=night
@test "whole seconds" {
  finds 1 'coarse-time warning' WholeSeconds
}

@test "a cost that does not count is a note, and one that is not compared is critical" {
  finds 0 'wrong-cost note' IgnoresCost
  finds 2 'wrong-cost critical' ForgetsCost
  run -0 --separate-stderr rlctl lint --cost 1 --exec 'python3 limiter.py ForgetsCost'
}

# bats test_tags=night
@test "figures that later answers refute" {
  finds 1 'wrong-wait warning' Told retry_after_us 1 -20
  finds 0 'wrong-wait note' Told retry_after_us 1 800000
  finds 1 'wrong-wait warning' Told retry_after_us 1 1100000
  finds 1 'wrong-wait warning' Told retry_after_us 0 0
  finds 1 'wrong-remaining warning' Told remaining 1 1
  finds 0 'wrong-remaining note' Told remaining 1 -1
  finds 1 'wrong-reset warning' Told reset_after_us 1 -1000000
  finds 1 'wrong-reset warning' Told reset_after_us 2 0
}

@test "a finding has no line, but the requests that show it" {
  run -1 --separate-stderr rlctl lint --limit 5/60s --exec 'python3 limiter.py Told retry_after_us 0 10000000'
  assert_equal "$(sed -E 's/[0-9]+ requests/N requests/' <<<"$output")" \
    "limiter.py: wrong-wait
    warning: A denial's retry_after_us is too short: it says 10 s, but the wait
    is 60 s. Seen: 5 of 6 allowed at 0 s, 0 of 1 at 10 s.
    Fix: tell the time until this request is allowed, rounded up.
1 warning in 1 program (N requests)
Search for requests that exceed the limit:
    rlctl burst adversary --limit 5/60s --exec 'python3 limiter.py Told retry_after_us 0 10000000'"
  assert_equal "$stderr" ''
  run -2 --separate-stderr rlctl lint --json --limit 5/60s --exec 'python3 limiter.py CountsDenials'
  run -0 gojq -rc 'select(.finding) | [.finding, .script, .line, .call, .schedule]' <<<"$output"
  assert_output '["denied-write","limiter.py",null,null,"5 of 6 allowed at 0 s, 0 of 6 each 10.91 s from 10.91 s to 65.45 s"]'
}

# bats test_tags=night
@test "a program of the configuration, beside a script" {
  printf '%s\n' '[script.mine]' 'exec = "python3 limiter.py Renewed"' >my.toml
  run -2 --separate-stderr rlctl lint --config my.toml mine gcra
  assert_line --index 0 'mine: renewed-window'
  assert_line --regexp '^1 critical finding in 2 limiters \([0-9]+ requests\)$'
  assert_line '    rlctl burst adversary --config my.toml --limit 5/60s --script mine'
  run -3 --separate-stderr rlctl lint --config my.toml mine --args '{now}'
  assert_equal "${stderr_lines[0]}" "rlctl: lint: --args is for a script in Lua, but 'mine' is a program"
}

# bats test_tags=night
@test "a limit of 1, and one that is scaled down" {
  run -2 --separate-stderr rlctl lint --limit 1/60s --exec 'python3 limiter.py Renewed'
  assert_line --index 0 'limiter.py: renewed-window'
  run -0 --separate-stderr rlctl lint --limit 1000/60s --exec 'python3 limiter.py Gcra'
  assert_equal "$stderr" \
    'rlctl: lint: warning: limiter.py: the limit 1000/60s is scaled down to 20/60s: the traffic must exceed it'
}

@test "what proves nothing is UNKNOWN: status 3" {
  run -3 --separate-stderr rlctl lint --exec 'python3 limiter.py Nobody'
  assert_equal "$stderr" 'rlctl: lint: warning: limiter.py: nothing was allowed'
  run -3 --separate-stderr rlctl lint --exec 'python3 limiter.py Everybody'
  assert_regex "$stderr" 'nothing was denied: the program must use the limit of the request$'
  run -3 --separate-stderr rlctl lint --exec 'python3 limiter.py Three'
  assert_regex "$stderr" 'denied after 3 requests, not 5: '
  assert_line 'Not tested:'
}

@test "a program that fails is UNKNOWN too, and named; --timeout and Ctrl-C end it" {
  run -3 --separate-stderr rlctl lint --exec 'python3 limiter.py Dies'
  assert_regex "${stderr_lines[0]}" '^rlctl: lint: limiter\.py.*out of tokens'
  run -3 --separate-stderr rlctl lint --timeout 100ms --exec 'python3 limiter.py Sleeps'
  assert_regex "${stderr_lines[0]}" '^rlctl: lint: limiter\.py'
  rm -f asked
  run -0 ends_by INT 'test -e asked' rlctl lint --timeout 100s --exec 'python3 limiter.py Sleeps'
  assert_output 'signal 2'
}

@test "how a script is called says nothing about a program" {
  run -3 --separate-stderr rlctl lint --exec 'cat' --args '{now_ms}'
  assert_equal "${stderr%%$'\n'*}" 'rlctl: lint: --keys, --args and the like say how a script is called, but there is none'
}
