//! One account: what exists in it, and what its owner does.

use crate::{CLUSTER, Limit, REGION, ec2::groups::Group, elb, elb_v2, throttle::Buckets};
use fakecloud::{Ids, Now, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

/// The zones, and in each a public and a private subnet.
pub const ZONES: [&str; 3] = ["a", "b", "c"];

/// Tags of one object.
pub type Tags = BTreeMap<String, String>;

/// What takes time, and the limits.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long after its creation an instance or a load balancer is not shown yet.
    pub visible_after: Duration,
    /// How long a network load balancer is in state `provisioning`.
    pub provisioning: Duration,
    /// How long a target is shown as draining after it was deregistered.
    pub draining: Duration,
    /// How long the network interfaces of a deleted load balancer use its security groups.
    pub releasing: Duration,
    /// How often an action may be called; without an entry, as often as one likes.
    pub limits: BTreeMap<String, Limit>,
    /// How many rules a security group may have.
    pub rules: usize,
    /// How many targets a target group may have.
    pub targets: usize,
    /// How many target groups the region may have.
    pub target_groups: usize,
    /// How many routes a route table may have.
    pub routes: usize,
    /// The free addresses of each subnet.
    pub free_addresses: usize,
}

/// With AWS's own limits, and without delays.
impl Default for Settings {
    fn default() -> Self {
        Self {
            visible_after: Duration::ZERO,
            provisioning: Duration::ZERO,
            draining: Duration::ZERO,
            releasing: Duration::ZERO,
            limits: BTreeMap::new(),
            rules: 60,
            targets: 500,
            target_groups: 3000,
            routes: 50,
            free_addresses: 250,
        }
    }
}

/// The state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// It is off.
    Stopped,
    /// It is gone, and EC2 still shows it.
    Terminated,
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Its ID.
    pub id: String,
    /// Its private DNS name, which is the name of its Node.
    pub name: String,
    /// Its private address.
    pub address: String,
    /// Its zone.
    pub zone: String,
    /// Its type.
    pub kind: String,
    /// Its state.
    pub state: State,
    pub(crate) subnet: String,
    pub(crate) groups: Vec<String>,
    pub(crate) forwards: bool,
    pub(crate) shown_from: Instant,
}

impl Machine {
    /// As the cloud controller manager writes it.
    pub fn provider_id(&self) -> String {
        format!("aws:///{}/{}", self.zone, self.id)
    }
}

#[derive(Debug, Clone)]
pub struct Subnet {
    pub id: String,
    pub zone: String,
    pub cidr: String,
}

#[derive(Debug, Clone)]
pub struct RouteTable {
    pub id: String,
    pub subnets: Vec<String>,
    /// Whether subnets without a table of their own use it.
    pub main: bool,
    /// As answers have them.
    pub routes: Vec<Value>,
}

/// The state of an account.
#[derive(Debug)]
pub struct Account {
    /// What takes time, and the limits.
    pub settings: Settings,
    pub(crate) ids: Ids,
    pub(crate) vpc: String,
    pub(crate) subnets: Vec<Subnet>,
    pub(crate) tables: Vec<RouteTable>,
    pub(crate) groups: BTreeMap<String, Group>,
    pub(crate) machines: BTreeMap<String, Machine>,
    booted: usize,
    /// The ID of an instance that is not terminated, by its private DNS name.
    pub(crate) by_name: BTreeMap<String, String>,
    /// The tags of every object, by its ID, its ARN or, of classic load balancers, its name.
    pub(crate) tags: BTreeMap<String, Tags>,
    pub(crate) network: BTreeMap<String, elb_v2::Balancer>,
    pub(crate) target_groups: BTreeMap<String, elb_v2::targets::TargetGroup>,
    pub(crate) classic: BTreeMap<String, elb::Classic>,
    /// Security groups that deleted load balancers still use, and until when.
    pub(crate) lingering: Vec<(String, Instant)>,
    pub(crate) buckets: Buckets,
}

/// With the network of a cluster: a VPC, a public and a private subnet in each zone, a route table, and a security group of the nodes.
impl Default for Account {
    fn default() -> Self {
        let mut account = Self {
            settings: Settings::default(),
            ids: Ids::default(),
            vpc: String::new(),
            subnets: Vec::new(),
            tables: Vec::new(),
            groups: BTreeMap::new(),
            machines: BTreeMap::new(),
            booted: 0,
            by_name: BTreeMap::new(),
            tags: BTreeMap::new(),
            network: BTreeMap::new(),
            target_groups: BTreeMap::new(),
            classic: BTreeMap::new(),
            lingering: Vec::new(),
            buckets: Buckets::default(),
        };
        account.vpc = account.id("vpc");
        account.build_network();
        account
    }
}

impl Account {
    /// Starts instances of a type; they are in the zones in turn.
    pub fn boot(&mut self, kind: &str, count: usize, now: Now) -> Vec<Machine> {
        (0..count).map(|_| self.boot_named(None, kind, now)).collect()
    }

    /// Starts an instance with this private DNS name, or with one after its address.
    pub fn boot_named(&mut self, name: Option<&str>, kind: &str, now: Now) -> Machine {
        self.booted += 1;
        let number = self.booted;
        let address = format!("10.{}.{}.{}", 64 + number / 62500, number / 250 % 250, number % 250 + 4);
        let public: Vec<&Subnet> = self
            .subnets
            .iter()
            .filter(|subnet| self.is_public(&subnet.id))
            .collect();
        let subnet = public[number % public.len()].clone();
        let machine = Machine {
            id: self.id("i"),
            name: name.map_or_else(
                || format!("ip-{}.ec2.internal", address.replace('.', "-")),
                str::to_owned,
            ),
            address,
            zone: subnet.zone,
            kind: kind.to_owned(),
            state: State::Running,
            subnet: subnet.id,
            groups: vec![self.node_group()],
            forwards: false,
            shown_from: now.instant + self.settings.visible_after,
        };
        self.tag(&machine.id, [(cluster_tag(), "owned".to_owned())]);
        self.by_name.insert(machine.name.clone(), machine.id.clone());
        self.machines.insert(machine.id.clone(), machine.clone());
        machine
    }

    /// Changes the state of an instance, if it exists. A terminated one has no name any more, and its routes become black holes.
    pub fn set_state(&mut self, id: &str, state: State) {
        let Some(machine) = self.machines.get_mut(id) else {
            return;
        };
        machine.state = state;
        if state == State::Terminated {
            self.by_name.remove(&machine.name);
            let routes = self.tables.iter_mut().flat_map(|table| &mut table.routes);
            for route in routes.filter(|route| route["instanceId"] == id) {
                route["state"] = "blackhole".into();
            }
        }
    }

    /// Terminates an instance, and lets the hour pass for which EC2 shows it.
    pub fn forget(&mut self, id: &str) {
        self.set_state(id, State::Terminated);
        self.machines.remove(id);
        self.tags.remove(id);
    }

    /// All instances that EC2 shows, in the order of their creation.
    pub fn machines(&self) -> Vec<&Machine> {
        self.machines.values().collect()
    }

    /// Sets tags of an object: an ID, an ARN, or the name of a classic load balancer.
    pub fn tag(&mut self, id: &str, tags: impl IntoIterator<Item = (String, String)>) {
        self.tags.entry(id.to_owned()).or_default().extend(tags);
    }

    /// The tags of an object.
    pub fn tags_of(&self, id: &str) -> Tags {
        self.tags.get(id).cloned().unwrap_or_default()
    }

    /// The VPC and the first public subnet.
    pub(crate) fn place(&self) -> (String, String) {
        (self.vpc.clone(), self.subnets[0].id.clone())
    }

    /// The security group of the nodes.
    pub fn node_group(&self) -> String {
        let node = self.groups.values().find(|group| group.name == "nodes");
        node.map(|group| group.id.clone()).unwrap_or_default()
    }

    pub(crate) fn id(&mut self, kind: &str) -> String {
        format!("{kind}-{:017x}", self.ids.number())
    }

    pub(crate) fn is_public(&self, subnet: &str) -> bool {
        let own = self
            .tables
            .iter()
            .find(|table| table.subnets.iter().any(|id| id == subnet));
        let table = own.or_else(|| self.tables.iter().find(|table| table.main));
        let leads_out = |route: &Value| route["gatewayId"].as_str().is_some_and(|id| id.starts_with("igw-"));
        table.is_some_and(|table| table.routes.iter().any(leads_out))
    }

    fn build_network(&mut self) {
        let mut public = Vec::new();
        for (third, role) in [(0, "elb"), (100, "internal-elb")] {
            for (number, zone) in ZONES.iter().enumerate() {
                let id = self.id("subnet");
                let role = (format!("kubernetes.io/role/{role}"), "1".to_owned());
                self.tag(&id, [(cluster_tag(), "owned".to_owned()), role]);
                public.extend((third == 0).then(|| id.clone()));
                self.subnets.push(Subnet {
                    id,
                    zone: format!("{REGION}{zone}"),
                    cidr: format!("10.0.{}.0/24", third + number),
                });
            }
        }
        let (main, table, gateway) = (self.id("rtb"), self.id("rtb"), self.id("igw"));
        self.tag(&table, [(cluster_tag(), "owned".to_owned())]);
        let local = json!({"destinationCidrBlock": "10.0.0.0/8", "gatewayId": "local", "state": "active"});
        let out = json!({"destinationCidrBlock": "0.0.0.0/0", "gatewayId": gateway, "state": "active"});
        let tables = [
            (main, vec![], true, vec![local.clone()]),
            (table, public, false, vec![local, out]),
        ];
        self.tables = tables
            .map(|(id, subnets, main, routes)| RouteTable {
                id,
                subnets,
                main,
                routes,
            })
            .into();
        let id = self.id("sg");
        self.tag(&id, [(cluster_tag(), "owned".to_owned())]);
        self.groups.insert(id.clone(), Group::new(id, "nodes", "nodes"));
    }

    /// The security groups that something uses, and therefore cannot be deleted.
    pub(crate) fn used_groups(&self, now: Now) -> BTreeSet<String> {
        let alive = self
            .machines
            .values()
            .filter(|machine| machine.state != State::Terminated);
        let machines = alive.flat_map(|machine| machine.groups.iter().cloned());
        let network = self
            .network
            .values()
            .flat_map(|balancer| texts(&balancer.fields["SecurityGroups"]));
        let classic = self
            .classic
            .values()
            .flat_map(|balancer| texts(&balancer.fields["SecurityGroups"]));
        let lingering = self
            .lingering
            .iter()
            .filter(|(_, until)| *until > now.instant)
            .map(|(id, _)| id.clone());
        let others = self.groups.values().flat_map(Group::sources);
        machines
            .chain(network)
            .chain(classic)
            .chain(lingering)
            .chain(others)
            .collect()
    }

    /// From now on the groups of a deleted load balancer are used for a while only.
    pub(crate) fn linger(&mut self, fields: &Value, now: Now) {
        let until = now.instant + self.settings.releasing;
        self.lingering
            .extend(texts(&fields["SecurityGroups"]).map(|id| (id, until)));
    }
}

pub fn cluster_tag() -> String {
    format!("kubernetes.io/cluster/{CLUSTER}")
}

pub fn texts(value: &Value) -> impl Iterator<Item = String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned))
}
