# needs: server
load ../../support/common
load ../../support/cluster

# rlctl scripts on a Cluster.

setup_file() { start_cluster 3; }

@test "load loads on every master" {
  run -0 rlctl scripts load gcra
  local sha1 node
  sha1=$(sha1sum <"$project/lua/gcra.lua" | cut -d' ' -f1)
  assert_output "loaded name=gcra sha1=$sha1 servers=3"
  for node in 0 1 2; do assert_equal "$(node_cli "$node" SCRIPT EXISTS "$sha1")" 1; done
}

@test "a master that does not take the script is an error, not one of those that have it" {
  node_cli 1 ACL SETUSER default -script >/dev/null
  run -4 --separate-stderr rlctl scripts load gcra
  node_cli 1 ACL SETUSER default +script >/dev/null
  assert_output ''
  assert_equal "${stderr_lines[1]}" "  hint: grant what scripts load needs, on each node: ACL SETUSER default '+script|load' '+cluster|slots' +asking"
}
