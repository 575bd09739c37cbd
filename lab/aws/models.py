"""Whether a call and its answer are as the service models of botocore describe them."""
import gzip
import json
import os
import re
from functools import cache
from xml.etree import ElementTree

import botocore
from botocore.model import ServiceModel
from botocore.utils import parse_timestamp
from botocore.validate import ParamValidator


@cache
def model(service):
    """By the folder in botocore: ec2, elb, elbv2, sts, ecr, ecr-public."""
    folder = os.path.join(os.path.dirname(botocore.__file__), 'data', service)
    with gzip.open(os.path.join(folder, sorted(os.listdir(folder))[-1], 'service-2.json.gz')) as file:
        return ServiceModel(json.load(file), service)


@cache
def targets():
    """The folder for each prefix of X-Amz-Target."""
    return {model(service).metadata['targetPrefix']: service for service in ('ecr', 'ecr-public')}


def problems(call):
    """What is wrong with one recorded call; each begins with its action."""
    if call['harness']:
        return []
    if call['service'] not in ('ec2', 'elb', 'elbv2', 'sts', 'ecr', 'ecr-public'):
        return [f'{call["action"]}: no service has this action']
    service = model(call['service'])
    if call['action'] not in service.operation_names:
        return [f'{call["action"]}: {call["service"]} has no such action']
    operation = service.operation_model(call['action'])
    found = in_request(service.metadata['protocol'], operation.input_shape, call['params'])
    if call['status'] < 300:
        found += in_answer(service.metadata['protocol'], operation.output_shape, call['answer'])
    return [f'{call["action"]}: {one}' for one in found]


def in_request(protocol, shape, params):
    if protocol == 'json':
        value, found = params, [f'unknown parameter {name}' for name in params if name not in shape.members]
    else:
        reader = Reader(protocol, params)
        value = reader.structure(shape, '') if shape else {}
        found = reader.problems + [f'unknown parameter {key}' for key in params if key not in reader.used]
    report = ParamValidator().validate(value, shape) if shape else None
    return found + (report.generate_report().splitlines() if report and report.has_errors() else [])


class Reader:
    """Reads the parameters of a form by the shape that they must have."""

    def __init__(self, protocol, params):
        self.protocol, self.params, self.used, self.problems = protocol, params, set(), []

    def read(self, shape, key):
        return {'structure': self.structure, 'list': self.list}.get(shape.type_name, self.scalar)(shape, key)

    def has(self, key):
        return any(name == key or name.startswith(f'{key}.') for name in self.params)

    def structure(self, shape, prefix):
        keys = {name: f'{prefix}.{self.name(name, member)}'.removeprefix('.') for name, member in shape.members.items()}
        return {name: self.read(shape.members[name], key) for name, key in keys.items() if self.has(key)}

    def name(self, name, member):
        wire = member.serialization
        if self.protocol != 'ec2':
            return wire.get('name', name)
        return wire.get('queryName') or (wire['name'][0].upper() + wire['name'][1:] if 'name' in wire else name)

    def list(self, shape, key):
        if self.protocol != 'ec2' and self.params.get(key) == '':
            # An empty list, which removes what was there.
            self.used.add(key)
            return []
        if self.protocol != 'ec2' and not shape.serialization.get('flattened'):
            key = f'{key}.{shape.member.serialization.get("name", "member")}'
        values, number = [], 1
        while self.has(f'{key}.{number}'):
            values.append(self.read(shape.member, f'{key}.{number}'))
            number += 1
        return values

    def scalar(self, shape, key):
        self.used.add(key)
        text = self.params.get(key)
        if text is None:
            self.problems.append(f'{key} must be a {shape.type_name}')
            return text
        if (allowed := getattr(shape, 'enum', None)) and text not in allowed:
            self.problems.append(f'{key} is {text!r}, not one of {", ".join(allowed)}')
        try:
            return converted(shape.type_name, text)
        except ValueError:
            self.problems.append(f'{key} is {text!r}, which is not of type {shape.type_name}')
            return text


def converted(kind, text):
    if kind in ('integer', 'long'):
        return int(text)
    if kind in ('float', 'double'):
        return float(text)
    if kind == 'boolean':
        return {'true': True, 'false': False}.get(text) if text in ('true', 'false') else int('not a boolean')
    return parse_timestamp(text) if kind == 'timestamp' else text


def in_answer(protocol, shape, text):
    if protocol == 'json':
        return list(in_json(shape, json.loads(text), ''))
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return [f'the answer is not XML: {error}']
    wrapper = shape.serialization.get('resultWrapper') if shape else None
    if wrapper and (root := next((child for child in root if tag(child) == wrapper), None)) is None:
        return [f'the answer has no {wrapper}']
    ignored = ('requestId', 'RequestId', 'ResponseMetadata')
    return list(in_element(shape, root, '', ignored)) if shape else []


def tag(element):
    return re.sub('^{.*}', '', element.tag)


def in_element(shape, element, path, ignored=()):
    if shape.type_name == 'structure':
        members = {}
        for name, member in shape.members.items():
            flat = member.type_name == 'list' and member.serialization.get('flattened')
            members[(member.member if flat else member).serialization.get('name') or member.serialization.get('name', name)] = member.member if flat else member
        for child in element:
            if tag(child) in members:
                yield from in_element(members[tag(child)], child, f'{path}.{tag(child)}')
            elif tag(child) not in ignored:
                yield f'the answer has an unknown element {path}.{tag(child)}'
    elif shape.type_name == 'list':
        expected = shape.member.serialization.get('name', 'member')
        for child in element:
            if tag(child) != expected:
                yield f'the answer has {path}.{tag(child)} in place of {expected}'
            else:
                yield from in_element(shape.member, child, path)
    else:
        yield from in_scalar(shape, (element.text or '').strip(), path)


def in_json(shape, value, path):
    if shape.type_name == 'structure':
        for name, one in value.items():
            if name in shape.members:
                yield from in_json(shape.members[name], one, f'{path}.{name}')
            else:
                yield f'the answer has an unknown member {path}.{name}'
    elif shape.type_name == 'list':
        for one in value:
            yield from in_json(shape.member, one, path)
    else:
        yield from in_scalar(shape, str(value), path)


def in_scalar(shape, text, path):
    try:
        converted(shape.type_name, text)
    except ValueError:
        yield f'the answer has {path} {text!r}, which is not a {shape.type_name}'
