# needs: server
load ../../support/common

# The tables of libraries.toml, each with keys as its library makes them: see tests/stored/libraries/check.

setup_file() { start_server; }

@test "the keys of each library are read as its table says, and audit finds the broken ones and no others" {
  run -0 "$project/tests/stored/libraries/check" "$(type -P rlctl)" "$socket" "$(type -P redis-cli)" \
    "$project"/tests/stored/libraries/*.keys
  assert_output ''
}
