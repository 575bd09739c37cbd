"""moto's server with AWS's behaviour where moto differs, and a record of every call.

    server.py PORT FOLDER

- Every call is one JSON line in FOLDER/calls.json, written before its answer is sent.
- Calls of the programs under test take FOLDER/delay seconds more, if that file exists.
- An access key ID is `LAB` and the twelve digits of an account; its secret is SECRET. Accounts have nothing in common. Signatures are verified.
- The lab's own requests are below /lab: `call` (any operation, through boto3), `fault` (the next calls go wrong), `forget` (an instance was
  terminated an hour ago), `check` (all calls, against the service models of botocore). POST /moto-api/reset deletes everything.
"""
import io
import json
import os
import socket
import sys
import threading
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from moto.ec2 import ec2_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

import calls
import corrections
import models
import more
import signatures

PORT, FOLDER = int(sys.argv[1]), sys.argv[2]
REGION = 'us-east-1'


class Server:
    def __init__(self):
        self.moto, self.lock = DomainDispatcherApplication(create_backend_app), threading.Lock()
        self.log = open(os.path.join(FOLDER, 'calls.json'), 'a', buffering=1)
        self.clients, self.faults = {}, []

    def __call__(self, environ, start):
        environ['lab.began'] = time.time()
        body = environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0))
        path = environ['PATH_INFO']
        if path.startswith('/lab/'):
            return self.own(path.removeprefix('/lab/'), json.loads(body or b'{}'), start)
        environ['wsgi.input'] = io.BytesIO(body)
        if path.startswith('/moto-api'):
            return self.moto(environ, start)
        return self.api(environ, body, start)

    def api(self, environ, body, start):
        call = calls.Call(environ, body)
        environ['HTTP_X_MOTO_ACCOUNT_ID'] = call.account
        if not call.is_harness:
            time.sleep(self.delay())
        fault = self.fault(call) if not call.is_harness else None
        if refusal := signatures.refusal(call):
            status, headers, data = call.error(*refusal)
        elif fault and fault['kind'] == 'refuse':
            status, headers, data = call.error(fault['status'], fault['code'], 'a fault that a test asked for')
        else:
            status, headers, data = more.answer(call) or self.forward(environ)
        self.record(call, environ, status, data)
        if fault and fault['kind'] != 'refuse':
            return cut(environ, start, status, headers, data, fault['kind'])
        start(status, headers)
        return [data]

    def forward(self, environ):
        answer = []
        data = b''.join(self.moto(environ, lambda status, headers, exc=None: answer.extend((status, headers))))
        return answer[0], answer[1], data

    def delay(self):
        try:
            return float(open(os.path.join(FOLDER, 'delay')).read())
        except FileNotFoundError:
            return 0

    def record(self, call, environ, status, data):
        line = {'start': environ['lab.began'], 'end': time.time(), 'status': int(status.split()[0]), 'answer': data.decode('utf-8', 'replace'), **call.facts()}
        with self.lock:
            self.log.write(json.dumps(line) + '\n')

    def fault(self, call):
        with self.lock:
            for fault in self.faults:
                if fault['account'] == call.account and (call.is_write if fault['action'] == 'writes' else call.action == fault['action']):
                    fault['times'] -= 1
                    if not fault['times']:
                        self.faults.remove(fault)
                    return fault

    def own(self, what, request, start):
        try:
            answer, status = getattr(self, f'own_{what}')(**request), '200 OK'
        except ClientError as error:
            answer, status = {'error': error.response['Error']}, '400 Bad Request'
        except Exception as error:  # A mistake in a test is reported to that test.
            answer, status = {'error': {'Code': type(error).__name__, 'Message': str(error)}}, '500 Internal Server Error'
        start(status, [('Content-Type', 'application/json')])
        return [json.dumps(answer, default=str).encode()]

    def own_call(self, account, service, operation, arguments):
        with self.lock:
            if (account, service) not in self.clients:
                # The first client of a service reads its model, which is not safe in two threads.
                self.clients[account, service] = boto3.client(
                    service, region_name=REGION, endpoint_url=f'http://127.0.0.1:{PORT}',
                    aws_access_key_id=f'LAB{account}', aws_secret_access_key=signatures.SECRET, config=Config(user_agent=calls.AGENT))
            client = self.clients[account, service]
        method = boto3.session.botocore.xform_name(operation)
        answer = getattr(client, method)(**arguments)
        answer.pop('ResponseMetadata', None)
        return answer

    def own_fault(self, **fault):
        with self.lock:
            self.faults.append(fault)

    def own_forget(self, account, instance):
        ec2 = ec2_backends[account][REGION]
        if instance in (one.id for one in ec2.all_instances()):
            ec2.terminate_instances([instance])
            for reservation in ec2.reservations.values():
                reservation.instances = [one for one in reservation.instances if one.id != instance]

    def own_check(self, account):
        with open(os.path.join(FOLDER, 'calls.json')) as lines:
            calls = [json.loads(line) for line in lines]
        return [problem for call in calls if call['account'] == account for problem in models.problems(call)]


def cut(environ, start, status, headers, data, kind):
    """The call is done, and the connection ends before the whole answer was sent."""
    start(status, [header for header in headers if header[0].lower() != 'content-length'] + [('Content-Length', str(len(data)))])
    if kind == 'truncate':
        yield data[:len(data) // 2]
    environ['werkzeug.socket'].shutdown(socket.SHUT_RDWR)


if __name__ == '__main__':
    corrections.apply()
    run_simple('127.0.0.1', PORT, Server(), threaded=True)
