#!/bin/sh
# A CGI script that tells its clients their limit, and answers 429 to those who exceed it. If rlctl fails,
# it answers without a limit, and the reason is in the web server's error log.

export RLCTL_CONFIG="${RLCTL_CONFIG:-$(dirname "$0")/config.toml}"

status=0
fields=$(rlctl check --headers --policy web -- "$REMOTE_ADDR") || status=$?
if [ "$status" -eq 1 ]; then
  echo 'Status: 429 Too Many Requests'
  text='Too many requests.'
else
  echo 'Status: 200 OK'
  text='Hello.'
fi
if [ -n "$fields" ]; then echo "$fields"; fi
printf 'Content-Type: text/plain\n\n%s\n' "$text"
