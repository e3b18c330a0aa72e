# needs: server
load ../support/common

# A server whose replies never end takes neither much memory nor the whole timeout: what one reply may have is
# bounded, and the error says which bound was exceeded.

# endless KIND… -- COMMAND…: runs the command against a server of each kind; prints a line for each: the status, the
# MiB that it took beyond a run without a server, rounded up to a power of two, and the first line of stderr.
endless() {
  python3 - "$BATS_TEST_TMPDIR/endless" "$@" <<'END'
import os, socket, subprocess, sys, threading

KINDS = {
    "array": (b"*1000000000\r\n", b":1\r\n"),
    "texts": (b"*1000000000\r\n", b"$3\r\nabc\r\n"),
    "nested": (b"*1000000000\r\n", b"*2\r\n:1\r\n*1\r\n$1\r\na\r\n"),
    "deep": (b"*9\r\n*9\r\n*1000000000\r\n", b"*0\r\n"),
    "line": (b"+", b"x" * 64),
    "error": (b"-ERR ", b"x" * 64),
    "length": (b"$", b"1" * 64),
    "text": (b"$500000000\r\n", b"x" * 64),
    "push": (b">1000000000\r\n", b":1\r\n"),
    "attribute": (b"|1000000000\r\n", b"+a\r\n:1\r\n"),
}
path, split = sys.argv[1], sys.argv.index("--")
kinds, command = sys.argv[2:split], sys.argv[split + 1:]

def serve(client, first, rest):
    try:
        client.recv(65536)
        client.sendall(first)
        while True:
            client.sendall(rest)
    except OSError:
        pass

def listen(listener, first, rest):
    while True:
        try:
            client = listener.accept()[0]
        except OSError:
            return
        threading.Thread(target=serve, args=(client, first, rest * 4096), daemon=True).start()

def ran(socket_path):
    process = subprocess.Popen(["rlctl", "-s", socket_path, "--timeout", "300s", *command],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_maxrss / 1024, said.split("\n")[0].replace(socket_path, "SOCKET")

usual = ran(path + ".none")[1]
for kind in kinds:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(100)
    threading.Thread(target=listen, args=(listener, *KINDS[kind]), daemon=True).start()
    status, memory, said = ran(path)
    os.unlink(path)
    listener.close()
    limit = 1
    while limit < memory - usual:
        limit *= 2
    print(kind, status, limit, said)
END
}

# Every line of the output has this status, at most so many MiB, and a message that this expression matches.
all_are() {
  local kind status memory said lines=0
  while read -r kind status memory said; do
    lines=$((lines + 1))
    [[ $status == "$1" && $memory -le $2 && $said =~ $3 ]] || fail "$kind $status $memory $said"
  done <<<"$output"
  assert_equal "$lines" "$4"
}

@test "an endless answer to a check is refused after 64 KiB" {
  # shellcheck disable=SC2154 # run sets it
  run -0 endless array texts nested deep line error length text -- check k --limit 5/60s
  all_are 3 16 ': the answer (is larger than 64 KiB|has a line of more than 64 KiB)' 8
  run -0 endless push attribute -- check k --limit 5/60s
  all_are 3 16 ': the answer is not RESP: ' 2
}

@test "an endless answer is refused by every other command, too, before it takes much memory" {
  local bounds=': the answer (has more than 1000000 elements|has a line of more than 1 MiB)'
  local kinds=(array nested line length) command
  for command in list 'inspect k' 'debug gcra k --limit 5/60s'; do
    # shellcheck disable=SC2086 # its words
    run -0 endless "${kinds[@]}" -- $command
    all_are 3 512 "$bounds" 4
  done
  run -0 endless array line -- run k --limit 5/60s -- true
  all_are 125 512 ': the answer ' 2
}

@test "a text of 100 MB is saved and restored" {
  start_server
  cli EVAL "redis.call('SET', 'k', ('x'):rep(100000000))" 0 >/dev/null
  run -0 rlctl --timeout 300s reset k --force --save "$BATS_TEST_TMPDIR/saved"
  run -0 rlctl --timeout 300s reset --restore "$BATS_TEST_TMPDIR/saved"
  assert_equal "$(cli STRLEN k)" 100000000
}
