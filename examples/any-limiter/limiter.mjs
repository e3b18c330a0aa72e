#!/usr/bin/env node
// Lets rlctl ask a limiter that is a class in JavaScript, whose clock is Date.now():
//
//     rlctl burst --limit 10/1s --exec 'node limiter.mjs'
import { createInterface } from 'node:readline';

// Your limiter goes here, or import it. This one counts in windows of the clock, and weights the count of the last
// window by how much of it is within one window before now.
class SlidingCounter {
  constructor(limit, windowMs) {
    this.limit = limit;
    this.windowMs = windowMs;
    this.counts = new Map();
  }

  allow(key) {
    const now = Date.now();
    const index = Math.floor(now / this.windowMs);
    const before = this.counts.get(`${key}:${index - 1}`) ?? 0;
    const current = this.counts.get(`${key}:${index}`) ?? 0;
    const used = Math.floor(before * (1 - (now % this.windowMs) / this.windowMs)) + current;
    if (used >= this.limit) return { allowed: false, remaining: 0 };
    this.counts.set(`${key}:${index}`, current + 1);
    return { allowed: true, remaining: this.limit - used - 1 };
  }
}

let limiter;
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.reset) {
    limiter = undefined;
    continue;
  }
  Date.now = () => Math.floor(request.now_us / 1000);
  limiter ??= new SlidingCounter(request.limit, request.window_us / 1000);
  console.log(JSON.stringify(limiter.allow(request.key)));
}
