"""Operations that moto does not have, as AWS answers them."""
import json
import re
import time
from base64 import b64encode

from moto.ec2 import ec2_backends

# The instance types that AWS has a network topology for.
PLACED = re.compile(r'(hpc|trn|p)\d')
TOPOLOGY = '<DescribeInstanceTopologyResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>lab</requestId><instanceSet>{}</instanceSet></DescribeInstanceTopologyResponse>'


def answer(call):
    """Status, headers and body, if it is such an operation."""
    known = {('ec2', 'DescribeInstanceTopology'): topology, ('ecr-public', 'GetAuthorizationToken'): public_token}
    find = known.get((call.service, call.action))
    return find(call) if find else None


def topology(call):
    ids = [value for key, value in call.params.items() if key.startswith('InstanceId.')]
    region = call.scope.split('/')[2]
    instances = ec2_backends[call.account][region].all_instances()
    items = (f'<item><instanceId>{one.id}</instanceId><instanceType>{one.instance_type}</instanceType><networkNodeSet>'
             f'<item>nn-1</item><item>nn-2</item><item>nn-3</item></networkNodeSet><availabilityZone>{one.placement.zone}</availabilityZone></item>'
             for one in instances if one.id in ids and PLACED.match(one.instance_type))
    return '200 OK', [('Content-Type', 'text/xml')], TOPOLOGY.format(''.join(items)).encode()


def public_token(call):
    token = b64encode(f'AWS:{call.account}-public-token'.encode()).decode()
    body = {'authorizationData': {'authorizationToken': token, 'expiresAt': time.time() + 12 * 3600}}
    return '200 OK', [('Content-Type', 'application/x-amz-json-1.1')], json.dumps(body).encode()
