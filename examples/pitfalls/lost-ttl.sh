#!/usr/bin/env bash
# A string as a counter: GET it; if it does not exist, SET it to 1 with a TTL, else INCR it.
#
# What goes wrong: the key can expire between GET and INCR, and INCR then makes a new key without a
# TTL. Nothing ever resets this key: once it has reached the limit, the user is locked out forever.
#
# $ ./lost-ttl.sh
# > string counter: ttl -1, allowed 3 of 10
# > rlctl check: has a ttl, allowed 3 of 10
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=server.sh
. ./server.sh

key=rate:login:ann limit=3

# Nothing can come between the commands of a transaction; here something does.
# ann's first request, almost a window ago; her second one sees the key, so it will INCR it
until cli SET "$key" 1 PX 200 >/dev/null && [[ $(cli GET "$key") == 1 ]]; do :; done
while (($(cli EXISTS "$key"))); do sleep 0.05; done # the window ends
cli INCR "$key" >/dev/null

allowed=1
for _ in {1..9}; do
  if (($(cli GET "$key") < limit)); then
    cli INCR "$key" >/dev/null
    allowed=$((allowed + 1))
  fi
done
echo "string counter: ttl $(cli TTL "$key"), allowed $allowed of 10"

allowed=0
for _ in {1..10}; do
  if rlctl check -q -s "$folder/socket" --algorithm fixed-window --limit "$limit/1d" -- ann; then
    allowed=$((allowed + 1))
  fi
done
(($(cli TTL ann) > 0))
echo "rlctl check: has a ttl, allowed $allowed of 10"
