load ../support/common

# examples/compose.yaml. No test starts a container.

setup() { cd "$project/examples"; }

# bats test_tags=night
@test "compose.yaml is valid" {
  needs docker-compose
  run -0 docker-compose -f compose.yaml config --quiet
  run -0 docker-compose -f compose.yaml config --services
  assert_line redis
  assert_line rlctl
}

@test "compose.yaml runs the image that packaging/image makes of this version" {
  run -0 python3 -c 'import yaml; print(yaml.safe_load(open("compose.yaml"))["services"]["rlctl"]["image"])'
  assert_output "rlctl:$(rlctl --version | sed -n '1s/^rlctl //p')"
}
