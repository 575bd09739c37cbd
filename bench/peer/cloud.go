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
		return nil, fmt.Errorf("the cloud config names no endpoint")
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
	Type    v1.NodeAddressType `json:"type"`
	Address string             `json:"address"`
}

type instance struct {
	ProviderID   string            `json:"providerID"`
	InstanceType string            `json:"instanceType"`
	Zone         string            `json:"zone"`
	Region       string            `json:"region"`
	Addresses    []address         `json:"addresses"`
	Labels       map[string]string `json:"labels"`
	Power        string            `json:"power"`
}

func (c *cloud) describe(ctx context.Context, node *v1.Node, detail string) (*instance, error) {
	asked := map[string]any{"name": node.Name}
	if node.Spec.ProviderID != "" {
		asked["providerID"] = node.Spec.ProviderID
	}
	var answers struct {
		Answers []struct {
			Status   string          `json:"status"`
			Instance *instance       `json:"instance"`
			Error    json.RawMessage `json:"error"`
		} `json:"answers"`
	}
	if err := c.call(ctx, "describe", map[string]any{"detail": detail, "nodes": []any{asked}}, &answers); err != nil {
		return nil, err
	}
	answer := answers.Answers[0]
	if answer.Status == "error" {
		return nil, fmt.Errorf("describe %s: %s", node.Name, answer.Error)
	}
	return answer.Instance, nil
}

func (c *cloud) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	found, err := c.describe(ctx, node, "liveness")
	return found != nil, err
}

func (c *cloud) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	found, err := c.describe(ctx, node, "liveness")
	return found != nil && found.Power == "off", err
}

func (c *cloud) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := c.describe(ctx, node, "full")
	if err != nil || found == nil {
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID: found.ProviderID, InstanceType: found.InstanceType, Zone: found.Zone, Region: found.Region,
		AdditionalLabels: found.Labels,
	}
	for _, one := range found.Addresses {
		metadata.NodeAddresses = append(metadata.NodeAddresses, v1.NodeAddress{Type: one.Type, Address: one.Address})
	}
	return metadata, nil
}

type ingress struct {
	IP string `json:"ip"`
}

type outcome struct {
	Status  string    `json:"status"`
	Ingress []ingress `json:"ingress"`
}

func (o outcome) status() *v1.LoadBalancerStatus {
	status := &v1.LoadBalancerStatus{}
	for _, one := range o.Ingress {
		status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: one.IP})
	}
	return status
}

func spec(cluster string, service *v1.Service, nodes []*v1.Node) map[string]any {
	ports := []any{}
	for _, port := range service.Spec.Ports {
		ports = append(ports, map[string]any{"name": port.Name, "protocol": port.Protocol, "port": port.Port, "nodePort": port.NodePort})
	}
	hosts := []any{}
	for _, node := range nodes {
		host := map[string]any{"name": node.Name}
		if node.Spec.ProviderID != "" {
			host["providerID"] = node.Spec.ProviderID
		}
		addresses := []address{}
		for _, one := range node.Status.Addresses {
			addresses = append(addresses, address{one.Type, one.Address})
		}
		host["addresses"] = addresses
		hosts = append(hosts, host)
	}
	asked := map[string]any{
		"cluster": cluster,
		"service": map[string]string{"namespace": service.Namespace, "name": service.Name, "uid": string(service.UID)},
		"ports":   ports, "hosts": hosts, "sourceRanges": sourceRanges(service), "families": service.Spec.IPFamilies,
	}
	if helpers.RequestsOnlyLocalTraffic(service) {
		asked["traffic"] = "Local"
	}
	if _, port := helpers.GetServiceHealthCheckPathPort(service); port != 0 {
		asked["healthCheckPort"] = port
	}
	return map[string]any{"spec": asked}
}

// sourceRanges says who may connect; a Service that is wrong about it lets everybody in, as nothing here validates it.
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
	var answer outcome
	err := c.call(ctx, "load-balancers/find", spec(cluster, service, nil), &answer)
	return answer.status(), answer.Status == "found", err
}

func (c *cloud) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

func (c *cloud) EnsureLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	var answer outcome
	err := c.call(ctx, "load-balancers/ensure", spec(cluster, service, nodes), &answer)
	return answer.status(), err
}

func (c *cloud) UpdateLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
	return c.call(ctx, "load-balancers/update-hosts", spec(cluster, service, nodes), &outcome{})
}

func (c *cloud) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *v1.Service) error {
	return c.call(ctx, "load-balancers/delete", spec(cluster, service, nil), &outcome{})
}

var (
	_ cloudprovider.InstancesV2  = &cloud{}
	_ cloudprovider.LoadBalancer = &cloud{}
)
