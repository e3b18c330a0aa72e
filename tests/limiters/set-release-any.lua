local any = redis.call('SMEMBERS', KEYS[1])[1]
return any and redis.call('SREM', KEYS[1], any) or 0
