#!/usr/bin/env bash
# A counter for each five seconds where scripts are not allowed: INCR, then EXPIRE, two commands.
#
# What goes wrong: a client that dies between the two leaves a key that never expires. Each such key
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
# Bash's own word that it was killed is not part of the story.
{
  bash -c '
  cli INCR "$1" >/dev/null
  kill -KILL $$ # out of memory, a deployment, a power cut
  cli EXPIRE "$1" 6
' client "$key" || true
} 2>/dev/null
echo "INCR, then EXPIRE: ttl $(cli TTL "$key")"

# Its script counts and sets the TTL in one.
rlctl check -q -s "$folder/socket" --algorithm fixed-window --limit 10/5s -- ann
(($(cli PTTL ann) > 0))
echo "rlctl check: has a ttl"
