# needs: server
load ../support/common

# tests/run compares what rlctl writes in all other tests with the schemas. These tests show that the schemas
# are sound and refuse what is wrong, and that the manual has what they say.

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

@test "the schemas are what the tables of fields say: a sentence that differs is reported" {
  local schemas=$RLCTL_BUILD/tests/rlctl_schemas
  run -0 "$schemas" schema
  assert_output ''
  cp -r schema "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR"
  sed -i 's/The key in Redis that/The first key that/' schema/check.schema.json
  sed -i 's/What to do about it/What helps/' schema/common.schema.json
  run -1 "$schemas" schema
  assert_output 'schema/check.schema.json differs from the tables in cli; write it with rlctl_schemas schema --write
schema/common.schema.json differs from the tables in cli; write it with rlctl_schemas schema --write'
  run -0 "$schemas" schema --write
  assert_output ''
  run -0 diff -r schema "$project/schema"
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
  assert_output 'burst: calendar
burst: compare
burst: events
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
  run -0 every_part '.properties | objects | to_entries[]
    | select([.value | has("type", "enum", "const", "$ref", "anyOf")] | any | not) | .key'
  assert_output ''
  run -0 every_part 'select((.type | arrays) - ["null"] | length != 1)'
  assert_output ''
  run -0 every_part 'select([.type] | flatten | index("array")) | select(has("items") | not)'
  assert_output ''
}

@test "rlctl-json(7) has what man/json makes of the schemas, and a chapter for each command, in the order of --help" {
  run -0 man/json --check
  assert_output ''
  run -0 commands
  assert_equal "$(sed -n '/^; man\/json/,/^; Here/s/^# //p' man/rlctl-json.7.scd)" "ERRORS
${output^^}"
  mkdir "$BATS_TEST_TMPDIR/man" "$BATS_TEST_TMPDIR/cli"
  cp -r man schema "$BATS_TEST_TMPDIR"
  cp -r cli/app "$BATS_TEST_TMPDIR/cli"
  cd "$BATS_TEST_TMPDIR"
  sed -i 's/"no_ttl": {/"no_end": {/' schema/list.schema.json
  run -1 man/json --check
  assert_line '-*.no\_ttl* (integer)'
  assert_line '+*.no\_end* (integer)'
  assert_line 'man/rlctl-json.7.scd differs from schema/: run man/json to write it anew'
  run -0 man/json
  run -0 man/json --check
}

@test "rlctl-exec(7) has each field of exec.schema.json, with its type" {
  run -0 gojq -r '."$defs"[] | .properties // {} | to_entries[]
    | (.value.type // (.value | if has("const") then (.const | type) elif has("enum") then "string" else "" end)) as $type
    | "*\(.key | gsub("_"; "\\_"))*\(if $type == "" then "" else " (\([$type] | flatten | join(" or ")))" end)"' schema/exec.schema.json
  local field
  for field in "${lines[@]}"; do grep -qF -- "$field" man/rlctl-exec.7.scd || fail "rlctl-exec(7) has no field $field"; done
}

# record NUMBER TEXT ARGUMENT…: as if rlctl had written this text on standard output or standard error.
record() {
  local folder=$BATS_TEST_TMPDIR/json name
  mkdir -p "$folder"
  name=$folder/$(($(find "$folder" -name '*.arguments' | wc -l) + 1))
  printf '%s\0' rlctl "${@:3}" >"$name.arguments"
  printf '%s\n' "$2" >"$name.$1"
}

# bats test_tags=night
@test "JSON that does not fit is reported with its command, and what is no JSON by design is not" {
  record 1 '{"key":"a"}' list --json
  record 2 '{"error":{"code":"usage","message":"x","hint":null,"more":1}}' -u private: check k --json
  record 1 'no JSON' doctor --json
  record 1 '{"file":"a","file":"b"}' config path --json
  run -1 tests/schema/validate "$BATS_TEST_TMPDIR/json"
  assert_line 'rlctl list --json'
  assert_line --partial "'library' is a required property"
  assert_line 'rlctl -u private: check k --json'
  assert_line --partial "('more' was unexpected)"
  assert_line --partial 'not JSON'
  assert_line --partial 'a field appears twice'

  rm "$BATS_TEST_TMPDIR"/json/*
  record 1 'Usage: rlctl' check --help --json
  record 1 'out' run --json k -- echo out
  record 2 'rlctl: warning' check --json k
  # Its last line is cut off.
  record 1 $'{"line":1,"error":{"code":"OOM","message":"x","hint":null}}\n{"line":2,"er' check --json
  truncate -s -1 "$BATS_TEST_TMPDIR/json/4.1"
  run -0 tests/schema/validate "$BATS_TEST_TMPDIR/json"
  assert_output --regexp '^1 JSON texts validated: .*check 1,'
  # If everything was run, each schema must have been compared with something.
  run -1 tests/schema/validate --complete "$BATS_TEST_TMPDIR/json"
  assert_line --partial 'audit.schema.json, finding;'
  refute_output --partial 'check.schema.json, wrong_line'
}

@test "the recorder changes neither the output, nor the status, nor the process" {
  local recorder=$RLCTL_BUILD/tests/recorder/rlctl
  [[ ${RLCTL_TEST_JSON-} ]] || skip 'tests/run records nothing here'
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
