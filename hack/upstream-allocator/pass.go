package main

import (
	"context"
	"errors"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// pass is one way through all batches of a question.
type pass struct {
	results []*resourceapi.AllocationResult
	fits    []string // of the last batch
	failed  error
	times   []time.Duration // one per batch
	total   time.Duration
}

func (q *question) pass(ctx context.Context, cache *cel.Cache) pass {
	done := pass{results: []*resourceapi.AllocationResult{}, fits: []string{}}
	held := q.held
	for _, batch := range q.batches {
		start := time.Now()
		found, err := q.everywhere(ctx, cache, held, batch)
		took := time.Since(start)
		done.times = append(done.times, took)
		done.total += took
		if err != nil {
			done.failed = err
			break
		}
		done.fits = found.fits
		if q.kept && found.allocations != nil {
			held = copied(held)
			keep(held, found.allocations[0])
		}
		done.results = append(done.results, perClaim(batch, found.allocations)...)
	}
	return done
}

// outcome is the answer to one batch: the allocations on the first node that fits, nil where none does.
type outcome struct {
	allocations []resourceapi.AllocationResult
	fits        []string
}

// everywhere tries a batch on each node, as a scheduler does for one pod: one allocator, many nodes.
func (q *question) everywhere(
	ctx context.Context, cache *cel.Cache, held structured.AllocatedState, claims []*resourceapi.ResourceClaim,
) (outcome, error) {
	allocator, err := structured.NewAllocator(ctx, q.features, held, q.classes, q.slices, cache)
	if err != nil {
		return outcome{}, err
	}
	found := outcome{fits: []string{}}
	var refused error
	for _, node := range q.nodes {
		allocations, err := allocator.Allocate(ctx, node, claims)
		if errors.Is(err, structured.ErrFailedAllocationOnNode) {
			// Only this node is out; it is the answer where no other fits.
			refused = err
			continue
		}
		if err != nil {
			return outcome{}, err
		}
		if allocations != nil {
			found.fits = append(found.fits, node.Name)
			if found.allocations == nil {
				found.allocations = allocations
			}
		}
	}
	if found.allocations == nil && refused != nil {
		return outcome{}, refused
	}
	return found, nil
}

// perClaim returns a pointer per claim: to its allocation, or nil where the batch does not fit.
func perClaim(
	claims []*resourceapi.ResourceClaim, allocations []resourceapi.AllocationResult,
) []*resourceapi.AllocationResult {
	given := make([]*resourceapi.AllocationResult, len(claims))
	for i := range allocations {
		given[i] = &allocations[i]
	}
	return given
}
