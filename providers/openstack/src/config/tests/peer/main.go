// What openstack-cloud-controller-manager makes of a cloud.conf, to compare ours with.
//
// Input: files, each after its length (4 bytes, big endian). Output: a line of JSON for each.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/cloud-provider-openstack/pkg/openstack"
	"k8s.io/cloud-provider-openstack/pkg/util/metadata"
)

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		var size uint32
		if binary.Read(in, binary.BigEndian, &size) != nil {
			return
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			panic(err)
		}
		os.Unsetenv("OS_CLIENT_CONFIG_FILE")
		line, err := json.Marshal(answer(string(text)))
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(out, string(line))
	}
}

func answer(text string) (answer map[string]any) {
	defer func() {
		if failure := recover(); failure != nil {
			answer = map[string]any{"failed": "crash"}
		}
	}()
	config, err := openstack.ReadConfig(strings.NewReader(text))
	if err != nil {
		return map[string]any{"failed": "read"}
	}
	if metadata.CheckMetadataSearchOrder(config.Metadata.SearchOrder) != nil {
		return map[string]any{"failed": "check"}
	}
	version := config.LoadBalancer.LBVersion
	if config.LoadBalancer.Enabled && version != "" && version != "v2" {
		return map[string]any{"failed": "check"}
	}
	request, err := request(config)
	if err != nil {
		request = nil
	}
	return map[string]any{"config": show(config), "request": request}
}

// request is what is sent for a token.
func request(config openstack.Config) (any, error) {
	global := config.Global
	options := global.ToAuthOptions()
	if global.TrustID != "" {
		options = global.ToAuth3Options()
		if global.TrusteeID != "" {
			options.UserID = global.TrusteeID
		}
		if global.TrusteePassword != "" {
			options.Password = global.TrusteePassword
		}
		options.Scope.TrustID = global.TrustID
	}
	if options.TokenID != "" && (options.Scope == nil || *options.Scope == gophercloud.AuthScope{}) {
		return nil, fmt.Errorf("a token without a scope cannot be renewed")
	}
	scope, err := options.ToTokenV3ScopeMap()
	if err != nil {
		return nil, err
	}
	return options.ToTokenV3CreateMap(scope)
}

func show(config openstack.Config) map[string]any {
	lb, network := config.LoadBalancer, config.Networking
	classes := map[string]any{}
	for name, class := range config.LoadBalancerClass {
		classes[name] = []string{class.FloatingNetworkID, class.FloatingSubnetID, class.FloatingSubnet,
			class.FloatingSubnetTags, class.NetworkID, class.SubnetID, class.MemberSubnetID}
	}
	return map[string]any{
		"auth-url":         config.Global.AuthURL,
		"region":           config.Global.Region,
		"os-endpoint-type": string(config.Global.EndpointType),
		"insecure":         config.Global.TLSInsecure == "true",
		"flags": []bool{lb.Enabled, lb.CreateMonitor, lb.ManageSecurityGroups, lb.InternalLB, lb.CascadeDelete,
			lb.EnableIngressHostname, lb.ProviderRequiresSerialAPICalls, network.IPv6SupportDisabled},
		"texts": []string{lb.LBProvider, lb.LBMethod, lb.NodeSelector, lb.FlavorID, lb.AvailabilityZone,
			lb.IngressHostnameSuffix, lb.TlsContainerRef, lb.ContainerStore, lb.FloatingNetworkID, lb.FloatingSubnetID,
			lb.FloatingSubnet, lb.FloatingSubnetTags, lb.NetworkID, lb.SubnetID, lb.MemberSubnetID,
			config.Route.RouterID, config.Metadata.SearchOrder},
		"numbers": []int64{int64(lb.MonitorDelay.Seconds()), int64(lb.MonitorTimeout.Seconds()),
			int64(lb.MonitorMaxRetries), int64(lb.MonitorMaxRetriesDown), int64(lb.MaxSharedLB),
			int64(config.Metadata.RequestTimeout.Milliseconds())},
		"public":   append([]string{}, network.PublicNetworkName...),
		"internal": append([]string{}, network.InternalNetworkName...),
		"classes":  classes,
	}
}
