# shellcheck shell=bash
# make_wrappers DIR FOLDER: for each server NAME in DIR, which DIR/NAME/run BINARY ARG… starts, writes a program
# FOLDER/NAME that starts it like redis-server. Fails if there is none.
make_wrappers() {
  local server binary name made=1
  for server in "$1"/*/run; do
    name=${server%/run} name=${name##*/}
    for binary in redis-server valkey-server redict-server; do
      if "$server" "$binary" --version >/dev/null 2>&1; then
        printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$server" "$binary" >"$2/$name"
        chmod +x "$2/$name"
        made=0
        break
      fi
    done
  done
  return "$made"
}
