#!/usr/bin/env ruby
# Lets rlctl ask a limiter in Ruby, whose clock is Time.now:
#
#     rlctl burst --limit 10/1s --exec 'ruby limiter.rb'
require "json"

# Your limiter goes here, or require it. This one is GCRA: it keeps the time until which a client is served.
class Gcra
  def initialize(limit, window)
    @window = window
    @interval = window / limit
    @served_until = {}
  end

  # nil if the request is allowed, or else the time to wait, in seconds.
  def wait(key)
    now = Time.now.to_r
    served_until = [@served_until.fetch(key, now), now].max + @interval
    excess = served_until - now - @window
    return excess if excess.positive?

    @served_until[key] = served_until
    nil
  end
end

$stdout.sync = true
limiter = nil
$stdin.each_line do |line|
  request = JSON.parse(line, symbolize_names: true)
  next limiter = nil if request[:reset]

  now = Time.at(0, request[:now_us], :microsecond)
  Time.define_singleton_method(:now) { now }
  limiter ||= Gcra.new(request[:limit], request[:window_us] / 1_000_000r)
  wait = limiter.wait(request[:key])
  puts JSON.generate(wait ? { allowed: false, retry_after_us: (wait * 1_000_000).ceil } : { allowed: true })
end
