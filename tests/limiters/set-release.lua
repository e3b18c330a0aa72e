return redis.call('SREM', KEYS[1], ARGV[2])
