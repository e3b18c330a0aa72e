load ../support/common

@test "the project keeps its layers and its file rules" {
  # To compile every header on its own takes half a minute of processor time.
  run "$project/tests/project/layering" ${RLCTL_TEST_ALL:+--alone}
  assert_output ''
}

@test "nothing of Lua is prepared when rlctl starts, since most commands never run a script" {
  run -0 nm "$RLCTL_BUILD/src/lua/librlctl_lua.a"
  assert_output --partial lua_newstate
  refute_output --partial _GLOBAL__sub_I
}
