load ../../support/common

@test "--on-error applies to a timeout" {
  start_fake_server ''
  run_with_timeout -1 --separate-stderr rlctl check k --limit 5/60s --timeout 300ms --on-error deny
  assert_output 'denied key=k limit=5/60s on_error=deny'
}
