// Lets rlctl ask a limiter in Go, whose clock is a function that can be replaced:
//
//	go build -o limiter limiter.go && rlctl burst --limit 10/1s --exec ./limiter
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"
)

// Limiter is the limiter; yours goes here. It allows a limit of requests in the window that begins with a client's
// first request.
type Limiter struct {
	limit  int64
	window time.Duration
	now    func() time.Time // time.Now, but in tests
	counts map[string]count
}

type count struct {
	requests int64
	end      time.Time
}

// Allow tells whether a request of the client key may pass.
func (l *Limiter) Allow(key string) bool {
	now := l.now()
	c := l.counts[key]
	if !now.Before(c.end) {
		c = count{end: now.Add(l.window)}
	}
	c.requests++
	l.counts[key] = c
	return c.requests <= l.limit
}

func main() {
	var limiter *Limiter
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var request struct {
			Reset    bool
			NowUs    int64 `json:"now_us"`
			Key      string
			Limit    int64
			WindowUs int64 `json:"window_us"`
		}
		if err := json.Unmarshal(in.Bytes(), &request); err != nil {
			log.Fatal(err)
		}
		if request.Reset {
			limiter = nil
			continue
		}
		if limiter == nil {
			window := time.Duration(request.WindowUs) * time.Microsecond
			limiter = &Limiter{limit: request.Limit, window: window, counts: map[string]count{}}
		}
		limiter.now = func() time.Time { return time.UnixMicro(request.NowUs) }
		fmt.Printf("{\"allowed\":%t}\n", limiter.Allow(request.Key))
	}
}
