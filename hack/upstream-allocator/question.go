package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// question is one input: what to allocate, from what, where and how often.
type question struct {
	slices   []*resourceapi.ResourceSlice
	classes  classes
	batches  [][]*resourceapi.ResourceClaim // allocated one after the other, each batch at once
	kept     bool                           // whether a batch holds its devices when the next one comes
	held     structured.AllocatedState
	features structured.Features
	nodes    []*corev1.Node
	repeat   int
}

// decode reads the fields of an input. Fields that it does not know belong to somebody else: a case
// says what it expects in the same object. Inside of the API objects nothing unknown is let through,
// because it would be answered as if it were not there.
func decode(fields map[string]json.RawMessage) (*question, error) {
	var (
		claims, sequence []*resourceapi.ResourceClaim
		classList        []*resourceapi.DeviceClass
		held             heldDevices
		gates, names     []string
		node             *corev1.Node
		asked            = &question{repeat: 1}
	)
	err := errors.Join(
		strictly(fields, "slices", &asked.slices),
		strictly(fields, "classes", &classList),
		strictly(fields, "claims", &claims),
		strictly(fields, "allocated", &held),
		strictly(fields, "features", &gates),
		strictly(fields, "node", &node),
		strictly(fields, "nodes", &names),
		strictly(fields, "repeat", &asked.repeat),
		decodeSequence(fields, &sequence, &asked.kept),
	)
	if err != nil {
		return nil, err
	}
	if asked.features, err = decodeFeatures(gates); err != nil {
		return nil, err
	}
	if asked.nodes, err = decodeNodes(node, names); err != nil {
		return nil, err
	}
	asked.classes = byName(classList)
	asked.held = held.state()
	asked.batches = batches(claims, sequence, asked.kept)
	return asked, nil
}

// strictly decodes one field, if it is there.
func strictly(fields map[string]json.RawMessage, name string, target any) error {
	raw, found := fields[name]
	if !found {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// decodeSequence takes both forms of the field: a list of claims, or true for those in "claims".
func decodeSequence(fields map[string]json.RawMessage, claims *[]*resourceapi.ResourceClaim, kept *bool) error {
	if err := strictly(fields, "sequence", kept); err == nil {
		return nil
	}
	*kept = true
	return strictly(fields, "sequence", claims)
}

func batches(claims, sequence []*resourceapi.ResourceClaim, kept bool) [][]*resourceapi.ResourceClaim {
	if !kept {
		return [][]*resourceapi.ResourceClaim{claims}
	}
	if sequence == nil {
		sequence = claims
	}
	single := make([][]*resourceapi.ResourceClaim, len(sequence))
	for i, claim := range sequence {
		single[i] = []*resourceapi.ResourceClaim{claim}
	}
	return single
}

// decodeNodes returns the named nodes in their order, or the one node where none is named. Of a named
// node only its name is known, unless it is the one that is described.
func decodeNodes(described *corev1.Node, names []string) ([]*corev1.Node, error) {
	if names == nil && described == nil {
		return nil, errors.New("node: is missing: give the node to allocate on, or the names of several in nodes")
	}
	if names == nil {
		return []*corev1.Node{described}, nil
	}
	nodes := make([]*corev1.Node, len(names))
	for i, name := range names {
		if described != nil && described.Name == name {
			nodes[i] = described
			continue
		}
		nodes[i] = &corev1.Node{}
		nodes[i].Name = name
	}
	return nodes, nil
}
