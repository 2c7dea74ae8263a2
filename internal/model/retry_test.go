package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff(t *testing.T) {
	none := func() float64 { return 0 }
	fail := &Error{Code: "NETWORK", Message: "broke", Retryable: true}
	after := func(d time.Duration) *Error {
		return &Error{Code: "RATE_LIMITED", Message: "slow", Retryable: true, RetryAfter: d}
	}
	for _, c := range []struct {
		name   string
		b      Backoff
		failed int
		err    error
		wait   time.Duration // 0: gives up
		says   string
	}{
		{"first", Backoff{Random: none}, 1, fail, time.Second, ""},
		{"doubles", Backoff{Random: none}, 3, fail, 4 * time.Second, ""},
		{"bounded", Backoff{Random: none, MaxAttempts: 100}, 60, fail, 30 * time.Second, ""},
		{"a part off", Backoff{Random: func() float64 { return 1 }}, 1, fail, 800 * time.Millisecond, ""},
		{"wrapped", Backoff{Random: none}, 1, fmt.Errorf("x: %w", fail), time.Second, ""},
		{"exhausted", Backoff{}, 4, fail, 0, "broke (tried 4 times)"},
		{"never repeats", Backoff{MaxAttempts: 1}, 1, fail, 0, "broke"},
		{"not retryable", Backoff{}, 1, &Error{Code: "AUTH", Message: "key"}, 0, "key"},
		{"unknown", Backoff{}, 1, errors.New("odd"), 0, "odd"},
		{"cancelled", Backoff{}, 1, context.Canceled, 0, "context canceled"},
		{"cancelled inside", Backoff{}, 1, &Error{Message: "x", Retryable: true, Err: context.Canceled}, 0, "x"},
		{"server asks for more", Backoff{Random: none}, 1, after(10 * time.Second), 10 * time.Second, ""},
		{"server asks for less", Backoff{Random: none}, 1, after(time.Millisecond), time.Second, ""},
		{"server asks for too much", Backoff{}, 1, after(3 * time.Hour), 0, "asks to wait 3h0m0s, longer than the limit of 2m0s"},
		{"own limit", Backoff{MaxWait: time.Second}, 1, after(2 * time.Second), 0, "limit of 1s"},
	} {
		r, err := c.b.Next(c.failed, c.err)
		if c.wait == 0 {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v %v", c.name, r, err)
			} else if !errors.Is(err, c.err) {
				t.Errorf("%s: the cause is lost", c.name)
			}
			continue
		}
		if err != nil || r.Wait != c.wait || r.Attempt != c.failed+1 || r.Max != c.b.Attempts() || r.Failure == nil {
			t.Errorf("%s: %+v %v", c.name, r, err)
		}
	}
	if _, err := (Backoff{}).Next(1, after(time.Hour)); AsError(err).Retryable || AsError(err).Code != "RATE_LIMITED" {
		t.Error("a wait that is too long is still to be repeated")
	}
}

func TestRetrySleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := (Retry{Wait: time.Minute}).Sleep(t.Context()); err != nil || time.Since(start) != time.Minute {
			t.Error(err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start = time.Now()
		if err := (Retry{Wait: time.Minute}).Sleep(ctx); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Error(err, time.Since(start))
		}
	})
}
