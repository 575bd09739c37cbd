//go:build tools

// Package occm names the program that Outrigger's provider for OpenStack is measured and compared with.
package occm

import _ "k8s.io/cloud-provider-openstack/cmd/openstack-cloud-controller-manager"
