"""Nova's own fake hypervisor, with what it lacks outside unit tests.

Its node keeps its identity and its servers when nova-compute is started again, and servers that were put straight into
the database are adopted when they are first asked for.
"""
from nova.compute import power_state
from nova.compute import resource_tracker
from nova.virt import driver
from nova.virt import fake
from nova.virt import node

# The inventory of a fake node never changes, yet the resource tracker sends it to Placement at every claim and reads the
# allocations of every server of the node before that: n requests for the n-th server. Once for each process is enough;
# allocations are made by the scheduler as ever.
_send = resource_tracker.ResourceTracker._update_to_placement


def _send_once(self, context, compute_node, startup):
    sent = self.__dict__.setdefault('_lab_sent', set())
    if startup or compute_node.uuid not in sent:
        _send(self, context, compute_node, startup)
        sent.add(compute_node.uuid)


resource_tracker.ResourceTracker._update_to_placement = _send_once


class LabDriver(fake.FakeDriver):
    vcpus = 100000
    memory_mb = 800000000
    local_gb = 60000000

    def get_nodenames_by_uuid(self, refresh=False):
        return driver.ComputeDriver.get_nodenames_by_uuid(self, refresh)

    def get_available_resource(self, nodename):
        resources = super().get_available_resource(nodename)
        resources['uuid'] = node.get_local_node_uuid()
        return resources

    def _adopt(self, server):
        if (server.uuid not in self.instances and server.vm_state not in (None, 'building', 'deleted')
                and server.task_state not in ('deleting', 'soft-deleting')):
            power = server.power_state or power_state.RUNNING
            self.instances[server.uuid] = fake.FakeInstance(server.name, power, server.uuid)

    def get_info(self, instance, use_cache=True):
        self._adopt(instance)
        return super().get_info(instance, use_cache)

    def power_off(self, instance, *args, **kwargs):
        self._adopt(instance)
        return super().power_off(instance, *args, **kwargs)

    def power_on(self, context, instance, *args, **kwargs):
        self._adopt(instance)
        return super().power_on(context, instance, *args, **kwargs)

    def reboot(self, context, instance, *args, **kwargs):
        self._adopt(instance)
        return super().reboot(context, instance, *args, **kwargs)
