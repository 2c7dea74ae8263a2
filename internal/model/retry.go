package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Backoff decides whether and when to repeat a request that failed. It only
// decides: who repeats must show it, and must not have run any call of the
// failed answer, which nobody does before the answer has finished. The zero
// value is ready and uses the defaults.
type Backoff struct {
	// MaxAttempts counts the first one; 0 means 4, 1 never repeats.
	MaxAttempts int
	// Base is the wait before the second attempt, doubled for each one after
	// it up to Max; 0 means 1 s and 30 s. A random part of at most a fifth is
	// taken off, so that many clients do not come back at once.
	Base, Max time.Duration
	// MaxWait is the longest wait that a server may ask for; 0 means 2 min. A
	// longer one ends the request with an error that says so.
	MaxWait time.Duration
	// Random gives numbers in [0, 1); nil means a real one.
	Random func() float64
}

// Retry is a decision to repeat.
type Retry struct {
	// Wait comes first.
	Wait time.Duration
	// Attempt is the number of the attempt that follows it, from 2, of Max.
	Attempt, Max int
	// Failure is why the attempt before failed.
	Failure *Error
}

// Attempts is MaxAttempts or its default.
func (b Backoff) Attempts() int {
	if b.MaxAttempts > 0 {
		return b.MaxAttempts
	}
	return 4
}

// Next says what to do after attempt number failed (from 1) ended with err:
// repeat, or give up with the error to report. A cancelled context and whatever
// is not an *[Error] with Retryable is never repeated.
func (b Backoff) Next(failed int, err error) (Retry, error) {
	var e *Error
	if errors.Is(err, context.Canceled) || !errors.As(err, &e) || !e.Retryable {
		return Retry{}, err
	}
	if failed >= b.Attempts() {
		if failed > 1 {
			final := *e
			final.Message = fmt.Sprintf("%s (tried %d times)", e.Error(), failed)
			final.Err = err
			return Retry{}, &final
		}
		return Retry{}, err
	}
	wait := b.delay(failed)
	if e.RetryAfter > 0 {
		if limit := orDuration(b.MaxWait, 2*time.Minute); e.RetryAfter > limit {
			final := *e
			final.Retryable = false
			final.Message = fmt.Sprintf("the provider asks to wait %s, longer than the limit of %s: try again after that, or choose another model. %s",
				e.RetryAfter.Round(time.Second), limit, e.Error())
			final.Err = err
			return Retry{}, &final
		}
		// Coming back early costs the next wait, so nothing is taken off here.
		wait = max(wait, e.RetryAfter)
	}
	if e.Wait > 0 {
		wait = e.Wait
	}
	return Retry{Wait: wait, Attempt: failed + 1, Max: b.Attempts(), Failure: e}, nil
}

func (b Backoff) delay(failed int) time.Duration {
	d, most := orDuration(b.Base, time.Second), orDuration(b.Max, 30*time.Second)
	for i := 1; i < failed && d < most; i++ {
		d *= 2
	}
	d = min(d, most)
	random := rand.Float64
	if b.Random != nil {
		random = b.Random
	}
	return d - time.Duration(random()*float64(d)/5)
}

// Sleep waits for the decision's time, or until ctx ends, whose error it then
// returns.
func (r Retry) Sleep(ctx context.Context) error {
	t := time.NewTimer(r.Wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func orDuration(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}
