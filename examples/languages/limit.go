// usage: limit SOCKET SCRIPT LIMIT/SECONDS...
// Asks for one request for each key, a line of standard input, with redigo.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/gomodule/redigo/redis"
)

const timeout = 1 * time.Second

type limit struct{ requests, seconds int }

type decision struct {
	allowed    bool
	remaining  int64
	retryAfter time.Duration // negative: such a request can never be allowed
}

func (d decision) String() string {
	switch {
	case d.allowed:
		return fmt.Sprintf("allowed remaining=%d", d.remaining)
	case d.retryAfter < 0:
		return fmt.Sprintf("denied remaining=%d retry_after=never", d.remaining)
	}
	return fmt.Sprintf("denied remaining=%d retry_after=%.3fs", d.remaining, d.retryAfter.Seconds())
}

// check sends EVALSHA; after NOSCRIPT, Do sends EVAL. redigo sends nothing again after a timeout.
func check(conn redis.Conn, script *redis.Script, key string, limits []limit) (decision, error) {
	keys, args := redis.Args{len(limits)}, redis.Args{}
	for _, l := range limits {
		if len(limits) == 1 {
			keys = keys.Add(key)
		} else { // the braces are a hash tag: all keys are in one slot of a Cluster
			keys = keys.Add(fmt.Sprintf("{%s}:%ds", key, l.seconds))
		}
		args = args.Add(l.requests, l.seconds*1e6, "")
	}
	r, err := redis.Int64s(script.Do(conn, append(keys, args...)...))
	if err != nil {
		return decision{}, err
	}
	return decision{r[0] == 1, r[1], time.Duration(r[2]) * time.Microsecond}, nil
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	conn := must(redis.Dial("unix", os.Args[1], redis.DialReadTimeout(timeout), redis.DialWriteTimeout(timeout)))
	script := redis.NewScript(-1, string(must(os.ReadFile(os.Args[2])))) // -1: Do is told the number of keys
	limits := make([]limit, len(os.Args)-3)
	for i, argument := range os.Args[3:] {
		must(fmt.Sscanf(argument, "%d/%d", &limits[i].requests, &limits[i].seconds))
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(must(check(conn, script, lines.Text(), limits)))
	}
}
