# needs: server
load ../../support/common
load ../../support/dap

# What a launch of `rlctl debug --dap` takes, and the socket of --dap=PATH.

@test "setup prepares the keys, for a restart too; a FIFO is refused, and does not wait for a writer" {
  mkfifo fifo
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("loop.lua", keys=["k"], setup=["SET {key} 10", "INCR k"], breakpoints=[8])
    for _ in range(2):
        c.stopped()
        assert c.value("redis.call('GET', KEYS[1])") == '"11"'
        c.value("redis.call('SET', KEYS[1], 7)")
        c.ask("restart")
with Client("-u", "private:") as c:
    c.initialize()
    for arguments in [dict(program="fifo"), dict(program="loop.lua", setup="fifo"), dict(program="loop.lua", replay="fifo")]:
        assert "'fifo' is a FIFO" in c.refused("launch", keys=["k"], **arguments), arguments
END
}

@test "replay and skip debug one request of a log, on the state that the earlier ones left" {
  cat >count.lua <<'LUA'
local n = redis.call('INCR', KEYS[1])
return {n, ARGV[1]}
LUA
  printf '{"time": %d, "key": "ann"}\n' 1700000000 1700000001 1700000002 >requests.log
  client <<'END'
with Client() as c:
    c.initialize()
    log = dict(program="count.lua", replay="requests.log", args="{now_us}")
    assert "leaves no request" in c.refused("launch", **log, skip=3)
    assert "negative" in c.refused("launch", **log, skip=-1)
    assert "log cannot be read from standard" in c.refused("launch", program="count.lua", replay="-")
    assert "script cannot be read from standard" in c.refused("launch", program="-")
    assert "whole number" in c.refused("launch", **log, skip="1")
    assert 'requires "replay"' in c.refused("launch", program="count.lua", keys=["k"], skip=1)
    assert "the log has the times" in c.refused("launch", **log, now="1700000000000000")
    c.ask("launch", **log, skip=2)
    c.event("initialized")
    c.breakpoints("count.lua", [2])
    for request in ("configurationDone", "restart"):
        c.ask(request)
        c.stopped()
        assert c.scope("Locals") == {"n": "3"}, c.scope("Locals")
        assert c.scope("ARGV") == {"[1]": '"1700000002000000"'}, c.scope("ARGV")
END
}

@test "--dap=PATH serves the first client that connects, leaves no socket, and replaces one that nobody listens to" {
  client <<'END'
import os, socket, subprocess
process = subprocess.Popen(["rlctl", "-u", "private:", "debug", "--dap=s", "-q"], stdin=subprocess.DEVNULL)
c = Client.connect("s", process)
c.launch("loop.lua", keys=["k"], breakpoints=[14])
assert not os.path.exists("s")
c.stopped()
c.ask("continue", threadId=1)
assert c.ended() == 0
assert c.disconnect() == 0
socket.socket(socket.AF_UNIX).bind("s")
process = subprocess.Popen(["rlctl", "-u", "private:", "debug", "--dap=s", "-q"], stdin=subprocess.DEVNULL)
c = Client.connect("s", process)
c.launch("endless.lua")
c.vanish()
assert process.wait(120) == 0
END
}

@test "the socket of --dap=PATH is the user's alone, and Ctrl-C removes it" {
  bound rlctl debug --dap=s 2>log &
  wait_until grep -q 'waiting for an editor' log
  assert_equal "$(stat -c %a s)" 600
  expect_status 2 rlctl debug --dap=s
  kill -INT "$!"
  wait_until test ! -e s
  run -2 --separate-stderr rlctl debug --dap=''
  run -2 --separate-stderr rlctl debug --dap="$(printf 'x%.0s' {1..200})"
  run -2 --separate-stderr rlctl debug --dap=./nowhere/s
  touch file
  fails 2 "debug: --dap: 'file' exists, and is not a socket" rlctl debug --dap=file
  test -f file
}

@test "--dap=PATH removes no file that has replaced its socket" {
  local kind pid
  for kind in file socket; do
    bound rlctl debug --dap=s -q 2>log &
    pid=$!
    wait_until test -S s
    if [[ $kind == file ]]; then
      echo precious >other
    else
      perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "other", Listen => 1) or die'
    fi
    stat -c %i other >expected
    mv -f other s
    kill -TERM "$pid"
    wait "$pid" || true
    assert_equal "$(stat -c %i s)" "$(cat expected)"
    rm s
  done
}
