#!/usr/bin/env node
// usage: limit.mjs SOCKET SCRIPT LIMIT/SECONDS...
// Asks for one request for each key, a line of standard input, with ioredis.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import Redis from "ioredis";

const TIMEOUT = 1000; // in milliseconds

export class Limiter {
  // limits: an array of { limit, seconds }
  constructor(redis, script, limits) {
    this.redis = redis;
    this.limits = limits;
    // The new command sends EVALSHA, and EVAL after NOSCRIPT.
    redis.defineCommand("rateLimit", { lua: script });
  }

  async check(key) {
    // The braces are a hash tag: all keys are in one slot of a Cluster.
    const keys = this.limits.length === 1 ? [key]
      : this.limits.map(({ seconds }) => `{${key}}:${seconds}s`);
    const args = this.limits.flatMap(({ limit, seconds }) => [limit, seconds * 1e6, ""]);
    const [allowed, remaining, retryAfter] = await this.redis.rateLimit(keys.length, ...keys, ...args);
    return {
      allowed: allowed === 1,
      remaining,
      retryAfter: retryAfter < 0 ? null : retryAfter / 1e6, // in seconds; null: never
    };
  }
}

// A request that timed out may have been counted, so it must not be sent again.
const redis = new Redis(process.argv[2], {
  commandTimeout: TIMEOUT,
  connectTimeout: TIMEOUT,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
});
redis.on("error", () => {}); // the failed request reports it

const limits = process.argv.slice(4).map((argument) => argument.split("/").map(Number));
const limiter = new Limiter(redis, readFileSync(process.argv[3], "utf8"),
  limits.map(([limit, seconds]) => ({ limit, seconds })));
for await (const key of createInterface({ input: process.stdin })) {
  const { allowed, remaining, retryAfter } = await limiter.check(key);
  const wait = retryAfter === null ? "never" : `${retryAfter.toFixed(3)}s`;
  const verdict = allowed ? "allowed" : "denied";
  console.log(`${verdict} remaining=${remaining}${allowed ? "" : ` retry_after=${wait}`}`);
}
redis.disconnect();
