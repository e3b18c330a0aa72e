# shellcheck shell=bash
# A server for the sequences beside this file: of its own, on a socket in a temporary folder, gone
# when the script that sources this ends. `cli COMMAND…` asks it.

folder=$(mktemp -d)
binary=$(command -v redis-server || command -v valkey-server || command -v redis-check-rdb)
# Debian's redis-check-rdb is the server when it is called by the server's name.
ln -s "$binary" "$folder/redis-server"
"$folder/redis-server" --port 0 --unixsocket "$folder/socket" --dir "$folder" --save '' >"$folder/log" 2>&1 &
server=$!
trap 'kill "$server" && wait "$server" || true; rm -rf "$folder"' EXIT

cli() { redis-cli -s "$folder/socket" "$@"; }

until cli PING >/dev/null 2>&1; do
  kill -0 "$server" || exit
  sleep 0.02
done
