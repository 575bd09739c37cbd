"""What AWS does and moto 5.2.5 does not. Most corrections were found by running aws-cloud-controller-manager v1.37.0 or ecr-credential-provider on moto.

- A network load balancer has an ARN `…/net/…` and a host name `….elb.REGION.amazonaws.com`. With moto's names the Go program takes it for a classic one.
  It has the attribute `access_logs.s3.enabled`.
- A classic load balancer has AWS's default health check from the start. Without one the Go program panics.
- A classic load balancer has the attribute `elb.http.desyncmitigationmode` once, and a draining timeout of 300 seconds, from the start.
- A target group of a network load balancer has the attributes `preserve_client_ip.enabled` and `proxy_protocol_v2.enabled`. Without them the Go
  program does not set them.
- CreateTargetGroup with the name and settings of an existing group returns that group.
- CreateLoadBalancer and CreateListener with the settings of an existing load balancer or listener return that one, and with other settings are refused.
  RegisterInstancesWithLoadBalancer adds an instance once. All of it matters when a call is repeated because its answer got lost.
- ModifyListener accepts TLS, UDP and TCP_UDP; a listener that does not encrypt has neither a policy nor certificates.
- The target groups of a load balancer are those of its listeners, also after ModifyListener; none is an empty answer, not an error.
- DeleteLoadBalancerListeners deletes all listeners that it names, and a classic listener has the protocol of its instances.
- AddTags of load balancers, target groups and listeners takes one object at a time.
- A security group that is used by a load balancer, an instance or a rule of another group cannot be deleted.
- An ECR token expires after twelve hours, not in 2015.
"""
from datetime import datetime, timedelta, timezone

from moto.ec2.exceptions import DependencyViolationError
from moto.ec2.models import security_groups
from moto.ecr import responses as registry
from moto.elb import models as classic
from moto.elb.models import elb_backends
from moto.elbv2 import models
from moto.elbv2.exceptions import DuplicateListenerError, DuplicateLoadBalancerName, ValidationError
from moto.elbv2.models import elbv2_backends

ENCRYPTED = ('TLS', 'HTTPS')


def apply():
    name_network_load_balancers()
    give_classic_health_checks()
    give_classic_attributes()
    give_target_group_attributes()
    reuse_target_groups()
    find_target_groups_by_listener()
    accept_network_protocols()
    reuse_load_balancers()
    reuse_listeners()
    register_instances_once()
    delete_all_classic_listeners()
    show_instance_protocols()
    tag_one_at_a_time()
    keep_used_security_groups()
    expire_tokens_later()


def reuse_load_balancers():
    plain = models.ELBv2Backend.create_load_balancer

    def create(self, name, security_groups, subnet_ids, subnet_mappings=None, *args, **kw):
        wanted = set(subnet_ids or []) | {one['SubnetId'] for one in subnet_mappings or []}
        for balancer in self.load_balancers.values():
            if balancer.name == name:
                if {subnet.id for subnet in balancer.subnets} == wanted and set(balancer.security_groups or []) == set(security_groups or []):
                    return balancer
                raise DuplicateLoadBalancerName()
        return plain(self, name, security_groups, subnet_ids, subnet_mappings, *args, **kw)

    models.ELBv2Backend.create_load_balancer = create


def reuse_listeners():
    plain = models.ELBv2Backend.create_listener

    def create(self, load_balancer_arn, protocol, port, ssl_policy, certificate, actions, *args, **kw):
        balancer = self.load_balancers.get(load_balancer_arn)
        for listener in balancer.listeners.values() if balancer else ():
            if str(listener.port) == str(port):
                if listener.protocol == protocol and [action.data for action in listener.default_actions] == actions:
                    return listener
                raise DuplicateListenerError()
        return plain(self, load_balancer_arn, protocol, port, ssl_policy, certificate, actions, *args, **kw)

    models.ELBv2Backend.create_listener = create


def register_instances_once():
    plain = classic.ELBBackend.register_instances

    def register(self, load_balancer_name, instance_ids, from_autoscaling=False):
        known = self.get_load_balancer(load_balancer_name).instance_ids
        return plain(self, load_balancer_name, [one for one in instance_ids if one not in known], from_autoscaling)

    classic.ELBBackend.register_instances = register


def name_network_load_balancers():
    plain = models.ELBv2Backend.create_load_balancer

    def create(self, name, *args, **kw):
        made = plain(self, name, *args, **kw)
        if made.type == 'network':
            old = made.arn
            made.arn = old.replace('/app/', '/net/')
            made.attrs.setdefault('access_logs.s3.enabled', 'false')
            made.dns_name = f'{name}-0123456789abcdef.elb.{self.region_name}.amazonaws.com'
            self.load_balancers[made.arn] = self.load_balancers.pop(old)
            self.tagging_service.tag_resource(made.arn, self.tagging_service.list_tags_for_resource(old)['Tags'])
        return made

    models.ELBv2Backend.create_load_balancer = create


def give_classic_health_checks():
    plain = classic.ELBBackend.create_load_balancer

    def create(self, name, zones, ports, *args, **kw):
        made = plain(self, name, zones, ports, *args, **kw)
        made.health_check = made.health_check or classic.FakeHealthCheck(
            timeout='5', healthy_threshold='10', unhealthy_threshold='2', interval='30', target=f'TCP:{ports[0]["InstancePort"]}')
        return made

    classic.ELBBackend.create_load_balancer = create


def delete_all_classic_listeners():
    def delete(self, name, ports):
        balancer = self.get_load_balancer(name)
        gone = {int(port) for port in ports}
        balancer.listeners = [listener for listener in balancer.listeners if int(listener.load_balancer_port) not in gone]
        return balancer

    classic.ELBBackend.delete_load_balancer_listeners = delete


def show_instance_protocols():
    create, add = classic.ELBBackend.create_load_balancer, classic.ELBBackend.create_load_balancer_listeners

    def note(balancer, ports):
        protocols = {str(port['LoadBalancerPort']): port.get('InstanceProtocol') or port['Protocol'] for port in ports}
        for listener in balancer.listeners:
            wanted = protocols.get(str(listener.load_balancer_port))
            if wanted:
                listener.behind = wanted.upper()
        return balancer

    def created(self, name, zones, ports, *args, **kw):
        return note(create(self, name, zones, ports, *args, **kw), ports)

    def added(self, name, ports):
        return note(add(self, name, ports), ports)

    classic.ELBBackend.create_load_balancer, classic.ELBBackend.create_load_balancer_listeners = created, added
    classic.FakeListener.instance_protocol = property(lambda listener: getattr(listener, 'behind', listener.protocol))


def give_classic_attributes():
    plain_create, plain_modify = classic.ELBBackend.create_load_balancer, classic.ELBBackend.modify_load_balancer_attributes
    defaults = [('elb.http.desyncmitigationmode', 'defensive')]

    def create(self, *args, **kw):
        made = plain_create(self, *args, **kw)
        made.attributes['additional_attributes'] = list(defaults)
        made.attributes['connection_draining'].setdefault('timeout', 300)
        return made

    def modify(self, load_balancer_name, *args, **kw):
        plain_modify(self, load_balancer_name, *args, **kw)
        attributes = self.get_load_balancer(load_balancer_name).attributes
        # moto appends the default at each call.
        attributes['additional_attributes'] = list(dict(attributes['additional_attributes']).items())

    classic.ELBBackend.create_load_balancer, classic.ELBBackend.modify_load_balancer_attributes = create, modify


def give_target_group_attributes():
    plain = models.ELBv2Backend.create_target_group

    def create(self, name, **kw):
        made = plain(self, name, **kw)
        if made.protocol in ('TCP', 'TLS', 'UDP', 'TCP_UDP'):
            made.attributes = {'preserve_client_ip.enabled': 'true', 'proxy_protocol_v2.enabled': 'false', **made.attributes}
        return made

    models.ELBv2Backend.create_target_group = create


def reuse_target_groups():
    plain = models.ELBv2Backend.create_target_group

    def create(self, name, **kw):
        for group in self.target_groups.values():
            same = {'protocol': group.protocol, 'port': str(group.port), 'vpc_id': group.vpc_id, 'healthcheck_protocol': group.health_check_protocol}
            if group.name == name and all(str(kw.get(key) or value) == str(value) for key, value in same.items()):
                return group
        return plain(self, name, **kw)

    models.ELBv2Backend.create_target_group = create


def find_target_groups_by_listener():
    plain = models.ELBv2Backend.describe_target_groups

    def uses(balancer, group):
        return any(group.arn in str(action.data) for listener in balancer.listeners.values() for action in listener.default_actions)

    def describe(self, load_balancer_arn, target_group_arns, names):
        for group in self.target_groups.values():
            group.load_balancer_arns = [arn for arn, balancer in self.load_balancers.items() if uses(balancer, group)]
        if load_balancer_arn in self.load_balancers and not any(load_balancer_arn in group.load_balancer_arns for group in self.target_groups.values()):
            return []
        return plain(self, load_balancer_arn, target_group_arns, names)

    models.ELBv2Backend.describe_target_groups = describe


def accept_network_protocols():
    plain_create, plain_modify = models.ELBv2Backend.create_listener, models.ELBv2Backend.modify_listener

    def plain_text(listener):
        if listener.protocol not in ENCRYPTED:
            listener.ssl_policy, listener.certificate, listener.certificates = None, None, []
        return listener

    def create(self, *args, **kw):
        return plain_text(plain_create(self, *args, **kw))

    def modify(self, arn, port=None, protocol=None, ssl_policy=None, certificates=None, default_actions=None):
        known = protocol if protocol in ('HTTP', 'HTTPS', 'TCP') else None
        changed = plain_modify(self, arn, port, known, ssl_policy, certificates, default_actions)
        changed.protocol = protocol or changed.protocol
        if changed.protocol == 'TLS' and certificates:
            changed.certificates = [one['CertificateArn'] for one in certificates]
            changed.certificate = changed.certificates[0]
        return plain_text(changed)

    models.ELBv2Backend.create_listener, models.ELBv2Backend.modify_listener = create, modify


def tag_one_at_a_time():
    plain = models.ELBv2Backend.add_tags

    def add(self, resource_arns, tags):
        if len(resource_arns) != 1:
            raise ValidationError('Only one resource can be tagged at a time')
        return plain(self, resource_arns, tags)

    models.ELBv2Backend.add_tags = add


def keep_used_security_groups():
    plain = security_groups.SecurityGroupBackend.delete_security_group

    def delete(self, name=None, group_id=None):
        group = self.get_security_group_from_id(group_id) if group_id else self.get_security_group_from_name(name)
        if group and uses_of(self, group.id):
            raise DependencyViolationError(f'resource {group.id} has a dependent object')
        return plain(self, name=name, group_id=group_id)

    security_groups.SecurityGroupBackend.delete_security_group = delete


def uses_of(ec2, group):
    network, old = (backends[ec2.account_id][ec2.region_name] for backends in (elbv2_backends, elb_backends))
    balancers = [*network.load_balancers.values(), *old.load_balancers.values()]
    uses = [balancer.name for balancer in balancers if group in (balancer.security_groups or [])]
    # moto keeps the interfaces of terminated instances.
    running = [instance for instance in ec2.all_instances() if instance.state != 'terminated']
    uses += [instance.id for instance in running for nic in instance.nics.values() if group in [one.id for one in nic.group_set]]
    others = (other for groups in ec2.groups.values() for other in groups.values() if other.id != group)
    return uses + [other.id for other in others if any(rule.source_group.get('GroupId') == group for rule in other.ingress_rules)]


def expire_tokens_later():
    plain = registry.ECRResponse.get_authorization_token

    def token(self):
        answer = plain(self)
        for entry in answer.result['authorizationData']:
            entry['expiresAt'] = datetime.now(timezone.utc) + timedelta(hours=12)
        return answer

    registry.ECRResponse.get_authorization_token = token
