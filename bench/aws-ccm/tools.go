//go:build tools

// Package awsccm names the programs that Outrigger's provider for AWS is measured and compared with.
package awsccm

import (
	_ "k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager"
	_ "k8s.io/cloud-provider-aws/cmd/ecr-credential-provider"
)
