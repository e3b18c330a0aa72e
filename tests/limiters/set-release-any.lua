return redis.call('SPOP', KEYS[1])
