#!/usr/bin/env bash
# A token bucket made of two scripts: a timer runs the filler, which adds tokens to a sorted set for
# each client; each request runs the taker.
#
# What goes wrong: the taker counts the tokens but takes none. As long as there is one token, every
# request passes. (And if the timer's process has died, none does.)
#
# $ ./taker-without-taking.sh
# > two scripts: 100 of 100 passed with 5 tokens
# > rlctl check: 5 of 100 passed with 5 tokens
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=server.sh
. ./server.sh

filler="
  for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], ARGV[2], ARGV[2] .. ':' .. i) end"
taker="
  redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - 60)
  return redis.call('ZCARD', KEYS[1]) > 0"

now=$(date +%s) passed=0
cli EVAL "$filler" 1 tokens:ann 5 "$now" >/dev/null
for _ in {1..100}; do
  if [[ $(cli EVAL "$taker" 1 tokens:ann "$now") == 1 ]]; then passed=$((passed + 1)); fi
done
echo "two scripts: $passed of 100 passed with 5 tokens"

passed=0
for _ in {1..100}; do
  if rlctl check -q -s "$folder/socket" --algorithm token-bucket --limit 5/1d -- ann; then
    passed=$((passed + 1))
  fi
done
echo "rlctl check: $passed of 100 passed with 5 tokens"
