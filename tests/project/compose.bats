load ../support/common

# examples/compose.yaml and its Dockerfile. No test starts a container.

setup() { cd "$project/examples"; }

# bats test_tags=night
@test "compose.yaml is valid" {
  local compose
  if docker compose version >/dev/null 2>&1; then
    compose=(docker compose)
  elif command -v docker-compose >/dev/null; then
    compose=(docker-compose)
  else
    skip "install Debian's docker-compose"
  fi
  run -0 "${compose[@]}" -f compose.yaml config --quiet
  run -0 "${compose[@]}" -f compose.yaml config --services
  assert_line redis
  assert_line rlctl
}

@test "compose.yaml is YAML, and its files exist" {
  local python=python3
  if [[ -x /usr/bin/python3 ]]; then python=/usr/bin/python3; fi
  "$python" -c 'import yaml' 2>/dev/null || skip "install Debian's python3-yaml"
  run -0 "$python" -c '
import yaml
build = yaml.safe_load(open("compose.yaml"))["services"]["rlctl"]["build"]
print(build["context"] + "/" + build["dockerfile"])'
  assert [ -e "$output" ]
}

# The Dockerfile builds with these functions, which are not the interface of anything else.
@test "the Dockerfile's commands build and install rlctl" {
  local tree=$BATS_TEST_TMPDIR/tree command
  command=$(awk '/^RUN .*prepare/ { on = 1 } on; on && !/\\$/ { exit }' Dockerfile)
  assert_regex "$command" '^RUN rm -rf build && '
  command=${command#RUN rm -rf build && }
  # In the build that exists, since another would take minutes.
  cd "$project"
  run -0 sh -c "${command/\/opt\/rlctl/$tree}"
  run -0 "$tree/bin/rlctl" --version
  assert [ -e "$tree/share/rlctl/lua/gcra.lua" ]
}
