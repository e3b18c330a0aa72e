// Lets rlctl ask a limiter that is a class in Java, whose clock is a java.time.Clock:
//
//     rlctl burst --limit 10/1s --exec 'java Limiter.java'
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class Limiter {
  // Your limiter goes here. This one is a token bucket.
  static final class TokenBucket {
    private record Bucket(double tokens, Instant filled) {}

    private final Clock clock;
    private final long limit;
    private final Duration window;
    private final Map<String, Bucket> buckets = new HashMap<>();

    TokenBucket(Clock clock, long limit, Duration window) {
      this.clock = clock;
      this.limit = limit;
      this.window = window;
    }

    boolean allow(String key) {
      Instant now = clock.instant();
      Bucket bucket = buckets.getOrDefault(key, new Bucket(limit, now));
      double refilled = (double) Duration.between(bucket.filled, now).toNanos() * limit / window.toNanos();
      double tokens = Math.min(limit, bucket.tokens + refilled);
      boolean allowed = tokens >= 1;
      buckets.put(key, new Bucket(allowed ? tokens - 1 : tokens, now));
      return allowed;
    }
  }

  static final class RequestClock extends Clock {
    Instant now = Instant.EPOCH;

    @Override public Instant instant() { return now; }
    @Override public ZoneId getZone() { return ZoneOffset.UTC; }
    @Override public Clock withZone(ZoneId zone) { return this; }
  }

  // The members that this limiter needs; rlctl always writes them in this order.
  private static final Pattern REQUEST = Pattern.compile(
      "\\{\"now_us\":(\\d+),\"key\":\"(.*)\",\"cost\":\\d+,\"id\":\\d+,\"limit\":(\\d+),\"window_us\":(\\d+),.*");

  public static void main(String[] arguments) throws IOException {
    RequestClock clock = new RequestClock();
    TokenBucket limiter = null;
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null;) {
      Matcher request = REQUEST.matcher(line);
      if (!request.matches()) { // {"reset":true}
        limiter = null;
        continue;
      }
      clock.now = Instant.EPOCH.plus(Long.parseLong(request.group(1)), ChronoUnit.MICROS);
      if (limiter == null) {
        Duration window = Duration.of(Long.parseLong(request.group(4)), ChronoUnit.MICROS);
        limiter = new TokenBucket(clock, Long.parseLong(request.group(3)), window);
      }
      System.out.println("{\"allowed\":" + limiter.allow(request.group(2)) + "}");
    }
  }
}
