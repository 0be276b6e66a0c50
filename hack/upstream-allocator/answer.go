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
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cache := cel.NewCache(cachedSelectors, celFeatures(q.features))
	// Decoding leaves garbage; to collect it is not the allocator's work.
	runtime.GC()
	cold := q.pass(ctx, cache)
	warm := cold.times
	if ctx.Err() == nil && cold.total < repeatedBelow {
		warm = nil
		for range q.repeat {
			warm = append(warm, q.pass(ctx, cache).times...)
		}
	}
	return summary(cold, warm, ctx.Err() != nil)
}

func summary(cold pass, warm []time.Duration, timedOut bool) answer {
	given := answer{
		Results:     cold.results,
		Fits:        cold.fits,
		Nanoseconds: make([]int64, len(warm)),
		TimedOut:    timedOut,
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
	switch {
	case errors.Is(cold.failed, context.DeadlineExceeded):
		given.Results, given.Fits, given.Unschedulable = given.Results[:0], given.Fits[:0], false
	case cold.failed != nil:
		given.Results, given.Error, given.Unschedulable = given.Results[:0], cold.failed.Error(), false
	}
	return given
}
