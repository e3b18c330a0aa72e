# needs: server
load ../../support/common

# A server that rlctl shares with other programs: no advice that is pasted harms them.

# The names of the others' keys, each with its type, a hash of its DUMP, and whether it expires soon, late or never.
others() {
  # shellcheck disable=SC2016 # Lua
  cli EVAL '
    local rows, cursor = {}, "0"
    repeat
      local page = redis.call("SCAN", cursor, "COUNT", 1000)
      cursor = page[1]
      for _, key in ipairs(page[2]) do
        if key:sub(1, 5) ~= "ours:" then
          local ttl = redis.call("PTTL", key)
          local ends = ttl < 0 and "never" or ttl < 1000000000 and "soon" or "late"
          rows[key .. " " .. redis.call("TYPE", key).ok .. " " .. redis.sha1hex(redis.call("DUMP", key)) .. " " .. ends] = 1
        end
      end
    until cursor == "0"
    local out = {}
    for row in pairs(rows) do out[#out + 1] = row end
    return out' 0 | sort
}

each=$(scaled 100 1000) # keys of each kind

# fill SECONDS: keys of other programs, some of which look like a limiter's, in every way broken.
fill() {
  # shellcheck disable=SC2016
  cli EVAL '
    local now, later = ARGV[1], ARGV[2]
    local call = redis.call
    local expires = 0
    local function keep(key, every)
      expires = expires + 1
      if expires % (every or 2) == 0 then call("EXPIRE", key, expires % 3 == 0 and 2592000 or 600) end
    end
    for i = 1, ARGV[3] do
      call("SET", "session:" .. i, "{\"user\":" .. i .. "}") keep("session:" .. i)
      call("HSET", "user:" .. i, "name", "n" .. i, "count", i) keep("user:" .. i)
      call("HSET", "cart:" .. i, "tokens", i, "at", now) keep("cart:" .. i)
      call("RPUSH", "queue:" .. i, "job", i) keep("queue:" .. i)
      call("RPUSH", "ids:" .. i, 4711 + i, 4712 + i) keep("ids:" .. i)
      call("ZADD", "board:" .. i, i, "ann", 2 * i, "bob") keep("board:" .. i)
      call("ZADD", "jobs:" .. i, now .. "000", "{\"class\":\"Job\"}") keep("jobs:" .. i)
      call("XADD", "events:" .. i, "*", "at", now) keep("events:" .. i)
      call("SADD", "tags:" .. i, "a", i) keep("tags:" .. i)
    end
    for i = 1, ARGV[3] do call("SET", "blob:" .. i, string.rep("x", i)) keep("blob:" .. i) end
    for i = 1, 10 do
      call("SET", "views:" .. i, i) keep("views:" .. i)
      call("SET", "negative:" .. i, -i) keep("negative:" .. i)
      call("RPUSH", "times:" .. i, now .. "000000", now .. "000001") keep("times:" .. i)
      call("RPUSH", "plans:" .. i, later .. "000000", later .. "000001") keep("plans:" .. i)
      call("ZADD", "seen:" .. i, now .. "000", "a", now .. "001", "b") keep("seen:" .. i)
      call("SET", "rlflx:" .. i, 9) keep("rlflx:" .. i)
      call("SET", "LIMITS:LIMITER/eve/5/1/minute" .. i, 5) keep("LIMITS:LIMITER/eve/5/1/minute" .. i)
      call("SET", "LIMITS:LIMITER/ann" .. i .. "/5/1/minute", 5) keep("LIMITS:LIMITER/ann" .. i .. "/5/1/minute")
      call("HSET", "@upstash/ratelimit:ann" .. i, "refilledAt", later .. "000", "tokens", -7)
      keep("@upstash/ratelimit:ann" .. i)
      call("ZADD", "lease:" .. i, later .. "000000", "lease:a", later .. "000000", "lease:b") keep("lease:" .. i)
    end' 0 "$1" "$(($1 + 864000))" "$each" >/dev/null
}

setup_file() { start_server --maxmemory 1gb --maxmemory-policy allkeys-lru; }

@test "every fix of audit, pasted into a shell, changes nothing that other programs keep" {
  local key
  fill "$(date +%s)"
  assert_equal "$(cli DBSIZE)" $((10 * each + 100))
  for key in ours:a "ours:it's \$(b)"; do
    rlctl check -q --limit 5/30d --algorithm gcra -- "$key"
    cli PERSIST "$key" >/dev/null
  done
  others >"$BATS_TEST_TMPDIR/before"
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/before")" $((10 * each + 100))
  assert_equal "$(rlctl audit | grep -c ' no_ttl ') $(rlctl audit --top 999 | grep -c ' no_ttl ')" '20 52'
  run -2 rlctl audit --json
  for key in no_ttl future negative eviction; do
    assert_equal "$key $(gojq -r .finding <<<"$output" | grep -cx "$key" | grep -cv '^0$')" "$key 1"
  done
  gojq -r .fix <<<"$output" >"$BATS_TEST_TMPDIR/fixes"
  refute grep -E '^[^#]*(--force|CONFIG|noeviction)' "$BATS_TEST_TMPDIR/fixes"
  # Behind the advice, which holds nothing that a shell without comments would run, is at most one command.
  refute grep -E "^#[^:]*[][;&|<>()\$\`\"'!{}*?~]" "$BATS_TEST_TMPDIR/fixes"
  run -0 sh <"$BATS_TEST_TMPDIR/fixes"
  others >"$BATS_TEST_TMPDIR/after"
  run -0 diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
  assert_equal "$(cli CONFIG GET maxmemory-policy | tail -n 1)" allkeys-lru
  for key in ours:a "ours:it's \$(b)"; do (($(cli TTL "$key") > 0)); done
}
