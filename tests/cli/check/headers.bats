# needs: server
load ../../support/common

# --headers: the answer as HTTP header fields.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

at() { rlctl check --headers --now "$@"; }

@test "a request that is allowed: the policy, what remains, and when the limit is as if unused" {
  run -0 --separate-stderr at 1000000000 k --limit 5/60s
  assert_output 'RateLimit-Policy: "60s";q=5;w=60
RateLimit: "60s";r=4;t=60'
  assert_equal "$stderr" ''
  run -0 at 1000000001 k --limit 5/60s --cost 3
  assert_line 'RateLimit: "60s";r=1;t=60'
}

@test "a denied request has status 1 and Retry-After, not before the time of RateLimit" {
  rlctl check -q k --limit 2/60s --now 1000000000
  rlctl check -q k --limit 2/60s --now 1020000000
  run -1 --separate-stderr at 1030500000 k --limit 2/60s
  assert_output 'RateLimit-Policy: "60s";q=2;w=60
RateLimit: "60s";r=0;t=30
Retry-After: 30'
}

@test "times are rounded up, and Retry-After is at least 1" {
  rlctl check -q k --limit 1/1s --now 1000000000
  run -1 at 1000999999 k --limit 1/1s
  assert_line 'RateLimit: "1s";r=0;t=1'
  assert_line 'Retry-After: 1'
}

@test "several limits are members of the lists, each with its own state" {
  rlctl check -q k --limit 3/10s,5/60s --cost 3 --now 1000000000
  run -0 at 1011000000 k --limit 3/10s,5/60s
  assert_output 'RateLimit-Policy: "10s";q=3;w=10, "60s";q=5;w=60
RateLimit: "10s";r=2;t=10, "60s";r=1;t=60'
  run -1 at 1011000000 k --limit 3/10s,5/60s --cost 2
  assert_output 'RateLimit-Policy: "10s";q=3;w=10, "60s";q=5;w=60
RateLimit: "10s";r=2;t=10, "60s";r=1;t=49
Retry-After: 49'
}

@test "a window that is not in whole seconds is left out" {
  run -0 at 1000000000 k --limit 5/1500ms,20/1m
  assert_output 'RateLimit-Policy: "1500ms";q=5, "60s";q=20;w=60
RateLimit: "1500ms";r=4;t=2, "60s";r=19;t=60'
}

@test "a policy is named, and its name cannot end the line" {
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  cat >"$RLCTL_CONFIG" <<'END'
timeout = "120s"
[policy.login]
key = "login:%s"
limit = "5/60s"
[policy."a \"b\" \\ 100%\r\nü"]
key = "k:%s"
limit = ["5/1s", "9/60s"]
END
  run -0 at 1000000000 --policy login ann
  assert_output 'RateLimit-Policy: "login";q=5;w=60
RateLimit: "login";r=4;t=60'
  run -0 at 1000000000 --policy $'a "b" \\ 100%\r\nü' ann
  assert_output 'RateLimit-Policy: "a \"b\" \\ 100%25%0D%0A%C3%BC:1s";q=5;w=1, "a \"b\" \\ 100%25%0D%0A%C3%BC:60s";q=9;w=60
RateLimit: "a \"b\" \\ 100%25%0D%0A%C3%BC:1s";r=4;t=1, "a \"b\" \\ 100%25%0D%0A%C3%BC:60s";r=8;t=60'
}

@test "what is not known is left out" {
  # A cost above the limit is never allowed, and a peek cannot tell when it would be.
  run -1 at 1000000000 k --limit 5/60s --cost 6
  assert_output 'RateLimit-Policy: "60s";q=5;w=60
RateLimit: "60s";r=5;t=0'
  rlctl check -q k --limit 5/60s --cost 5 --now 1000000000
  run -1 at 1010000000 k --limit 5/60s --peek
  assert_output 'RateLimit-Policy: "60s";q=5;w=60
RateLimit: "60s";r=0;t=50'
  run -1 --separate-stderr at 1000000000 k --limit 5/60s -u unix:///nowhere --on-error deny
  assert_output 'RateLimit-Policy: "60s";q=5;w=60'
  run -3 --separate-stderr at 1000000000 k --limit 5/60s -u unix:///nowhere
  assert_output ''
}
