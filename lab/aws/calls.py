"""One request of a client: who sends it, and what it asks for."""
import json
import re
from urllib.parse import parse_qsl

import models
import signatures

AUTHORIZATION = re.compile(r'AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$')
VERSIONS = {'2016-11-15': 'ec2', '2012-06-01': 'elb', '2015-12-01': 'elbv2', '2011-06-15': 'sts'}
# The lab's own client.
AGENT = 'outrigger-lab'
READS = ('Describe', 'Get', 'List', 'AssumeRole')


class Call:
    def __init__(self, environ, body):
        self.environ, self.body = environ, body
        parts = AUTHORIZATION.match(environ.get('HTTP_AUTHORIZATION', ''))
        self.scope, signed, self.signature = parts.groups() if parts else ('', '', '')
        self.signed_headers = signed.split(';')
        self.key = self.scope.split('/')[0]
        self.agent = environ.get('HTTP_USER_AGENT', '')
        self.is_harness = self.agent.startswith(AGENT)
        if target := environ.get('HTTP_X_AMZ_TARGET', ''):
            prefix, _, self.action = target.rpartition('.')
            self.service, self.params = models.targets().get(prefix, ''), json.loads(body or b'{}')
        else:
            self.params = dict(parse_qsl(body.decode('utf-8', 'replace'), keep_blank_values=True))
            self.action = self.params.pop('Action', '') or f'{environ["REQUEST_METHOD"]} {environ["PATH_INFO"]}'
            self.service = VERSIONS.get(self.params.pop('Version', ''), '')
        # A request without a signature names a role in its account.
        role = re.search(r'::(\d{12}):', self.params.get('RoleArn', ''))
        self.account = signatures.owner(self.key)[0] or (role[1] if role else '')

    @property
    def is_write(self):
        return not self.action.startswith(READS)

    def facts(self):
        return {'account': self.account, 'service': self.service, 'action': self.action, 'params': self.params, 'agent': self.agent,
                'harness': self.is_harness, 'write': self.is_write}

    def error(self, status, code, message):
        if self.environ.get('HTTP_X_AMZ_TARGET'):
            return status, [('Content-Type', 'application/x-amz-json-1.1')], json.dumps({'__type': code, 'message': message}).encode()
        fault = f'<Code>{code}</Code><Message>{message}</Message>'
        text = f'<Response><Errors><Error>{fault}</Error></Errors><RequestID>lab</RequestID></Response>' if self.service == 'ec2' \
            else f'<ErrorResponse><Error><Type>Sender</Type>{fault}</Error><RequestId>lab</RequestId></ErrorResponse>'
        return status, [('Content-Type', 'text/xml')], text.encode()
