// Lets rlctl ask a limiter in Go, whose clock is a function that can be replaced:
//
//	go build -o limiter limiter.go
//	rlctl burst --limit 10/1s --exec ./limiter
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"time"
)

// Limiter is a token bucket for each client; put yours here.
type Limiter struct {
	limit   float64
	window  time.Duration
	now     func() time.Time // time.Now except in tests
	buckets map[string]bucket
}

type bucket struct {
	tokens float64
	filled time.Time
}

// Allow tells whether a request of the client key may pass.
func (l *Limiter) Allow(key string) bool {
	now := l.now()
	b, known := l.buckets[key]
	if !known {
		b = bucket{l.limit, now}
	}
	refilled := l.limit * float64(now.Sub(b.filled)) / float64(l.window)
	b = bucket{math.Min(l.limit, b.tokens+refilled), now}
	allowed := b.tokens >= 1
	if allowed {
		b.tokens--
	}
	l.buckets[key] = b
	return allowed
}

func main() {
	var limiter *Limiter
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var request struct {
			Reset    bool
			NowUs    int64 `json:"now_us"`
			Key      string
			Limit    float64
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
			limiter = &Limiter{limit: request.Limit, window: window, buckets: map[string]bucket{}}
		}
		limiter.now = func() time.Time { return time.UnixMicro(request.NowUs) }
		fmt.Printf("{\"allowed\":%t}\n", limiter.Allow(request.Key))
	}
}
