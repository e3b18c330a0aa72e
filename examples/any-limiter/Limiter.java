// Lets rlctl ask a limiter that is a class in Java, whose clock is a java.time.Clock. With Java 17 or newer:
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
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class Limiter {
  record Decision(boolean allowed, int remaining, Duration retryAfter) {}

  // Your limiter goes here. This one remembers when requests were allowed.
  static final class SlidingWindow {
    private final Clock clock;
    private final int limit;
    private final Duration window;
    private final Map<String, Deque<Instant>> times = new HashMap<>();

    SlidingWindow(Clock clock, int limit, Duration window) {
      this.clock = clock;
      this.limit = limit;
      this.window = window;
    }

    Decision decide(String key) {
      Instant now = clock.instant();
      Deque<Instant> allowed = times.computeIfAbsent(key, unused -> new ArrayDeque<>());
      while (!allowed.isEmpty() && !allowed.peekFirst().plus(window).isAfter(now)) {
        allowed.removeFirst();
      }
      if (allowed.size() >= limit) {
        return new Decision(false, 0, Duration.between(now, allowed.peekFirst().plus(window)));
      }
      allowed.addLast(now);
      return new Decision(true, limit - allowed.size(), Duration.ZERO);
    }
  }

  // The clock that shows the time of the request.
  static final class RequestClock extends Clock {
    private Instant now = Instant.EPOCH;

    @Override public Instant instant() { return now; }
    @Override public ZoneId getZone() { return ZoneOffset.UTC; }
    @Override public Clock withZone(ZoneId zone) { return this; }
  }

  // rlctl always writes the members of a request in this order.
  private static final Pattern REQUEST = Pattern.compile(
      "\\{\"now_us\":(\\d+),\"key\":\"(.*)\",\"cost\":\\d+,\"id\":\\d+,\"limit\":(\\d+),\"window_us\":(\\d+),.*");

  public static void main(String[] arguments) throws IOException {
    RequestClock clock = new RequestClock();
    SlidingWindow limiter = null;
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
        limiter = new SlidingWindow(clock, Integer.parseInt(request.group(3)), window);
      }
      Decision decision = limiter.decide(request.group(2));
      System.out.println("{\"allowed\":" + decision.allowed + ",\"remaining\":" + decision.remaining
          + ",\"retry_after_us\":" + decision.retryAfter.toNanos() / 1000 + "}");
    }
  }
}
