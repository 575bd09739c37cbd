//go:build tools

// Package vsphereccm names the program that Outrigger's provider for vSphere is compared with.
package vsphereccm

import (
	_ "k8s.io/cloud-provider-vsphere/cmd/vsphere-cloud-controller-manager"
)
