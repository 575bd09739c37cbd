module outrigger.dev/lab/openshift

go 1.25.0

require (
	github.com/openshift/api v0.0.0-20260715165912-72066cc9718b
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
