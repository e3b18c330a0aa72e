#!/usr/bin/env ruby
# usage: limit.rb SOCKET SCRIPT LIMIT/SECONDS...
# Asks for one request for each key, a line of standard input, with redis-rb.
require "digest"
require "redis"

TIMEOUT = 1 # in seconds

class Limiter
  # retry_after is in seconds, or nil if such a request can never be allowed.
  Decision = Struct.new(:allowed, :remaining, :retry_after, keyword_init: true)

  # The limits are pairs of a number of requests and a window in seconds.
  def initialize(redis, script, limits)
    @redis = redis
    @limits = limits
    @script = script
    @sha1 = Digest::SHA1.hexdigest(script)
  end

  def check(key)
    # The braces are a hash tag: all keys are in one slot of a Cluster.
    keys = @limits.one? ? [key] : @limits.map { |_, window| "{#{key}}:#{window}s" }
    args = @limits.flat_map { |limit, window| [limit, window * 1_000_000, ""] }
    allowed, remaining, retry_after = evalsha(keys, args)
    Decision.new(allowed: allowed == 1, remaining: remaining,
                 retry_after: retry_after.negative? ? nil : retry_after / 1e6)
  end

  private

  def evalsha(keys, argv)
    @redis.evalsha(@sha1, keys: keys, argv: argv)
  rescue Redis::CommandError => e
    raise unless e.message.start_with?("NOSCRIPT")

    @redis.script(:load, @script)
    @redis.evalsha(@sha1, keys: keys, argv: argv)
  end
end

# A request that timed out may have been counted, so it must not be sent again.
redis = Redis.new(path: ARGV[0], timeout: TIMEOUT, reconnect_attempts: 0)
limiter = Limiter.new(redis, File.binread(ARGV[1]), ARGV.drop(2).map { |limit| limit.split("/").map(&:to_i) })
$stdout.sync = true
$stdin.each_line(chomp: true) do |key|
  d = limiter.check(key)
  if d.allowed
    puts "allowed remaining=#{d.remaining}"
  else
    wait = d.retry_after ? format("%.3fs", d.retry_after) : "never"
    puts "denied remaining=#{d.remaining} retry_after=#{wait}"
  end
end
