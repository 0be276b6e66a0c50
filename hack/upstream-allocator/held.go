package main

import (
	"maps"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
)

// heldDevices is what earlier claims hold, as an input says it.
type heldDevices struct {
	Devices  []device         `json:"devices"`
	Shared   []sharedDevice   `json:"shared"`
	Capacity []sharedCapacity `json:"capacity"`
}

type device struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

type sharedDevice struct {
	device
	ShareID types.UID `json:"shareID"`
}

type sharedCapacity struct {
	device
	Consumed map[resourceapi.QualifiedName]resource.Quantity `json:"consumed"`
}

func (d device) id() structured.DeviceID {
	return structured.MakeDeviceID(d.Driver, d.Pool, d.Device)
}

func (h heldDevices) state() structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, held := range h.Devices {
		state.AllocatedDevices.Insert(held.id())
	}
	for _, held := range h.Shared {
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(held.id(), &held.ShareID))
	}
	for _, held := range h.Capacity {
		state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(held.id(), held.Consumed))
	}
	return state
}

// copied returns a state that can grow without changing the one it came from.
func copied(state structured.AllocatedState) structured.AllocatedState {
	return structured.AllocatedState{
		AllocatedDevices:         state.AllocatedDevices.Clone(),
		AllocatedSharedDeviceIDs: state.AllocatedSharedDeviceIDs.Clone(),
		AggregatedCapacity:       state.AggregatedCapacity.Clone(),
	}
}

// keep adds what an allocation takes. Access as an administrator takes nothing.
func keep(state structured.AllocatedState, allocation resourceapi.AllocationResult) {
	for _, result := range allocation.Devices.Results {
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if result.ShareID == nil {
			state.AllocatedDevices.Insert(id)
			continue
		}
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
		if result.ConsumedCapacity != nil {
			consumed := maps.Clone(result.ConsumedCapacity)
			state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, consumed))
		}
	}
}
