// Two limiters in Redis as many articles write them in Java, each with its flaw. With Java 17 or newer:
//
//     rlctl burst --limit 5/60s --exec 'java RedisLimiters.java SortedSet'
//     rlctl burst --limit 5/60s --exec 'java RedisLimiters.java Counter'
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class RedisLimiters {
  interface RateLimiter {
    boolean allow(String key) throws IOException;
  }

  // A sorted set with the times of a client's requests, in one transaction.
  //
  // What goes wrong: every request is added, also if it is then denied. A client that keeps trying keeps its own
  // window full, and is locked out. Besides, requests in the same millisecond are one member, and count as one.
  record SortedSet(Redis redis, LongSupplier millis, long limit, long windowMs) implements RateLimiter {
    @Override
    public boolean allow(String key) throws IOException {
      long now = millis.getAsLong();
      redis.call("MULTI");
      redis.call("ZADD", key, now, now);
      redis.call("ZREMRANGEBYSCORE", key, 0, now - windowMs);
      redis.call("ZCARD", key);
      redis.call("EXPIRE", key, windowMs / 1000);
      List<?> replies = (List<?>) redis.call("EXEC");
      return (Long) replies.get(2) <= limit;
    }
  }

  // A counter that expires one window after it was set.
  //
  // What goes wrong: the window begins with a client's first request and is empty after its TTL, so a client that
  // sends one request, waits for the end, and then sends the rest and another limit gets nearly twice the limit.
  // Besides, two clients at once both read the same count; and if the counter expires between GET and INCR, INCR makes
  // one without a TTL, which locks its client out once it has reached the limit.
  record Counter(Redis redis, long limit, long windowMs) implements RateLimiter {
    @Override
    public boolean allow(String key) throws IOException {
      String count = (String) redis.call("GET", key);
      if (count == null) {
        redis.call("SET", key, 1, "PX", windowMs);
        return true;
      }
      if (Long.parseLong(count) >= limit) {
        return false;
      }
      redis.call("INCR", key);
      return true;
    }
  }

  // As much of a Redis client as these two need: a command is sent as an array of strings.
  static final class Redis {
    private final BufferedReader in;
    private final OutputStream out;

    Redis(URI uri) throws IOException {
      Socket socket = new Socket(uri.getHost(), uri.getPort());
      socket.setTcpNoDelay(true);
      in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
      out = socket.getOutputStream();
      call("AUTH", uri.getUserInfo().split(":", 2)[1]);
    }

    Object call(Object... words) throws IOException {
      StringBuilder command = new StringBuilder("*" + words.length + "\r\n");
      for (Object word : words) {
        command.append("$" + word.toString().length() + "\r\n" + word + "\r\n");
      }
      out.write(command.toString().getBytes(StandardCharsets.ISO_8859_1));
      return reply();
    }

    // A String, a Long, a List or null.
    private Object reply() throws IOException {
      String line = in.readLine();
      String rest = line.substring(1);
      switch (line.charAt(0)) {
        case '-':
          throw new IOException(rest);
        case ':':
          return Long.valueOf(rest);
        case '$':
          return rest.equals("-1") ? null : in.readLine(); // no value here contains a line break
        case '*':
          List<Object> replies = new ArrayList<>();
          for (int count = Integer.parseInt(rest); count > 0; --count) {
            replies.add(reply());
          }
          return replies;
        default:
          return rest;
      }
    }
  }

  // The members that these limiters need; rlctl always writes them in this order.
  private static final Pattern REQUEST = Pattern.compile(
      "\\{\"now_us\":(\\d+),\"key\":\"(.*)\",\"cost\":\\d+,\"id\":\\d+,\"limit\":(\\d+),\"window_us\":(\\d+),.*");

  private static long nowMs;

  public static void main(String[] arguments) throws IOException {
    Redis redis = new Redis(URI.create(System.getenv("RLCTL_REDIS_URL")));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.ISO_8859_1));
    for (String line; (line = in.readLine()) != null;) {
      Matcher request = REQUEST.matcher(line);
      if (!request.matches()) {
        continue; // {"reset":true}: rlctl has emptied the server
      }
      nowMs = Long.parseLong(request.group(1)) / 1000;
      long limit = Long.parseLong(request.group(3));
      long windowMs = Long.parseLong(request.group(4)) / 1000;
      RateLimiter limiter = arguments[0].equals("SortedSet")
          ? new SortedSet(redis, () -> nowMs, limit, windowMs)
          : new Counter(redis, limit, windowMs);
      System.out.println("{\"allowed\":" + limiter.allow(request.group(2)) + "}");
    }
  }
}
