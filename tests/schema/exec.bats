# needs: server
load ../support/common

# exec.schema.json describes what rlctl and a program of `burst --exec` write to each other.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# schema CODE [ARGUMENT…]: this Python code, with fits(value), the names of the definitions that the value fits.
schema() {
  PYTHONPATH=$project/tests/schema /usr/bin/python3 -B - "${@:2}" <<END
import json, os, re, shutil, subprocess, sys
from schemas import Schemas, parse
root = "urn:rlctl:schema:1:exec"
names = "request", "lease_request", "reserve_request", "settle_request", "reset", "hello", "answer"
schemas = Schemas()
validators = {name: schemas.validator({"\$ref": f"{root}#/\$defs/{name}", "\$id": f"{root}:{name}"}) for name in names}
def fits(value):
    return [name for name in names if validators[name].is_valid(value)]
$1
END
}

@test "whatever rlctl writes to a program is a request or a reset" {
  local keep="sh -c 'tee -a lines | sed -u \"/reset/d; s/.*/1/\"'"
  run -0 rlctl adversary --limit 3/60s --cost 1,3,-1 --tries 400 -q --exec "$keep"
  run -0 rlctl burst --keys 3 --limit 5/1s --burst 9 -q --exec "$keep"
  printf '1 a\xff"\\\n2.000001 %s 7\n' "'ä'" >odd.log
  run -0 rlctl burst --replay odd.log --limit 1000000000/100000000s -q --exec "$keep"
  run -0 rlctl burst --limit 9/60s --reserve 1 --requests 50 -q --exec "$keep"
  run -0 schema '
from collections import Counter
for name, count in sorted(Counter(str(fits(parse(line))) for line in open("lines")).items()):
    print(name, count > 10)'
  assert_output "['request'] True
['reserve_request'] True
['reset'] True
['settle_request'] True"
}

@test "the lines that rlctl-exec(7) shows fit, each under its heading" {
  run -0 schema '
page = open(sys.argv[1]).read()
protocol = re.search(r"^# PROTOCOL\n(.*?)^# ", page, re.M | re.S).group(1)
for part in protocol.split("\n## ")[1:]:
    for block in re.findall(r"^```\n(.*?)^```", part, re.M | re.S):
        # A line that is broken goes on with a blank.
        for line in block.replace("\n ", "").splitlines():
            print(part.split("\n")[0], *fits(parse(line)))' "$project/man/rlctl-exec.7.scd"
  assert_output 'Requests request
Requests lease_request
Requests reserve_request
Requests settle_request
Answers answer
Answers answer
Reset reset
Hello hello'
}

@test "rlctl takes the answers that fit, and no others" {
  cat >answers <<'END'
1
0
2
true
null
"1"
[]
{}
{"allowed":true}
{"allowed":false,"x":{"y":[1]}}
{"allowed":1}
{"allowed":null}
{"Allowed":true}
{"allowed":true,"id":1}
{"allowed":true,"id":0}
{"allowed":true,"id":null,"remaining":null,"delay_us":null}
{"allowed":true,"remaining":10000000000000000,"reset_after_us":0}
{"allowed":true,"remaining":10000000000000001}
{"allowed":true,"remaining":-1}
{"allowed":true,"remaining":1.5}
{"allowed":true,"remaining":"1"}
{"allowed":false,"retry_after_us":-1}
{"allowed":false,"retry_after_us":-2}
{"allowed":true,"reset_after_us":-1}
{"allowed":true,"delay_us":-1}
{"allowed":true,"delay_us":[]}
END
  printf '%s\n' 'read -r request' 'IFS= read -r answer <answer' "printf '%s\\n' \"\$answer\"" >answers.sh
  # With this PATH, no program is given a server, whose start takes longer than all else.
  run -0 schema '
count, rlctl, environment = 0, shutil.which("rlctl"), {**os.environ, "PATH": "/nowhere"}
for line in open("answers"):
    print(line, file=open("answer", "w"), end="", flush=True)
    taken = subprocess.run([rlctl, "burst", "steady", "--requests", "1", "-q", "--exec", "/bin/sh answers.sh"],
                           env=environment, stderr=subprocess.DEVNULL).returncode
    if (taken == 0) != (fits(parse(line)) == ["answer"]) or taken not in (0, 5):
        print(taken, line)
    count += 1
print(count)'
  assert_output 26
}
