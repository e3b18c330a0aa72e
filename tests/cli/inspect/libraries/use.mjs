// Makes state in the server whose unix socket is the first argument, with each library's own code. The windows
// are so long that none ends during a test.
import { createRequire } from "node:module";

// The packages are in the folder from which this is run.
const require = createRequire(process.cwd() + "/");
const Redis = require("ioredis");
const AsyncLimiter = require("async-ratelimiter");
const { RateLimiterRedis } = require("rate-limiter-flexible");
const { Ratelimit } = require("@upstash/ratelimit");

const redis = new Redis({ path: process.argv[2] });

const flexible = new RateLimiterRedis({ storeClient: redis, points: 5, duration: 86400 });
await flexible.consume("ann", 2);
await flexible.block("bob", 86400);

// The methods of its own client that @upstash/ratelimit calls.
const client = {
  evalsha: (sha, keys, values) => redis.evalsha(sha, keys.length, ...keys, ...values),
  eval: (script, keys, values) => redis.eval(script, keys.length, ...keys, ...values),
};
for (const [id, limiter] of [
  ["fixed", Ratelimit.fixedWindow(5, "1 d")],
  ["sliding", Ratelimit.slidingWindow(5, "1 d")],
  ["bucket", Ratelimit.tokenBucket(2, "1 d", 5)],
]) {
  const ratelimit = new Ratelimit({ redis: client, limiter, ephemeralCache: false });
  await ratelimit.limit(id);
  await ratelimit.limit(id);
}

const asynchronous = new AsyncLimiter({ db: redis, max: 5, duration: 86400000 });
await asynchronous.get({ id: "ann" });
await asynchronous.get({ id: "ann" });

await redis.quit();
