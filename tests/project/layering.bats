load ../support/common

@test "the project keeps its layers and its file rules" {
  # To compile every header on its own takes half a minute of processor time.
  run "$project/tests/project/layering" ${RLCTL_TEST_ALL:+--alone}
  assert_output ''
}

# initialized LIBRARY: the symbols that its initializers of static variables refer to.
initialized() {
  objdump -drC --no-show-raw-insn "$1" | awk '/>:$/ { on = /<_GLOBAL__sub_I/ } on && $2 ~ /^R_/ { $1 = $2 = ""; print }'
}

@test "nothing of Lua is prepared when rlctl starts, since most commands never run a script" {
  run -0 nm "$RLCTL_BUILD/src/lua/librlctl_lua.a"
  assert_output --partial lua_newstate
  # GCC 14 initializes fmt::format_facet::id, a flag, wherever fmt is included.
  run -0 initialized "$RLCTL_BUILD/src/lua/librlctl_lua.a"
  assert_equal "$(grep -vE '^$|fmt::.*::format_facet<.*>::id' <<<"$output")" ''
}
