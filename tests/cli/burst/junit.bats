# needs: server
load ../../support/common

# --junit FILE: assertions for CI servers.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# of XPATH: what it gives in x.xml.
of() { xmllint --xpath "$1" x.xml; }

@test "each assertion about each algorithm is a test case, also if it fails" {
  run -1 rlctl burst -q --model --assert 'worst<=1' --assert 'sent==2000' --junit x.xml
  assert_line "rlctl: burst: assertion 'worst<=1' does not hold: fixed-window has 2"
  assert_equal "$(of 'string(/testsuites/@tests)') $(of 'string(/testsuites/@failures)')" '4 1'
  assert_equal "$(of 'count(/testsuites/testsuite)')" 2
  assert_equal "$(of 'string(//testsuite[1]/@name)')" rlctl.burst.boundary.fixed-window
  assert_equal "$(of 'string(//testsuite[1]/@failures)') $(of 'string(//testsuite[2]/@failures)')" '1 0'
  assert_equal "$(of 'string(//testcase[1]/@name)')" 'worst<=1'
  assert_equal "$(of 'string(//failure/@message)')" "assertion 'worst<=1' does not hold: fixed-window has 2"
  assert_equal "$(of 'string(//testcase[failure]/@classname)')" rlctl.burst.boundary.fixed-window
  assert_equal "$(of 'count(//testcase[@time="0.019990"])')" 4
  cp x.xml first.xml
  run -1 rlctl burst -q --model --assert 'worst<=1' --assert 'sent==2000' --junit x.xml
  cmp first.xml x.xml
}

@test "an assertion that proves nothing fails, with its reason" {
  run -1 rlctl burst steady -q --model --rate 1/s --limit 100/s --algorithm gcra --assert 'worst<=1' --junit x.xml
  assert_equal "$(of 'count(//testcase/failure)')" 1
  run -0 of 'string(//failure/@message)'
  assert_output --partial "assertion 'worst<=1' proves nothing about gcra: "
}

@test "a difference from another limiter is a test case" {
  local burst=(burst -q --model --algorithm fixed-window)
  run -1 rlctl "${burst[@]}" --against sliding-window-log --junit x.xml
  local first="first at request 1,001 (key '1'): fixed-window allows it, sliding-window-log denies it"
  assert_output "rlctl: burst: the limiters differ, $first"
  assert_equal "$(of 'string(/testsuites/@tests)') $(of 'string(/testsuites/@failures)')" '1 1'
  assert_equal "$(of 'string(//testsuite[1]/@failures)') $(of 'string(//testsuite[2]/@tests)')" '1 0'
  assert_equal "$(of 'string(//testcase/@name)')" '--against sliding-window-log'
  assert_equal "$(of 'string(//failure/@message)') $(of 'string(//failure/@type)')" "$first difference"
  run -0 rlctl "${burst[@]}" --against fixed-window --assert 'sent==2000' --junit x.xml
  assert_output ''
  assert_equal "$(of 'string(/testsuites/@tests)') $(of 'string(/testsuites/@failures)')" '3 0'
}

@test "names are escaped" {
  echo 'return 1' >'a<&"b.lua'
  run -1 rlctl burst -q --limit 10/60s --script './a<&"b.lua' --assert 'denied > 0' --junit x.xml
  assert_equal "$(of 'string(//testsuite/@name)')" 'rlctl.burst.boundary.a<&"b.lua'
  assert_equal "$(of 'string(//testcase/@name)')" 'denied > 0'
}

@test "a search has a report, too" {
  run -1 rlctl burst adversary -q --model --algorithm fixed-window,sliding-window-log --assert 'worst<=1' --junit x.xml
  assert_equal "$(of 'string(//testcase[failure]/@classname)')" rlctl.burst.adversary.fixed-window
  assert_equal "$(of 'count(//testcase)')" 2
}

@test "standard output gets the report alone" {
  run -1 --separate-stderr rlctl burst --model --assert 'worst<=1' --junit -
  xmllint --noout - <<<"$output"
  run -2 rlctl burst --model --assert 'worst<=1' --junit - --json
  run -0 gojq -r .error.message <<<"$output"
  assert_output 'standard output is asked for more than once'
}
