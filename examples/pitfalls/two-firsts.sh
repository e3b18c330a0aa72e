#!/usr/bin/env bash
# The same counter: GET it; if it does not exist, SET it to 1 with a TTL, else INCR it.
#
# What goes wrong: two first requests at the same time both find no counter, and both set it to 1. One
# of them is not counted, so a limit of 3 lets 4 pass; with a hundred clients at once, 102.
#
# $ ./two-firsts.sh
# > string counter: 4 passed a limit of 3
# > rlctl check: 3 passed a limit of 3
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=server.sh
. ./server.sh

key=rate:login:ann limit=3 passed=0

one=$(cli GET "$key")
other=$(cli GET "$key")
for seen in "$one" "$other"; do
  [[ -z $seen ]] # no counter, so each request starts one
  cli SET "$key" 1 EX 61 >/dev/null
  passed=$((passed + 1))
done
for _ in {1..8}; do
  if (($(cli GET "$key") < limit)); then
    cli INCR "$key" >/dev/null
    passed=$((passed + 1))
  fi
done
echo "string counter: $passed passed a limit of $limit"

passed=0
for _ in {1..10}; do
  if rlctl check -q -s "$folder/socket" --limit "$limit/60s" -- ann; then passed=$((passed + 1)); fi
done
echo "rlctl check: $passed passed a limit of $limit"
