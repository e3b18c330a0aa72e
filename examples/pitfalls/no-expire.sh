#!/usr/bin/env bash
# A sorted set for each client, pruned whenever that client sends a request, without EXPIRE.
#
# What goes wrong: the set of a client that never comes back is never pruned. Twenty clients send one
# request each; long after the window has ended, twenty keys are still there.
#
# $ ./no-expire.sh
# > sorted sets: 20 keys left
# > rlctl check: 0 keys left
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=server.sh
. ./server.sh

window_ms=100

for client in {1..20}; do
  now=$(date +%s%3N)
  cli ZREMRANGEBYSCORE "swrl:$client" 0 $((now - window_ms)) >/dev/null
  cli ZADD "swrl:$client" "$now" "$now" >/dev/null
done
sleep 0.3
echo "sorted sets: $(cli DBSIZE) keys left"

cli FLUSHALL >/dev/null
for client in {1..20}; do
  rlctl check -q -s "$folder/socket" --limit "5/${window_ms}ms" -- "$client"
done
sleep 0.3
cli KEYS '*' >/dev/null # makes the server expire keys that are due
echo "rlctl check: $(cli DBSIZE) keys left"
