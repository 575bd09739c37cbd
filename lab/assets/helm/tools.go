//go:build tools

// Package helm pins Helm, which the lab builds to test the chart.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
