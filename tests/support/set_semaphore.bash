# A semaphore that is a set of its holders, whose dead members stay.

# write_set_semaphore: writes acquire.lua, which takes a limit and a holder, and two scripts that release: release.lua the
# lease of the holder, any.lua that of anybody.
write_set_semaphore() {
  cat >acquire.lua <<'LUA'
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('SADD', KEYS[1], ARGV[2])
return 1
LUA
  echo "return redis.call('SREM', KEYS[1], ARGV[2])" >release.lua
  echo "return redis.call('SPOP', KEYS[1])" >any.lua
}
