package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An object that a case gives to the cluster: a ConfigMap or a Secret, with its data as text.
type object struct {
	Kind string            `json:"kind"`
	Name string            `json:"name"`
	Data map[string]string `json:"data"`
}

// A cluster with the objects of one case, which can only be read. The other methods of its interface panic.
type cluster struct {
	client.Client
	objects []object
}

func (c cluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := "ConfigMap"
	if _, isSecret := into.(*corev1.Secret); isSecret {
		kind = "Secret"
	}
	for _, found := range c.objects {
		if found.Kind != kind || found.Name != key.Name {
			continue
		}
		switch into := into.(type) {
		case *corev1.ConfigMap:
			into.Data = found.Data
		case *corev1.Secret:
			into.Data = make(map[string][]byte)
			for name, text := range found.Data {
				into.Data[name] = []byte(text)
			}
		default:
			return fmt.Errorf("objects of this kind cannot be read: %T", into)
		}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, key.Name)
}

// A recorder of events that keeps none.
type silentRecorder struct{}

func (silentRecorder) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}
