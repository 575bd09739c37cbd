"""An Octavia provider without a data plane.

Every call leaves its objects PENDING_*, as a real provider does, and some time later settles them through Octavia's own
updater: PENDING_CREATE and PENDING_UPDATE become ACTIVE, what is PENDING_DELETE goes. In the folder $LAB_BALANCERS
  delay            is how many seconds later,
  delays/<name>    the same for the load balancer of that name,
  failures/<name>  if it is there, makes its next change end in ERROR; it is removed then.
"""
import os
import threading
import time
from urllib.parse import quote

from octavia.api.drivers.driver_agent import driver_updater
from octavia.common import constants as c
from octavia.db import api as db_api
from octavia.db import models
from octavia_lib.api.drivers import provider_base
from oslo_log import log as logging

LOG = logging.getLogger(__name__)
FOLDER = os.environ.get('LAB_BALANCERS', '')


def _delay(name):
    for file in (os.path.join('delays', quote(name, safe='')), 'delay'):
        try:
            with open(os.path.join(FOLDER, file)) as text:
                return float(text.read())
        except (OSError, ValueError):
            continue
    return 0.2


def _should_fail(name):
    try:
        os.remove(os.path.join(FOLDER, 'failures', quote(name, safe='')))
        return True
    except OSError:
        return False


def _pending(balancer_id):
    """The name of a balancer with a change under way.

    The provider is called before the API commits that change: until then there is nothing to settle.
    """
    for _ in range(400):
        session = db_api.get_session()
        with session.begin():
            balancer = session.get(models.LoadBalancer, balancer_id)
            if balancer is not None and balancer.provisioning_status.startswith('PENDING_'):
                return balancer.name or ''
        time.sleep(0.05)
    return None


def _changes(balancer, cascade, failing):
    """What the updater is to be told: the new status of everything that is pending."""
    changes = {kind: [] for kind in (c.LOADBALANCERS, c.LISTENERS, c.POOLS, c.MEMBERS, c.HEALTHMONITORS,
                                     c.L7POLICIES, c.L7RULES)}
    everything_goes = cascade and balancer.provisioning_status == c.PENDING_DELETE

    def settle(kind, thing, operating):
        status = thing.provisioning_status
        if failing and status.startswith('PENDING_'):
            changes[kind].append({'id': thing.id, c.PROVISIONING_STATUS: c.ERROR, c.OPERATING_STATUS: c.ERROR})
        elif not failing and (everything_goes or status == c.PENDING_DELETE):
            changes[kind].append({'id': thing.id, c.PROVISIONING_STATUS: c.DELETED})
        elif status.startswith('PENDING_'):
            changes[kind].append({'id': thing.id, c.PROVISIONING_STATUS: c.ACTIVE, c.OPERATING_STATUS: operating})

    for listener in balancer.listeners:
        for policy in listener.l7policies:
            for rule in policy.l7rules:
                settle(c.L7RULES, rule, c.ONLINE)
            settle(c.L7POLICIES, policy, c.ONLINE)
        settle(c.LISTENERS, listener, c.ONLINE if listener.enabled else c.OFFLINE)
    for pool in balancer.pools:
        for member in pool.members:
            settle(c.MEMBERS, member, c.ONLINE if pool.health_monitor else c.NO_MONITOR)
        if pool.health_monitor:
            settle(c.HEALTHMONITORS, pool.health_monitor, c.ONLINE)
        settle(c.POOLS, pool, c.ONLINE)
    settle(c.LOADBALANCERS, balancer, c.ONLINE if balancer.enabled else c.OFFLINE)
    return changes


def _settle(balancer_id, cascade, failing):
    session = db_api.get_session()
    with session.begin():
        balancer = session.get(models.LoadBalancer, balancer_id)
        if balancer is None or balancer.provisioning_status == c.DELETED:
            return True
        changes = _changes(balancer, cascade, failing)
    answer = driver_updater.DriverUpdater().update_loadbalancer_status(changes)
    if answer.get('status_code') != 200:
        LOG.error('lab provider: %s', answer)
    return answer.get('status_code') == 200


def _later(balancer_id, cascade=False):
    def run():
        name = _pending(balancer_id)
        if name is None:
            return
        time.sleep(_delay(name))
        failing = _should_fail(name)
        for _ in range(20):
            try:
                if _settle(balancer_id, cascade, failing):
                    return
            except Exception:
                LOG.exception('lab provider cannot settle %s', balancer_id)
            time.sleep(0.2)
    threading.Thread(target=run, daemon=True).start()


def _balancer_of(model, thing_id):
    session = db_api.get_session()
    with session.begin():
        return session.get(model, thing_id).load_balancer_id


def _in_listener(listener_id):
    _later(_balancer_of(models.Listener, listener_id))


def _in_pool(pool_id):
    _later(_balancer_of(models.Pool, pool_id))


def _in_policy(policy_id):
    session = db_api.get_session()
    with session.begin():
        listener_id = session.get(models.L7Policy, policy_id).listener_id
    _in_listener(listener_id)


class ProviderDriver(provider_base.ProviderDriver):
    # create_vip_port is not implemented: the Octavia API then makes a real Neutron port itself.

    def loadbalancer_create(self, loadbalancer):
        _later(loadbalancer.loadbalancer_id)

    def loadbalancer_delete(self, loadbalancer, cascade=False):
        _later(loadbalancer.loadbalancer_id, cascade)

    def loadbalancer_failover(self, loadbalancer_id):
        _later(loadbalancer_id)

    def loadbalancer_update(self, old_loadbalancer, new_loadbalancer):
        _later(old_loadbalancer.loadbalancer_id)

    def listener_create(self, listener):
        _later(listener.loadbalancer_id)

    def listener_delete(self, listener):
        _in_listener(listener.listener_id)

    def listener_update(self, old_listener, new_listener):
        _in_listener(old_listener.listener_id)

    def pool_create(self, pool):
        _later(pool.loadbalancer_id)

    def pool_delete(self, pool):
        _in_pool(pool.pool_id)

    def pool_update(self, old_pool, new_pool):
        _in_pool(old_pool.pool_id)

    def member_create(self, member):
        _in_pool(member.pool_id)

    def member_delete(self, member):
        _in_pool(member.pool_id)

    def member_update(self, old_member, new_member):
        _in_pool(old_member.pool_id)

    def member_batch_update(self, pool_id, members):
        _in_pool(pool_id)

    def health_monitor_create(self, healthmonitor):
        _in_pool(healthmonitor.pool_id)

    def health_monitor_delete(self, healthmonitor):
        _in_pool(healthmonitor.pool_id)

    def health_monitor_update(self, old_healthmonitor, new_healthmonitor):
        _in_pool(old_healthmonitor.pool_id)

    def l7policy_create(self, l7policy):
        _in_listener(l7policy.listener_id)

    def l7policy_delete(self, l7policy):
        _in_listener(l7policy.listener_id)

    def l7policy_update(self, old_l7policy, new_l7policy):
        _in_listener(old_l7policy.listener_id)

    def l7rule_create(self, l7rule):
        _in_policy(l7rule.l7policy_id)

    def l7rule_delete(self, l7rule):
        _in_policy(l7rule.l7policy_id)

    def l7rule_update(self, old_l7rule, new_l7rule):
        _in_policy(old_l7rule.l7policy_id)

    def get_supported_flavor_metadata(self):
        return {'lab': 'accepted and ignored'}

    def validate_flavor(self, flavor_metadata):
        pass

    def get_supported_availability_zone_metadata(self):
        return {'lab': 'accepted and ignored'}

    def validate_availability_zone(self, availability_zone_metadata):
        pass
