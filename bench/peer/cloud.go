package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/service/helpers"
)

func init() {
	cloudprovider.RegisterCloudProvider("memory", func(config io.Reader) (cloudprovider.Interface, error) {
		lines := bufio.NewScanner(config)
		for lines.Scan() {
			if endpoint, ok := strings.CutPrefix(lines.Text(), "endpoint: "); ok {
				return &cloud{endpoint: strings.TrimSpace(endpoint), client: &http.Client{
					Transport: &http.Transport{MaxIdleConnsPerHost: 100},
				}}, nil
			}
		}
		return nil, fmt.Errorf("the cloud config has no endpoint")
	})
}

// cloud is a client of the memory cloud's server.
type cloud struct {
	endpoint string
	client   *http.Client
}

func (c *cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool)                  { return c, true }
func (c *cloud) Instances() (cloudprovider.Instances, bool)                        { return nil, false }
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool)                    { return c, true }
func (c *cloud) Zones() (cloudprovider.Zones, bool)                                { return nil, false }
func (c *cloud) Clusters() (cloudprovider.Clusters, bool)                          { return nil, false }
func (c *cloud) Routes() (cloudprovider.Routes, bool)                              { return nil, false }
func (c *cloud) ProviderName() string                                              { return "memory" }
func (c *cloud) HasClusterID() bool                                                { return true }

func (c *cloud) call(ctx context.Context, path string, ask, answer any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint+"/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, response.Status, text)
	}
	return json.Unmarshal(text, answer)
}

type address struct {
	Kind    v1.NodeAddressType `json:"kind"`
	Address string             `json:"address"`
}

type instance struct {
	ProviderID   string            `json:"provider_id"`
	InstanceType string            `json:"instance_type"`
	Zone         string            `json:"zone"`
	Region       string            `json:"region"`
	Addresses    []address         `json:"addresses"`
	Labels       map[string]string `json:"labels"`
	Power        string            `json:"power"`
}

// found is the instance of {"Found": instance}; of another answer, which is a string, it is nil.
type found struct {
	instance *instance
}

func (f *found) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return nil
	}
	var answer struct{ Found *instance }
	err := json.Unmarshal(text, &answer)
	f.instance = answer.Found
	return err
}

func (c *cloud) describe(ctx context.Context, node *v1.Node, detail string) (*instance, error) {
	asked := map[string]any{
		"name": node.Name, "addresses": []any{}, "labels": map[string]string{}, "annotations": map[string]string{},
	}
	if node.Spec.ProviderID != "" {
		asked["provider_id"] = node.Spec.ProviderID
	}
	var answers []struct {
		Ok  found
		Err json.RawMessage
	}
	if err := c.call(ctx, "describe", []any{[]any{asked}, detail}, &answers); err != nil {
		return nil, err
	}
	if answers[0].Err != nil {
		return nil, fmt.Errorf("describe %s: %s", node.Name, answers[0].Err)
	}
	return answers[0].Ok.instance, nil
}

func (c *cloud) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	found, err := c.describe(ctx, node, "Liveness")
	return found != nil, err
}

func (c *cloud) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	found, err := c.describe(ctx, node, "Liveness")
	return found != nil && found.Power == "Off", err
}

func (c *cloud) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := c.describe(ctx, node, "Full")
	if err != nil || found == nil {
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID: found.ProviderID, InstanceType: found.InstanceType, Zone: found.Zone, Region: found.Region,
		AdditionalLabels: found.Labels,
	}
	for _, one := range found.Addresses {
		metadata.NodeAddresses = append(metadata.NodeAddresses, v1.NodeAddress{Type: one.Kind, Address: one.Address})
	}
	return metadata, nil
}

type ingress struct {
	IP string `json:"ip"`
}

type status struct {
	Ingress []ingress `json:"ingress"`
}

// progress is {"Done": status}, or {"Pending": …}, which the framework cannot express.
type progress struct {
	Done *status
}

func (s *status) kubernetes() *v1.LoadBalancerStatus {
	result := &v1.LoadBalancerStatus{}
	if s != nil {
		for _, one := range s.Ingress {
			result.Ingress = append(result.Ingress, v1.LoadBalancerIngress{IP: one.IP})
		}
	}
	return result
}

var (
	protocols = map[v1.Protocol]string{v1.ProtocolTCP: "Tcp", v1.ProtocolUDP: "Udp", v1.ProtocolSCTP: "Sctp"}
	families  = map[v1.IPFamily]string{v1.IPv4Protocol: "V4", v1.IPv6Protocol: "V6"}
)

func spec(cluster string, service *v1.Service, nodes []*v1.Node) map[string]any {
	ports := []any{}
	for _, port := range service.Spec.Ports {
		ports = append(ports, map[string]any{
			"name": port.Name, "protocol": protocols[port.Protocol], "port": port.Port, "node_port": port.NodePort,
		})
	}
	hosts := []any{}
	for _, node := range nodes {
		addresses := []address{}
		for _, one := range node.Status.Addresses {
			addresses = append(addresses, address{one.Type, one.Address})
		}
		host := map[string]any{"name": node.Name, "addresses": addresses, "labels": map[string]string{}}
		if node.Spec.ProviderID != "" {
			host["provider_id"] = node.Spec.ProviderID
		}
		hosts = append(hosts, host)
	}
	ipFamilies := []string{}
	for _, family := range service.Spec.IPFamilies {
		ipFamilies = append(ipFamilies, families[family])
	}
	return map[string]any{
		"cluster": cluster,
		"service": map[string]string{"namespace": service.Namespace, "name": service.Name, "uid": string(service.UID)},
		"ports":   ports, "hosts": hosts, "source_ranges": sourceRanges(service), "families": ipFamilies, "traffic": traffic(service),
		"ranges_from": "Default", "affinity": "None", "annotations": map[string]string{}, "bad_ranges": []string{},
		"external_ips": []string{}, "status": map[string]any{"ingress": []any{}},
	}
}

func traffic(service *v1.Service) any {
	if !helpers.RequestsOnlyLocalTraffic(service) {
		return "Cluster"
	}
	local := map[string]any{}
	if _, port := helpers.GetServiceHealthCheckPathPort(service); port != 0 {
		local["health_check_port"] = port
	}
	return map[string]any{"Local": local}
}

// sourceRanges are the ranges that may connect; all, if the Service has an invalid one: nothing here validates it.
func sourceRanges(service *v1.Service) []string {
	ranges, err := helpers.GetLoadBalancerSourceRanges(service)
	if err != nil {
		return []string{"0.0.0.0/0"}
	}
	sorted := ranges.StringSlice()
	sort.Strings(sorted)
	return sorted
}

func (c *cloud) GetLoadBalancer(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	var found *status
	err := c.call(ctx, "find_load_balancer", spec(cluster, service, nil), &found)
	return found.kubernetes(), found != nil, err
}

func (c *cloud) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

func (c *cloud) EnsureLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	var answer progress
	err := c.call(ctx, "ensure_load_balancer", spec(cluster, service, nodes), &answer)
	return answer.Done.kubernetes(), err
}

func (c *cloud) UpdateLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
	return c.call(ctx, "update_hosts", spec(cluster, service, nodes), &progress{})
}

func (c *cloud) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *v1.Service) error {
	return c.call(ctx, "delete_load_balancer", spec(cluster, service, nil), &progress{})
}

var (
	_ cloudprovider.InstancesV2  = &cloud{}
	_ cloudprovider.LoadBalancer = &cloud{}
)
