# needs: server
load ../../support/common

# `rlctl burst --concurrency`: its files, and semaphores of all kinds. leases.t has the rest.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "the picture and the lines say who held, or what was spent" {
  run -0 as svg rlctl burst --concurrency 2 --model
  assert_output --partial '>held at once</text>'
  assert_output --partial '>within the limit, no slot lost</text>'
  run -0 as svg rlctl burst --limit 10/60s --reserve 2 --model
  assert_output --partial '>units spent and held</text>'
  xmllint --noout - <<<"$output"
  run -0 as jsonl rlctl burst --concurrency 2 --model
  assert_output --partial '"event":"release","holder":"h1","allowed":true'
}

@test "what is held is never told wrong, whatever the semaphore and its flaw" {
  # Without PATH, no server confirms each of them.
  run -0 env PATH=/nowhere /usr/bin/python3 -B "$project/tests/support/semaphores.py" "$(command -v rlctl)"
  assert_output '24 semaphores'
}
