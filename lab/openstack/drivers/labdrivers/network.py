"""An ML2 mechanism driver without agents: every port on every host is bound at once, and ACTIVE.

It also reports what the L3 agent would: a floating IP is ACTIVE while it is associated with a port, else DOWN.
And it lets trunks exist, so that servers can have sub-ports.
"""
from neutron.objects import router
from neutron.services.trunk.drivers import base as trunk
from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.callbacks import events
from neutron_lib.callbacks import registry
from neutron_lib.callbacks import resources
from neutron_lib.plugins.ml2 import api
from neutron_lib.services.trunk import constants as trunk_constants


class TrunkDriver(trunk.DriverBase):
    is_loaded = True


class MechanismDriver(api.MechanismDriver):
    connectivity = portbindings.CONNECTIVITY_L2

    def initialize(self):
        for event in (events.AFTER_CREATE, events.AFTER_UPDATE):
            registry.subscribe(self._report_floating_ip, resources.FLOATING_IP, event)
        self._trunks = TrunkDriver('lab', (portbindings.VIF_TYPE_OVS,), (trunk_constants.SEGMENTATION_TYPE_VLAN,),
                                   can_trunk_bound_port=True)

    def bind_port(self, context):
        segment = context.segments_to_bind[0]
        context.set_binding(segment[api.ID], portbindings.VIF_TYPE_OVS, {portbindings.CAP_PORT_FILTER: True},
                            status=constants.PORT_STATUS_ACTIVE)

    def _report_floating_ip(self, resource, event, trigger, payload):
        address = payload.latest_state
        status = constants.FLOATINGIP_STATUS_ACTIVE if address.get('port_id') else constants.FLOATINGIP_STATUS_DOWN
        router.FloatingIP.update_object(payload.context.elevated(), {'status': status},
                                        id=payload.resource_id or address['id'])
