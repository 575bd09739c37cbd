// A vCenter on loopback: govmomi's simulator behind a proxy that counts calls, counts sessions and injects faults.
//
//	vcenter ADDRESS CONTROL CERTIFICATE KEY INVENTORY
//
// The inventory is JSON: {"Datacenters": 2, "Clusters": 1, "Hosts": 1, "Tags": [{"Category": "zone", "Tag": "a", "Path": "/DC0"}]}.
// The user is "user" with the password "pass". The control address speaks plain HTTP:
//
//	POST /create            a machine, as JSON; answers with its ID
//	POST /change?name=N     changes what the JSON has: UUID, Hostname, Power, Nics, NoTools, Template, Connection, Options, GuestID
//	POST /delete?name=N     deletes the machine; it is a success if it does not exist
//	POST /fault             the next Count calls of Method go wrong, as Kind says
//	POST /delay?ms=N        every call takes this much longer
//	POST /password?value=P  changes the password
//	POST /expire            ends all sessions without a word
//	GET  /calls             the number of calls by SOAP method or REST path since the last reset
//	POST /reset             forgets calls, faults and delays
//	GET  /sessions          the number of sessions that were opened and not ended
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator" // tags
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"
)

type nic struct {
	Network string
	IPs     []string
	Device  int32 // -1 is an interface of the guest
}

type machine struct {
	Name, UUID, Hostname, Power, Connection, GuestID string
	Datacenter, Cluster                              int
	Nics                                             []nic
	NoTools                                          bool
	Template                                         *bool
	Options                                          map[string]string
}

type inventory struct {
	Datacenters, Clusters, Hosts int
	Tags                         []struct{ Category, Tag, Path string }
}

type fault struct {
	Method string // a SOAP method or a REST path; empty: any
	Kind   string // "status 503", "truncate", "huge", or the type of a SOAP fault
	Count  int
}

type lab struct {
	model    *simulator.Model
	client   *govmomi.Client
	finder   *find.Finder
	machines sync.Map // by name

	lock    sync.Mutex
	calls   map[string]int
	faults  []*fault
	delay   time.Duration
	open    map[string]bool
	expired map[string]bool
}

var (
	methodPattern = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)
	cookiePattern = regexp.MustCompile(`vmware_soap_session="?([^";]+)`)
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (l *lab) change(target *simulator.VirtualMachine, v machine) {
	l.model.Map().WithLock(l.model.Service.Context, target.Self, func() {
		if v.UUID != "" {
			target.Config.Uuid, target.Summary.Config.Uuid = v.UUID, v.UUID
		}
		if v.GuestID != "" {
			target.Config.GuestId, target.Summary.Config.GuestId = v.GuestID, v.GuestID
		}
		if v.Power != "" {
			target.Runtime.PowerState = types.VirtualMachinePowerState(v.Power)
			target.Summary.Runtime.PowerState = target.Runtime.PowerState
		}
		if v.Connection != "" {
			target.Runtime.ConnectionState = types.VirtualMachineConnectionState(v.Connection)
			target.Summary.Runtime.ConnectionState = target.Runtime.ConnectionState
		}
		if v.Template != nil {
			target.Config.Template, target.Summary.Config.Template = *v.Template, *v.Template
		}
		if v.Hostname != "" {
			target.Guest.HostName, target.Summary.Guest.HostName = v.Hostname, v.Hostname
		}
		for key, value := range v.Options {
			target.Config.ExtraConfig = append(target.Config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
		}
		if v.NoTools {
			target.Guest.Net, target.Guest.IpAddress, target.Guest.HostName = nil, "", ""
			target.Summary.Guest.IpAddress, target.Summary.Guest.HostName = "", ""
			target.Guest.ToolsRunningStatus = "guestToolsNotRunning"
		}
		if v.Nics != nil {
			target.Guest.Net = nil
		}
		for i, n := range v.Nics {
			device := n.Device
			if device == 0 {
				device = int32(4000 + i)
			}
			if i == 0 && len(n.IPs) > 0 {
				target.Guest.IpAddress, target.Summary.Guest.IpAddress = n.IPs[0], n.IPs[0]
			}
			target.Guest.Net = append(target.Guest.Net, types.GuestNicInfo{
				Network: n.Network, Connected: true, DeviceConfigId: device, IpAddress: n.IPs,
			})
		}
	})
}

func (l *lab) create(ctx context.Context, v machine) (string, error) {
	datacenter, err := l.finder.Datacenter(ctx, fmt.Sprintf("DC%d", v.Datacenter))
	if err != nil {
		return "", err
	}
	folders, err := datacenter.Folders(ctx)
	if err != nil {
		return "", err
	}
	pool, err := l.finder.ResourcePool(ctx, fmt.Sprintf("/DC%d/host/DC%d_C%d/Resources", v.Datacenter, v.Datacenter, v.Cluster))
	if err != nil {
		return "", err
	}
	spec := types.VirtualMachineConfigSpec{
		Name: v.Name, GuestId: "otherGuest", NumCPUs: 2, MemoryMB: 4096,
		Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
	}
	task, err := folders.VmFolder.CreateVM(ctx, spec, pool, nil)
	if err != nil {
		return "", err
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		return "", err
	}
	reference := info.Result.(types.ManagedObjectReference)
	target := l.model.Map().Get(reference).(*simulator.VirtualMachine)
	if v.Power == "" {
		v.Power = string(types.VirtualMachinePowerStatePoweredOn)
	}
	l.change(target, v)
	l.machines.Store(v.Name, target)
	return reference.Value, nil
}

func (l *lab) destroy(ctx context.Context, name string) error {
	found, ok := l.machines.LoadAndDelete(name)
	if !ok {
		return nil
	}
	machine := object.NewVirtualMachine(l.client.Client, found.(*simulator.VirtualMachine).Self)
	if task, err := machine.PowerOff(ctx); err == nil {
		_ = task.Wait(ctx) // it may be off already
	}
	task, err := machine.Destroy(ctx)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

func (l *lab) attach(ctx context.Context, w inventory) {
	session := rest.NewClient(l.client.Client)
	must(session.Login(ctx, url.UserPassword("user", "pass")))
	manager := tags.NewManager(session)
	categories, created := map[string]string{}, map[string]string{}
	var err error
	for _, t := range w.Tags {
		if categories[t.Category] == "" {
			categories[t.Category], err = manager.CreateCategory(ctx, &tags.Category{Name: t.Category, Cardinality: "MULTIPLE"})
			must(err)
		}
		key := t.Category + "/" + t.Tag
		if created[key] == "" {
			created[key], err = manager.CreateTag(ctx, &tags.Tag{Name: t.Tag, CategoryID: categories[t.Category]})
			must(err)
		}
		found, err := l.finder.ManagedObjectList(ctx, t.Path)
		must(err)
		if len(found) == 0 {
			log.Fatalf("nothing at %s", t.Path)
		}
		for _, f := range found {
			must(manager.AttachTag(ctx, created[key], f.Object.Reference()))
		}
	}
	must(session.Logout(ctx))
}

// next is the fault that a call meets, if any.
func (l *lab) next(name string) string {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.calls[name]++
	for _, f := range l.faults {
		if f.Count > 0 && (f.Method == "" || f.Method == name) {
			f.Count--
			return f.Kind
		}
	}
	return ""
}

func soapFault(out http.ResponseWriter, kind string) {
	out.Header().Set("Content-Type", "text/xml; charset=utf-8")
	out.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(out, `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>
<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>injected</faultstring>
<detail><%sFault xmlns="urn:vim25" xsi:type="%s"></%sFault></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`, kind, kind, kind)
}

// serve is the front: every call of a program under test comes through it.
func (l *lab) serve(proxy http.Handler) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		name := r.Method + " " + r.URL.Path
		if r.URL.Path == "/sdk" && r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			if found := methodPattern.FindSubmatch(body); found != nil {
				name = string(found[1])
			}
		}
		kind := l.next(name)
		l.lock.Lock()
		delay := l.delay
		session := ""
		if found := cookiePattern.FindStringSubmatch(r.Header.Get("Cookie")); found != nil {
			session = found[1]
		}
		expired := l.expired[session] || l.expired[r.Header.Get("vmware-api-session-id")]
		l.lock.Unlock()
		time.Sleep(delay)
		if expired {
			r.Header.Del("Cookie")
			r.Header.Del("vmware-api-session-id")
			if name == "Logout" {
				kind = "NotAuthenticated"
			}
		}
		var status int
		switch {
		case kind == "":
		case kind == "truncate" || kind == "huge":
			recorder := &recorded{header: http.Header{}}
			proxy.ServeHTTP(recorder, r)
			body := recorder.body.Bytes()
			out.Header().Set("Content-Type", "text/xml; charset=utf-8")
			if kind == "truncate" {
				out.Write(body[:len(body)/2])
				return
			}
			out.Write(body)
			out.Write(bytes.Repeat([]byte(" "), 80<<20))
			return
		case scan(kind, &status):
			http.Error(out, "injected", status)
			return
		default:
			soapFault(out, kind)
			return
		}
		recorder := &recorded{header: out.Header(), to: out}
		proxy.ServeHTTP(recorder, r)
		l.account(name, session, r, recorder)
	}
}

func scan(kind string, status *int) bool {
	_, err := fmt.Sscanf(kind, "status %d", status)
	return err == nil
}

// account counts sessions.
func (l *lab) account(name, session string, r *http.Request, answer *recorded) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if answer.status >= 300 {
		return
	}
	switch {
	case name == "Login" || name == "CloneSession":
		if found := cookiePattern.FindStringSubmatch(answer.header.Get("Set-Cookie")); found != nil {
			l.open[found[1]] = true
		}
	case name == "Logout":
		delete(l.open, session)
	case strings.HasSuffix(name, "/rest/com/vmware/cis/session"):
		if r.Method == http.MethodDelete {
			delete(l.open, r.Header.Get("vmware-api-session-id"))
			return
		}
		var opened struct{ Value string }
		if json.Unmarshal(answer.body.Bytes(), &opened) == nil && opened.Value != "" {
			l.open[opened.Value] = true
		}
	}
}

// recorded keeps an answer, and passes it on if it has somewhere to go.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
	to     http.ResponseWriter
}

func (r *recorded) Header() http.Header { return r.header }

func (r *recorded) WriteHeader(status int) {
	r.status = status
	if r.to != nil {
		r.to.WriteHeader(status)
	}
}

func (r *recorded) Write(body []byte) (int, error) {
	if r.body.Len() < 1<<20 || r.to == nil {
		r.body.Write(body)
	}
	if r.to != nil {
		return r.to.Write(body)
	}
	return len(body), nil
}

func (l *lab) control(w http.ResponseWriter, r *http.Request) error {
	switch r.URL.Path {
	case "/create":
		var v machine
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
			return err
		}
		id, err := l.create(r.Context(), v)
		fmt.Fprint(w, id)
		return err
	case "/change":
		var v machine
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
			return err
		}
		found, ok := l.machines.Load(r.FormValue("name"))
		if !ok {
			return fmt.Errorf("no machine %q", r.FormValue("name"))
		}
		l.change(found.(*simulator.VirtualMachine), v)
		return nil
	case "/delete":
		return l.destroy(r.Context(), r.FormValue("name"))
	case "/password":
		l.model.Service.Listen.User = url.UserPassword("user", r.FormValue("value"))
		return nil
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	switch r.URL.Path {
	case "/fault":
		f := new(fault)
		err := json.NewDecoder(r.Body).Decode(f)
		l.faults = append(l.faults, f)
		return err
	case "/delay":
		delay, err := time.ParseDuration(r.FormValue("ms") + "ms")
		l.delay = delay
		return err
	case "/expire":
		for session := range l.open {
			l.expired[session] = true
		}
		l.open = map[string]bool{}
		return nil
	case "/calls":
		return json.NewEncoder(w).Encode(l.calls)
	case "/reset":
		l.calls, l.faults, l.delay = map[string]int{}, nil, 0
		return nil
	case "/sessions":
		return json.NewEncoder(w).Encode(len(l.open))
	}
	return fmt.Errorf("no such path %s", r.URL.Path)
}

func main() {
	var w inventory
	file, err := os.Open(os.Args[5])
	must(err)
	must(json.NewDecoder(file).Decode(&w))
	ctx := context.Background()
	model := simulator.VPX()
	model.Datacenter, model.Cluster, model.ClusterHost, model.Host, model.Machine = w.Datacenters, w.Clusters, w.Hosts, 0, 0
	must(model.Create())
	model.Service.TLS = new(tls.Config)
	model.Service.RegisterEndpoints = true
	model.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword("user", "pass")}
	server := model.Service.NewServer()
	client, err := govmomi.NewClient(ctx, server.URL, true)
	must(err)
	l := &lab{
		model: model, client: client, finder: find.NewFinder(client.Client),
		calls: map[string]int{}, open: map[string]bool{}, expired: map[string]bool{},
	}
	l.attach(ctx, w)

	go func() {
		must(http.ListenAndServe(os.Args[2], http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			if err := l.control(out, r); err != nil {
				http.Error(out, err.Error(), http.StatusBadRequest)
			}
		})))
	}()
	proxy := &httputil.ReverseProxy{
		Director:  func(r *http.Request) { r.URL.Scheme, r.URL.Host = "https", server.URL.Host },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 64},
	}
	front := &http.Server{Addr: os.Args[1], Handler: l.serve(proxy)}
	fmt.Println("ready")
	must(front.ListenAndServeTLS(os.Args[3], os.Args[4]))
}
