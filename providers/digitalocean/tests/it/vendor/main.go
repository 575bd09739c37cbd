// The vendor's own client and types, to hold our requests and the fake's answers to.
//
// "decode": every line of the input is an exchange; its request and its answer must decode into the vendor's types, with unknown fields
// refused. "drive URL TOKEN": the vendor's client uses the fake.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/digitalocean/godo"
)

type exchange struct {
	Route    string
	Request  json.RawMessage
	Status   int
	Response json.RawMessage
}

type refusal struct {
	ID        string `json:"id"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
}

type page struct {
	Links *godo.Links `json:"links"`
	Meta  *godo.Meta  `json:"meta"`
}

// A fresh value of the type of the request, and of the answer.
func types(route string) (any, any) {
	type lb struct {
		LoadBalancer *godo.LoadBalancer `json:"load_balancer"`
	}
	type firewall struct {
		Firewall *godo.Firewall `json:"firewall"`
	}
	switch route {
	case "GET /v2/account":
		return nil, &struct {
			Account *godo.Account `json:"account"`
		}{}
	case "GET /v2/regions":
		return nil, &struct {
			Regions []godo.Region `json:"regions"`
			page
		}{}
	case "GET /v2/droplets":
		return nil, &struct {
			Droplets []godo.Droplet `json:"droplets"`
			page
		}{}
	case "GET /v2/droplets/*":
		return nil, &struct {
			Droplet *godo.Droplet `json:"droplet"`
		}{}
	case "GET /v2/load_balancers":
		return nil, &struct {
			LoadBalancers []godo.LoadBalancer `json:"load_balancers"`
			page
		}{}
	case "GET /v2/load_balancers/*":
		return nil, &lb{}
	case "POST /v2/load_balancers", "PUT /v2/load_balancers/*":
		return &godo.LoadBalancerRequest{}, &lb{}
	case "GET /v2/certificates":
		return nil, &struct {
			Certificates []godo.Certificate `json:"certificates"`
			page
		}{}
	case "GET /v2/certificates/*":
		return nil, &struct {
			Certificate *godo.Certificate `json:"certificate"`
		}{}
	case "GET /v2/firewalls":
		return nil, &struct {
			Firewalls []godo.Firewall `json:"firewalls"`
			page
		}{}
	case "GET /v2/firewalls/*":
		return nil, &firewall{}
	case "POST /v2/firewalls", "PUT /v2/firewalls/*":
		return &godo.FirewallRequest{}, &firewall{}
	case "GET /v2/tags":
		return nil, &struct {
			Tags []godo.Tag `json:"tags"`
			page
		}{}
	case "POST /v2/tags":
		return &godo.TagCreateRequest{}, &struct {
			Tag *godo.Tag `json:"tag"`
		}{}
	case "POST /v2/tags/*/resources":
		return &godo.TagResourcesRequest{}, nil
	case "DELETE /v2/load_balancers/*", "DELETE /v2/firewalls/*", "GET /metadata/v1/region":
		return nil, nil
	}
	return unknown{}, nil
}

type unknown struct{}

func strict(text json.RawMessage, into any) error {
	if into == nil {
		if len(text) > 0 && string(text) != "null" {
			return fmt.Errorf("there should be no body: %s", text)
		}
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func decode() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	seen := map[string]int{}
	for lines.Scan() {
		var one exchange
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return err
		}
		request, response := types(one.Route)
		if _, is := request.(unknown); is {
			return fmt.Errorf("no types for %q", one.Route)
		}
		if one.Status >= 400 {
			response = &refusal{}
		}
		if err := strict(one.Request, request); err != nil {
			return fmt.Errorf("%s: request: %w: %s", one.Route, err, one.Request)
		}
		if err := strict(one.Response, response); err != nil {
			return fmt.Errorf("%s: answer %d: %w: %s", one.Route, one.Status, err, one.Response)
		}
		seen[one.Route]++
	}
	for route, count := range seen {
		fmt.Printf("%s: %d\n", route, count)
	}
	return lines.Err()
}

func drive(url, token string) error {
	ctx := context.Background()
	client := godo.NewFromToken(token)
	if err := godo.SetBaseURL(url + "/")(client); err != nil {
		return err
	}
	account, _, err := client.Account.Get(ctx)
	if err != nil {
		return err
	}
	fmt.Println("account", account.Status)
	regions, _, err := client.Regions.List(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Println("regions", regions[0].Slug)
	var ids []int
	options := &godo.ListOptions{PerPage: 2}
	for {
		droplets, response, err := client.Droplets.List(ctx, options)
		if err != nil {
			return err
		}
		for _, droplet := range droplets {
			address, err := droplet.PrivateIPv4()
			if err != nil || address == "" {
				return fmt.Errorf("droplet %d has no private address: %v", droplet.ID, err)
			}
			ids = append(ids, droplet.ID)
		}
		if response.Links == nil || response.Links.IsLastPage() {
			break
		}
		current, err := response.Links.CurrentPage()
		if err != nil {
			return err
		}
		options.Page = current + 1
	}
	fmt.Println("droplets", len(ids))
	if _, response, err := client.Droplets.Get(ctx, 1); err == nil || response.StatusCode != 404 {
		return fmt.Errorf("droplet 1 exists: %v", err)
	}
	balancer, _, err := client.LoadBalancers.Create(ctx, &godo.LoadBalancerRequest{
		Name: "driven", Region: regions[0].Slug, Tags: []string{"driven"}, DropletIDs: ids,
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 30080}},
	})
	if err != nil {
		return err
	}
	fmt.Println("created", balancer.Status)
	if balancer, _, err = client.LoadBalancers.Get(ctx, balancer.ID); err != nil {
		return err
	}
	fmt.Println("then", balancer.Status, balancer.IP != "", balancer.Tags)
	change := balancer.AsRequest()
	change.SizeSlug = ""
	change.ForwardingRules = append(change.ForwardingRules, godo.ForwardingRule{
		EntryProtocol: "udp", EntryPort: 53, TargetProtocol: "udp", TargetPort: 30053,
	})
	if balancer, _, err = client.LoadBalancers.Update(ctx, balancer.ID, change); err != nil {
		return err
	}
	fmt.Println("rules", len(balancer.ForwardingRules))
	change.ForwardingRules = nil
	if _, response, err := client.LoadBalancers.Update(ctx, balancer.ID, change); err == nil || response.StatusCode != 422 {
		return fmt.Errorf("a load balancer without rules was accepted: %v", err)
	}
	if _, err = client.Tags.TagResources(ctx, "driven", &godo.TagResourcesRequest{
		Resources: []godo.Resource{{ID: balancer.ID, Type: godo.LoadBalancerResourceType}},
	}); err != nil {
		return err
	}
	balancers, _, err := client.LoadBalancers.List(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Println("load balancers", len(balancers))
	if _, err = client.LoadBalancers.Delete(ctx, balancer.ID); err != nil {
		return err
	}
	return driveFirewall(ctx, client)
}

func driveFirewall(ctx context.Context, client *godo.Client) error {
	tag, _, err := client.Tags.Create(ctx, &godo.TagCreateRequest{Name: "nodes"})
	if err != nil {
		return err
	}
	request := &godo.FirewallRequest{Name: "driven", Tags: []string{tag.Name}, InboundRules: []godo.InboundRule{{
		Protocol: "tcp", PortRange: "30080", Sources: &godo.Sources{Addresses: []string{"0.0.0.0/0"}},
	}}}
	firewall, _, err := client.Firewalls.Create(ctx, request)
	if err != nil {
		return err
	}
	request.InboundRules = nil
	if firewall, _, err = client.Firewalls.Update(ctx, firewall.ID, request); err != nil {
		return err
	}
	fmt.Println("firewall", firewall.Status, len(firewall.InboundRules))
	certificates, _, err := client.Certificates.ListByName(ctx, "www", nil)
	if err != nil {
		return err
	}
	certificate, _, err := client.Certificates.Get(ctx, certificates[0].ID)
	if err != nil {
		return err
	}
	fmt.Println("certificate", certificate.Type)
	_, err = client.Firewalls.Delete(ctx, firewall.ID)
	return err
}

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "decode":
		err = decode()
	case len(os.Args) == 4 && os.Args[1] == "drive":
		err = drive(strings.TrimSuffix(os.Args[2], "/"), os.Args[3])
	default:
		err = fmt.Errorf("decode, or drive URL TOKEN")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
