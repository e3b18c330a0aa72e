# needs: server
load ../../support/common

# Programs of `rlctl burst --exec` that keep their state in Redis, or ask for the time themselves; exec.t has more.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  # A counter for each key, which begins with its first request.
  sed 's/^  my \$key = .*/  my $key = $name;/' "$project/tests/limiters/redis-counter.pl" >counter.pl
}

traffic=(poisson --keys 3 --limit 5/10s --duration 500s --timeout 60s)

# against_fixed OPTION…: the program decides each of some requests as fixed-window does.
against_fixed() { run -0 rlctl burst "${traffic[@]}" --compare fixed-window --model -q --assert 'sent>500' "$@"; }

# bats test_tags=night
@test "what a program keeps in Redis is gone for the next schedule" {
  run -0 rlctl adversary --tries 3000 --limit 5/60s --exec 'perl counter.pl' --json --timeout 60s
  assert_equal "$(gojq -c '.runs[0] | [.most.worst.allowed > 5, .most.worst.allowed <= 10]' <<<"$output")" '[true,true]'
}

# bats test_tags=night
@test "a program that lets several requests be in flight gets them one by one once it has connected" {
  sed '/^\$| = 1/a print qq({"hello":{"pipeline":64}}\\n);' counter.pl >pipelined.pl
  run -0 rlctl burst "${traffic[@]}" --exec 'perl counter.pl' --exec 'perl pipelined.pl' --json
  assert_equal "$(gojq -c '.runs | map([.allowed, .denied]) | .[0] == .[1]' <<<"$output")" true
  cat >late.pl <<'PERL'
use IO::Socket::INET;
$| = 1;
print qq({"hello":{"pipeline":64}}\n);
while (<STDIN>) {
  $redis = IO::Socket::INET->new($ENV{RLCTL_REDIS_URL} =~ m{@(.*)/}) if $. == 101;
  print "1\n";
}
PERL
  run -5 --separate-stderr rlctl burst "${traffic[@]}" --exec 'perl late.pl'
  assert_regex "$stderr" 'late.pl has connected to RLCTL_REDIS_URL after its first answer'
}

@test "a server that does not follow the virtual clock is an error" {
  printf '#!/bin/sh\nunset LD_PRELOAD\nexec -a redis-server %s "$@"\n' "$(server_binary)" >server
  sed -i '1s/sh$/bash/' server
  chmod +x server
  RLCTL_REDIS_SERVER=$PWD/server run -5 --separate-stderr rlctl burst --exec 'perl counter.pl'
  assert_regex "$stderr" 'the private server does not follow the virtual clock: TIME is '
  RLCTL_REDIS_SERVER=$PWD/server run -0 rlctl burst steady --rate 100/s --duration 100ms --clock real -q \
    --exec 'perl counter.pl' --timeout 60s
}

# bats test_tags=night
@test "--exec-clock gives Node.js the time of each request" {
  needs nodejs node
  cat >wall.js <<'JS'
const counts = new Map();
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const {reset, key, limit, window_us} = JSON.parse(line);
  if (reset) return counts.clear();
  const window = `${key} ${Math.floor(Date.now() * 1000 / window_us)}`, count = (counts.get(window) ?? 0) + 1;
  if (count <= limit) counts.set(window, count);
  process.stdout.write(count <= limit ? '1\n' : '0\n');
});
JS
  against_fixed --exec 'node wall.js' --exec-clock wall
}

# bats test_tags=night
@test "--exec-clock gives Java the time of each request" {
  needs openjdk-17-jdk-headless javac
  needs openjdk-17-jdk-headless java
  cat >Wall.java <<'JAVA'
import java.io.*;
import java.util.*;
import java.util.regex.*;

class Wall {
  public static void main(String[] args) throws IOException {
    var request = Pattern.compile("\"key\":\"(.*?)\".*\"limit\":(\\d+),\"window_us\":(\\d+)");
    var counts = new HashMap<String, Integer>();
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = lines.readLine()) != null;) {
      var found = request.matcher(line);
      if (!found.find()) {
        counts.clear();
        continue;
      }
      var window = found.group(1) + System.currentTimeMillis() * 1000 / Long.parseLong(found.group(3));
      int count = counts.merge(window, 1, Integer::sum);
      System.out.println(count <= Integer.parseInt(found.group(2)) ? 1 : 0);
    }
  }
}
JAVA
  against_fixed --exec 'java Wall.java' --exec-clock wall
}
