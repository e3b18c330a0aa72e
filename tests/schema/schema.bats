# needs: server
load ../support/common

# tests/run compares what rlctl writes in all other tests with the schemas. These tests show that the schemas
# are sound, and that the manual has what they say.

setup() { cd "$project" || return; }

@test "each schema is valid, has its version and a description, and every command has one" {
  run -0 /usr/bin/python3 - schema/*.schema.json <<'END'
import json, sys, jsonschema
for path in sys.argv[1:]:
    schema = json.load(open(path))
    name = path.removeprefix("schema/").removesuffix(".schema.json")
    assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"], path
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:rlctl:schema:{schema['version']}:{name}", path
    assert schema["title"] and schema["description"], path
END
  local command all
  lines_of all commands
  for command in "${all[@]}"; do
    [[ -e schema/$command.schema.json ]] || fail "rlctl $command has no schema"
  done
}

@test "the schemas are what the tables of fields say" {
  run -0 "$RLCTL_BUILD/tests/rlctl_schemas" schema
  assert_output ''
}

# every_part CODE: prints what this jq code finds in any part of any schema, after the schema's name.
every_part() {
  gojq -r "[.. | objects | $1] | unique[] | \"\\(input_filename | split(\"[./]\"; null)[1]): \\(.)\"" schema/*.schema.json
}

@test "each object in a schema refuses fields that it does not describe, and requires the others" {
  run -0 every_part 'select((.properties | type) == "object" and .additionalProperties != false) | .properties | keys'
  # What programs add to the lines that they write to rlctl is ignored.
  assert_output 'exec: ["allowed","delay_us","id","remaining","reset_after_us","retry_after_us"]
exec: ["hello"]
exec: ["pipeline"]'
  # These depend on an option, or a program may leave them out.
  run -0 every_part '(.properties | objects | keys) - (.required // []) | .[] | select(endswith("_base64") | not)'
  assert_output 'adversary: actual
adversary: holder
adversary: reservation
adversary: spent
adversary: units
burst: actual
burst: calendar
burst: compare
burst: events
burst: holder
burst: reservation
burst: units
check: calendar
check: error
check: holders
check: reservation
check: would_deny
common: units
config: calendar
exec: delay_us
exec: id
exec: pipeline
exec: remaining
exec: reset_after_us
exec: retry_after_us
inspect: calendar
inspect: holder
lint: excused
list: calendar
quota: calendar
reset: holder
reset: looked_at
settle: calendar'
}

@test "each field in a schema has one type, besides null" {
  run -0 every_part '
    (.properties | objects | to_entries[]
      | select([.value | has("type", "enum", "const", "$ref", "anyOf")] | any | not) | .key),
    select((.type | arrays) - ["null"] | length != 1),
    (select([.type] | flatten | index("array")) | select(has("items") | not))'
  assert_output ''
}

@test "rlctl-json(7) has what man/json makes of the schemas, and a chapter for each command, in the order of --help" {
  run -0 man/json --check
  assert_output ''
  run -0 commands
  assert_equal "$(sed -n '/^; man\/json/,/^; Here/s/^# //p' man/rlctl-json.7.scd)" "ERRORS
${output^^}"
}

@test "rlctl-exec(7) has each field of exec.schema.json, with its type" {
  run -0 gojq -r '."$defs"[] | .properties // {} | to_entries[]
    | (.value.type // (.value | if has("const") then (.const | type) elif has("enum") then "string" else "" end)) as $type
    | "*\(.key | gsub("_"; "\\_"))*\(if $type == "" then "" else " (\([$type] | flatten | join(" or ")))" end)"' schema/exec.schema.json
  local field
  for field in "${lines[@]}"; do grep -qF -- "$field" man/rlctl-exec.7.scd || fail "rlctl-exec(7) has no field $field"; done
}

@test "the recorder changes neither the output, nor the status, nor the process" {
  local recorder=$RLCTL_BUILD/tests/recorder/rlctl
  [[ ${RLCTL_TEST_JSON-} ]] || skip 'needs the JSON that tests/run records'
  export RLCTL_TEST_JSON=$BATS_TEST_TMPDIR/recorded
  mkdir "$RLCTL_TEST_JSON"
  run -0 --separate-stderr "$recorder" version --json
  assert_output "$("$RLCTL_BUILD/cli/rlctl" version --json)"
  assert_equal "$(cat "$RLCTL_TEST_JSON"/*.1)" "$output"
  run -2 --separate-stderr "$recorder" check --json
  assert_equal "$(cat "$RLCTL_TEST_JSON"/*.2)" "$stderr"
  run -0 tests/schema/validate "$RLCTL_TEST_JSON"
  start_fake_server ''
  run -0 ends_by TERM 'sleeps $command_pid' "$recorder" check k --limit 5/60s --json
  assert_output 'signal 15'
  # A command that rlctl runs does not see the recorder.
  start_server
  run -0 "$recorder" run k --limit 5/60s --json -- sh -c 'echo "${LD_PRELOAD-none}"'
  assert_output none
}
