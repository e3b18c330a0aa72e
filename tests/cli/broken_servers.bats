load ../support/common

# Whatever is at the other end, rlctl prints one line, exits with the right status, and never hangs. What every command
# does of this is in tests/faults; other bytes that are no reply are in redis/faulty_server_test.cc and
# limiter/checker_test.cc.

@test "no reply, one that is not RESP, or one that is not a limiter's: a line says which" {
  local expected reply option message hint
  while IFS='|' read -r expected reply option message hint; do
    start_fake_server ${option:+"$option"} "$reply"
    fails "$expected" "check: ${message/URL/unix://$socket}" rlctl check k --limit 5/60s --timeout 200ms
    assert_equal "${stderr_lines[1]-}" "$hint"
    stop_servers
  done <<'TABLE'
3|||no answer from URL within 200ms; the request may have been counted|
3||--close|URL closed the connection; the request may have been counted|
3|HTTP/1.1 400 Bad Request\r\n\r\n|--close|URL: the answer is not RESP: 'HTTP/1.1 400 Bad Request\r\n\r\n'; the request may have been counted|  hint: is it a Redis server?
5|+OK\r\n||URL: the reply is not that of a limiter script: six integers|
5|*6\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:1\r\n||URL: the reply is not that of a limiter script: six integers|
5|-ERR \x1b[31mred\x09and\x01so on\r\n||URL: \x1b[31mred\tand\x01so on|
5|-NOSCRIPT No matching script\r\n||URL: NOSCRIPT No matching script|
TABLE
}

@test "a server whose time is not a time is named" {
  start_fake_server '+string\r\n'
  fails 3 "inspect: unix://$socket: the reply to TIME is not a time" rlctl inspect k
}
