#!/usr/bin/env bash
# Lets rlctl ask a limiter that is a shell script with redis-cli:
#
#     rlctl burst --limit 10/1s --exec ./limiter.sh
#
# rlctl starts a server for it, in which time is virtual too, and passes its address in RLCTL_REDIS_URL.

# count KEY WINDOW_MS: how many requests this client has made in the window that began with its first one.
count() {
  redis-cli -u "$RLCTL_REDIS_URL" --no-auth-warning <<END | tail -n 1
MULTI
SET $1 0 NX PX $2
INCR $1
EXEC
END
}

while IFS= read -r line; do
  # The limiter keeps nothing itself, so {"reset":true} needs no work: rlctl empties the server.
  [[ $line =~ '"key":'(\".*\"),\"cost\".*'"limit":'([0-9]+),'"window_us":'([0-9]+) ]] || continue
  key=${BASH_REMATCH[1]} limit=${BASH_REMATCH[2]} window_ms=$((BASH_REMATCH[3] / 1000))
  echo $(($(count "$key" "$window_ms") <= limit))
done
