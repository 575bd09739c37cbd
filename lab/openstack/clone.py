"""Copies an ACTIVE server with one port many times, straight in the databases of Nova, Placement and Neutron.

    clone.py <mysql socket> <server id> <count> <name prefix>

The copies are ordinary servers to every API (show, list, ports, floating IPs, stop, delete); only the boot through the
scheduler is left out. Prints them as JSON. Names continue where earlier copies of the same prefix ended.
"""
import ipaddress
import json
import sys
import uuid

import pymysql

socket, source, count, prefix = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
database = pymysql.connect(unix_socket=socket, user='root', cursorclass=pymysql.cursors.DictCursor)
cursor = database.cursor()


def rows(query, *values):
    cursor.execute(query, values)
    return cursor.fetchall()


def insert(table, records):
    if records:
        columns = list(records[0])
        names, marks = ','.join(f'`{c}`' for c in columns), ','.join(['%s'] * len(columns))
        cursor.executemany(f'INSERT INTO {table} ({names}) VALUES ({marks})', [[r[c] for c in columns] for r in records])


port = rows('SELECT * FROM neutron.ports WHERE device_id=%s', source)[0]
address = rows('SELECT * FROM neutron.ipallocations WHERE port_id=%s', port['id'])[0]
attributes = rows('SELECT * FROM neutron.standardattributes WHERE id=%s', port['standard_attr_id'])[0]
subnet = ipaddress.ip_network(rows('SELECT cidr FROM neutron.subnets WHERE id=%s', address['subnet_id'])[0]['cidr'])
used = {r['ip_address'] for r in rows('SELECT ip_address FROM neutron.ipallocations WHERE network_id=%s', address['network_id'])}
free = (str(subnet[i]) for i in range(subnet.num_addresses - 2, 1, -1) if str(subnet[i]) not in used)
# A gap, so that what is made by the API meanwhile gets other numbers.
next_attributes = rows('SELECT MAX(id) m FROM neutron.standardattributes')[0]['m'] + 100000
first = rows('SELECT COUNT(*) c FROM nova_cell1.instances JOIN nova_cell1.instances o ON o.uuid=%s'
             ' WHERE instances.project_id=o.project_id AND instances.display_name LIKE %s', source, prefix + '%')[0]['c']


def copy_of(number):
    server = uuid.uuid4()
    return {'id': str(server), 'port': str(uuid.uuid4()), 'address': next(free), 'name': f'{prefix}{first + number}',
            'mac': 'fa:16:%02x:%02x:%02x:%02x' % tuple(server.bytes[:4]), 'attributes': next_attributes + number}


copies = [copy_of(number) for number in range(count)]


def as_in(value, copy):
    """The value as it is for the copy: identifiers are also inside of JSON."""
    if not isinstance(value, str):
        return value
    value = value.replace(source, copy['id']).replace(port['id'], copy['port']).replace(port['mac_address'], copy['mac'])
    ip = address['ip_address']
    return copy['address'] if value == ip else value.replace(f'"{ip}"', f'"{copy["address"]}"')


def copy_rows(table, column, value, drop=('id',), change=lambda copy: {}):
    for row in rows(f'SELECT * FROM {table} WHERE {column}=%s', value):
        insert(table, [{**{c: as_in(v, copy) for c, v in row.items() if c not in drop}, **change(copy)} for copy in copies])


copy_rows('nova_cell1.instances', 'uuid', source, change=lambda copy: {'display_name': copy['name'], 'hostname': copy['name']})
for table in ('instance_extra', 'instance_info_caches', 'instance_system_metadata', 'instance_metadata', 'virtual_interfaces'):
    copy_rows(f'nova_cell1.{table}', 'instance_uuid', source)
copy_rows('nova_cell1.block_device_mapping', 'instance_uuid', source, change=lambda copy: {'uuid': str(uuid.uuid4())})
copy_rows('nova_cell1.instance_id_mappings', 'uuid', source)
copy_rows('nova_api.instance_mappings', 'instance_uuid', source)
copy_rows('nova_api.request_specs', 'instance_uuid', source)
copy_rows('placement.consumers', 'uuid', source)
copy_rows('placement.allocations', 'consumer_id', source)
insert('neutron.standardattributes', [{**attributes, 'id': copy['attributes']} for copy in copies])
copy_rows('neutron.ports', 'id', port['id'], drop=(), change=lambda copy: {'standard_attr_id': copy['attributes']})
for table in ('ipallocations', 'ml2_port_bindings', 'ml2_port_binding_levels', 'portsecuritybindings', 'securitygroupportbindings'):
    copy_rows(f'neutron.{table}', 'port_id', port['id'], drop=())
copy_rows('neutron.portdnses', 'port_id', port['id'], drop=(), change=lambda copy: {'dns_name': copy['name'], 'current_dns_name': ''})
database.commit()
print(json.dumps([{key: copy[key] for key in ('id', 'name', 'address', 'port')} for copy in copies]))
