package main

import (
	"errors"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
)

var errNoSuchClass = errors.New("there is no such DeviceClass")

// classes is the library's view of the DeviceClasses, by name.
type classes map[string]*resourceapi.DeviceClass

func byName(list []*resourceapi.DeviceClass) classes {
	found := make(classes, len(list))
	for _, class := range list {
		found[class.Name] = class
	}
	return found
}

// List returns the classes in no order.
func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	return slices.Collect(maps.Values(c)), nil
}

// Get returns one class.
func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, found := c[name]; found {
		return class, nil
	}
	return nil, errNoSuchClass
}
