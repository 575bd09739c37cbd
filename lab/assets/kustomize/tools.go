//go:build tools

// Package kustomize pins kustomize, which the lab builds to test the overlays.
package kustomize

import _ "sigs.k8s.io/kustomize/kustomize/v5"
