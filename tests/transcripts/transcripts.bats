# needs: server
load ../support/common

# What rlctl_transcripts says of a transcript that does not hold; transcript_test.cc has what it reads.

transcript() { printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/t.t"; }
transcripts() { "$RLCTL_BUILD/tests/rlctl_transcripts" "$@" "$BATS_TEST_TMPDIR/t.t"; }

@test "a command that prints something else, or ends otherwise, is shown with its line, and the others run" {
  transcript '## first' '$ rlctl check k --limit 5/60s --now 1000' 'denied' '$ redis LLEN k' 1 \
    '## second' '$ rlctl check k --limit 1/60s --cost 2 --now 1000' 'denied[..]' \
    '## third' '$ redis LLEN k' 0
  run -1 transcripts
  assert_output "1..3
not ok 1 first
$BATS_TEST_TMPDIR/t.t:2: \$ rlctl check k --limit 5/60s --now 1000
  -denied
  +allowed key=k limit=5/60s remaining=4 reset=60.000s
not ok 2 second
$BATS_TEST_TMPDIR/t.t:7: \$ rlctl check k --limit 1/60s --cost 2 --now 1000
  its status is 1, not 0
  -denied[..]
  +denied key=k limit=1/60s remaining=1 retry_after=never reset=0.000s
ok 3 third"
}

@test "--accept writes outputs, keeps what matches [..], and leaves a status as it is" {
  transcript '# a comment' '' '## first' '$ rlctl check k --limit 5/60s --now 1000' 'allowed key=k[..]' 'more' \
    '$ rlctl check k --limit 1/60s --cost 2 --now 1000' '' '## second' '$ write f' '< one' '$ cat f'
  run -1 transcripts --accept
  assert_line --partial 'its status is 1, not 0'
  assert_equal "$(cat "$BATS_TEST_TMPDIR/t.t")" '# a comment

## first
$ rlctl check k --limit 5/60s --now 1000
allowed key=k[..]
$ rlctl check k --limit 1/60s --cost 2 --now 1000
denied key=k limit=1/60s remaining=0 retry_after=never reset=60.000s

## second
$ write f
< one
$ cat f
one'
}

@test "a command that does not end, or does not exist, and a file that is no transcript are named with their line" {
  transcript '## waits' '$ redis BLPOP nothing 0'
  RLCTL_TEST_COMMAND_SECONDS=1 run -1 transcripts
  assert_line "$BATS_TEST_TMPDIR/t.t:2: does not end: redis BLPOP nothing 0"
  transcript '## unknown' '$ jq .'
  run -1 transcripts
  assert_line --partial 't.t:2: there is no command jq'
  transcript '## a missing file is not an empty one' '$ cat nothing'
  run -1 transcripts
  assert_line '  +! cat: nothing: no such file'
  transcript '## no mode' '$ write f' '$ chmod 9 f'
  run -1 transcripts
  assert_line --partial 't.t:3: chmod takes an octal mode, not 9'
  transcript '## changes the server' '$ redis CONFIG SET maxmemory 1'
  run -1 transcripts
  assert_line --partial 't.t:2: CONFIG SET needs a heading that ends with (own server)'
  transcript '## ends early'
  run -1 transcripts
  assert_output --partial 't.t:1: the last heading has no command'
}

@test "a test begins with an empty server and folder and the default environment; its own server is its own" {
  transcript '## one' '$ env COLUMNS=40 RLCTL_URL=unix:///x' '$ write f' '< x' '$ redis SET k v' OK \
    '## two' '$ redis GET k' '(nil)' '$ cat f' '! cat: f: no such file' '[1]' '$ rlctl check k --limit 5/60s --now 1000' 'allowed[..]' \
    '## three (own server)' '$ redis CONFIG SET maxmemory 1' OK \
    '## four' '$ redis CONFIG GET maxmemory' maxmemory 0
  run -0 transcripts
}

@test "each runs a test for each word, which stands for its name; --accept takes the output of the first" {
  transcript '## each' '$ each TYPE a b' '$ redis SET TYPE 1' OK '$ keys' 'TYPE string persistent 1' \
    '$ redis RPUSH list TYPE x' 2 '$ redis EXPIRE list 100' 1 '$ keys' 'TYPE string persistent 1' 'list list expires TYPE x'
  run -0 transcripts
  transcript '## each' '$ each TEXT a abc' '$ redis SET k TEXT' '$ redis STRLEN k'
  run -1 transcripts --accept
  assert_output "1..1
not ok 1 each
$BATS_TEST_TMPDIR/t.t:4: \$ redis STRLEN k
  TEXT is abc
  -1
  +3"
}

@test "a test that each cannot run leaves the next one as it is" {
  transcript '## one' '$ each string x' '$ jq' '## two' '$ redis SET k v' OK '$ redis TYPE k' string
  run -1 transcripts
  assert_line --partial 'there is no command jq'
  assert_line 'ok 2 two'
}

@test "tests/run runs them, and --accept is refused where nobody would read the diff" {
  run -0 "$project/tests/run" --list tests/cli/check/output
  assert_output cli/check/output.t
  CI=true run -2 "$project/tests/run" --accept tests/cli/check/output
  assert_output --partial '--accept: not where CI is set'
}
