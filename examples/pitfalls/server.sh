# shellcheck shell=bash
# Starts a server for the scripts in this folder, on a socket in a temporary folder. The server stops
# when the script that sources this file ends. `cli COMMAND…` sends it a command.

folder=$(mktemp -d)
binary=$(command -v redis-server || command -v valkey-server || command -v redis-check-rdb)
# Debian's redis-check-rdb acts as the server if it is called by the server's name.
ln -s "$binary" "$folder/redis-server"
"$folder/redis-server" --port 0 --unixsocket "$folder/socket" --dir "$folder" --save '' >"$folder/log" 2>&1 &
server=$!
trap 'kill "$server" && wait "$server" || true; rm -rf "$folder"' EXIT

cli() { redis-cli -s "$folder/socket" "$@"; }

until cli PING >/dev/null 2>&1; do
  kill -0 "$server" || exit
  sleep 0.02
done
