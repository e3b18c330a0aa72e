load ../support/common

@test "no folder has more lines of code than its budget" {
  run "$project/tests/project/size"
  assert_output ''
  # Something was counted: the source of rlctl itself has tens of thousands of lines.
  run -0 "$project/tests/project/size" --all
  assert_line --regexp '^all of src: [0-9]{5}$'
}
