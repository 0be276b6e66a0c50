package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// A run that takes longer is not repeated: compiling a few selectors is milliseconds, so its time
// stands for a warm one too.
const repeatedBelow = time.Second

// More than any input has; a scheduler keeps fewer and is colder for it.
const cachedSelectors = 1000

// answer is a line of output. Results are those of the first node that fits, one per claim in the order
// of the claims; in a sequence a claim that does not fit has none and leaves a null.
type answer struct {
	Results         []*resourceapi.AllocationResult `json:"results"`
	Unschedulable   bool                            `json:"unschedulable"`
	Error           string                          `json:"error,omitempty"`
	Fits            []string                        `json:"fits"`
	Nanoseconds     []int64                         `json:"nanoseconds"`
	ColdNanoseconds int64                           `json:"cold_nanoseconds"`
	TimedOut        bool                            `json:"timed_out"`
}

func (q *question) answer(limit time.Duration) answer {
	cache := cel.NewCache(cachedSelectors, celFeatures(q.features))
	// Decoding leaves garbage; to collect it is not the allocator's work.
	runtime.GC()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cold := q.pass(ctx, cache)
	warm := cold.times
	if cold.failed == nil && cold.total < repeatedBelow {
		warm = q.repeated(ctx, cache, warm)
	}
	return summary(cold, warm)
}

// repeated returns the times of the passes that end before the limit, or the given ones if none does.
func (q *question) repeated(ctx context.Context, cache *cel.Cache, given []time.Duration) []time.Duration {
	var times []time.Duration
	for range q.repeat {
		again := q.pass(ctx, cache)
		if again.failed != nil {
			break
		}
		times = append(times, again.times...)
	}
	if times == nil {
		return given
	}
	return times
}

func summary(cold pass, warm []time.Duration) answer {
	given := answer{
		Results:     cold.results,
		Fits:        cold.fits,
		Nanoseconds: make([]int64, len(warm)),
		TimedOut:    errors.Is(cold.failed, context.DeadlineExceeded),
	}
	for i, took := range warm {
		given.Nanoseconds[i] = took.Nanoseconds()
	}
	if len(cold.times) > 0 {
		given.ColdNanoseconds = cold.times[0].Nanoseconds()
	}
	for _, result := range cold.results {
		given.Unschedulable = given.Unschedulable || result == nil
	}
	if cold.failed != nil {
		given.Results, given.Fits, given.Unschedulable = given.Results[:0], given.Fits[:0], false
		if !given.TimedOut {
			given.Error = cold.failed.Error()
		}
	}
	return given
}
