/* usage: limit SOCKET SCRIPT LIMIT/SECONDS [LIMIT/SECONDS]
 * Asks for one request for each key, a line of standard input, with hiredis. */
#include <err.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static const struct timeval timeout = {.tv_sec = 1};
static redisContext *redis;
static char script[1 << 16], sha1[41] = "-";

struct limit { int requests, seconds; };

struct decision {
  bool allowed, never; /* never: such a request can never be allowed */
  long long remaining;
  double retry_after; /* in seconds */
};

/* Ends the program after an error. A request that timed out may have been counted: send it only once. */
static redisReply *must(redisReply *reply) {
  if (!reply || reply->type == REDIS_REPLY_ERROR) errx(1, "%s", reply ? reply->str : redis->errstr);
  return reply;
}

static redisReply *evalsha(const char *key, const struct limit *l, int count) {
  if (count == 1)
    return redisCommand(redis, "EVALSHA %s 1 %s %d %d000000", sha1, key, l->requests, l->seconds);
  /* The braces are a hash tag: both keys are in one slot of a Cluster. "" is the burst. */
  return redisCommand(redis, "EVALSHA %s 2 {%s}:%ds {%s}:%ds %d %d000000 %s %d %d000000", sha1,
                      key, l[0].seconds, key, l[1].seconds,
                      l[0].requests, l[0].seconds, "", l[1].requests, l[1].seconds);
}

static struct decision check(const char *key, const struct limit *limits, int count) {
  redisReply *reply = evalsha(key, limits, count);
  if (reply && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOSCRIPT", 8) == 0) {
    freeReplyObject(reply);
    reply = must(redisCommand(redis, "SCRIPT LOAD %s", script));
    snprintf(sha1, sizeof sha1, "%s", reply->str);
    freeReplyObject(reply);
    reply = evalsha(key, limits, count);
  }
  redisReply **integers = must(reply)->element;
  struct decision d = {integers[0]->integer == 1, integers[2]->integer < 0, integers[1]->integer,
                       integers[2]->integer / 1e6};
  freeReplyObject(reply);
  return d;
}

int main(int argc, char **argv) {
  if (argc < 4 || argc > 5) errx(2, "usage: limit SOCKET SCRIPT LIMIT/SECONDS [LIMIT/SECONDS]");
  FILE *file = fopen(argv[2], "r");
  if (!file || !fread(script, 1, sizeof script - 1, file)) err(2, "%s", argv[2]);
  redis = redisConnectUnixWithTimeout(argv[1], timeout);
  if (!redis || redis->err || redisSetTimeout(redis, timeout)) errx(1, "cannot connect to %s", argv[1]);
  struct limit limits[2] = {{0, 0}};
  for (int i = 0; i < argc - 3; i++) sscanf(argv[i + 3], "%d/%d", &limits[i].requests, &limits[i].seconds);
  for (char key[256]; scanf("%255[^\n]%*c", key) == 1; fflush(stdout)) {
    struct decision d = check(key, limits, argc - 3);
    if (d.allowed) printf("allowed remaining=%lld\n", d.remaining);
    else if (d.never) printf("denied remaining=%lld retry_after=never\n", d.remaining);
    else printf("denied remaining=%lld retry_after=%.3fs\n", d.remaining, d.retry_after);
  }
}
