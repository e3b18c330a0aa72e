#!/usr/bin/env bash
# A counter for each five seconds, without scripts: INCR, then EXPIRE, as two commands.
#
# What goes wrong: a client that dies between the two commands leaves a key that never expires. The key
# stays until somebody finds it.
#
# $ ./crash-between.sh
# > INCR, then EXPIRE: ttl -1
# > rlctl check: has a ttl
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR source=server.sh
. ./server.sh

key=ann:353445157

export -f cli
export folder
# Hide the message that bash prints about the killed process.
{
  bash -c '
  cli INCR "$1" >/dev/null
  kill -KILL $$ # out of memory, a deployment or a power cut
  cli EXPIRE "$1" 6
' client "$key" || true
} 2>/dev/null
echo "INCR, then EXPIRE: ttl $(cli TTL "$key")"

# The script of rlctl counts and sets the TTL in one step.
rlctl check -q -s "$folder/socket" --algorithm fixed-window --limit 10/1h -- ann
(($(cli PTTL ann) > 0))
echo "rlctl check: has a ttl"
