package main

import (
	"fmt"
	"slices"

	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// bindingGates are two feature gates that the library knows as one switch.
var bindingGates = []string{"DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"}

// decodeFeatures turns the names of feature gates into the library's switches; all others are off.
func decodeFeatures(names []string) (structured.Features, error) {
	var features structured.Features
	switches := map[string]*bool{
		"DRAAdminAccess":               &features.AdminAccess,
		"DRAConsumableCapacity":        &features.ConsumableCapacity,
		"DRADerivedAttributes":         &features.DerivedAttributes,
		"DRADeviceCompatibilityGroups": &features.CompatibilityGroups,
		"DRADeviceTaints":              &features.DeviceTaints,
		"DRAFractionalCapacityRange":   &features.FractionalCapacityRange,
		"DRAListTypeAttributes":        &features.ListTypeAttributes,
		"DRAOptionalNodeOperations":    &features.OptionalNodeOperations,
		"DRAPartitionableDevices":      &features.PartitionableDevices,
		"DRAPrioritizedList":           &features.PrioritizedList,
	}
	for _, name := range names {
		if slices.Contains(bindingGates, name) {
			continue
		}
		enabled, known := switches[name]
		if !known {
			return features, fmt.Errorf("features: %s is no feature of this release", name)
		}
		*enabled = true
	}
	features.DeviceBindingAndStatus = !slices.ContainsFunc(bindingGates, func(gate string) bool {
		return !slices.Contains(names, gate)
	})
	return features, nil
}

// celFeatures are those switches that change what a selector may say.
func celFeatures(features structured.Features) cel.Features {
	return cel.Features{
		EnableConsumableCapacity: features.ConsumableCapacity,
		EnableListTypeAttributes: features.ListTypeAttributes,
	}
}
