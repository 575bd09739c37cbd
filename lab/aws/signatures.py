"""Who sends a request: access keys, and AWS Signature Version 4, which moto does not verify and botocore's signer does."""
import re
from datetime import datetime, timezone

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.sts.models import sts_backends

SECRET = 'lab-secret-access-key'
KEY = re.compile(r'LAB(\d{12})$')
# Requests without a signature: the token in them authenticates them.
UNSIGNED = ('AssumeRoleWithWebIdentity',)
FORMAT = '%Y%m%dT%H%M%SZ'
SKEW = 300


def owner(key):
    """The account, the secret and the session token of an access key."""
    if account := KEY.match(key):
        return account[1], SECRET, ''
    for account, backends in list(sts_backends.items()):
        if role := backends['aws'].get_assumed_role_from_access_key(key):
            return account, role.secret_access_key, role.session_token
    return '', '', ''


def refusal(call):
    """Status, code and message, if the request is not signed as it must be."""
    if call.action in UNSIGNED:
        return None
    if not call.scope:
        return '403 Forbidden', 'MissingAuthenticationToken', 'Request is missing Authentication Token'
    account, secret, token = owner(call.key)
    if not account or token != call.environ.get('HTTP_X_AMZ_SECURITY_TOKEN', ''):
        return denied(call, 'InvalidClientTokenId', 'The security token included in the request is invalid')
    sent = call.environ.get('HTTP_X_AMZ_DATE', '')
    try:
        age = datetime.now(timezone.utc) - datetime.strptime(sent, FORMAT).replace(tzinfo=timezone.utc)
    except ValueError:
        return denied(call, 'IncompleteSignature', f'Date must be in ISO-8601 basic format. Got {sent!r}')
    if abs(age.total_seconds()) > SKEW:
        return '403 Forbidden', 'RequestExpired' if call.service == 'ec2' else 'SignatureDoesNotMatch', f'Signature expired or not yet current: {sent}'
    if signature(call, secret, sent) != call.signature:
        return denied(call, 'SignatureDoesNotMatch', 'The request signature we calculated does not match the signature you provided')
    return None


def denied(call, code, message):
    if call.service == 'ec2':
        return '401 Unauthorized', 'AuthFailure', 'AWS was not able to validate the provided access credentials'
    return '403 Forbidden', code, message


def signature(call, secret, sent):
    environ = call.environ
    _, _, region, service, _ = call.scope.split('/')
    headers = {name: header(environ, name) for name in call.signed_headers}
    query = f'?{environ["QUERY_STRING"]}' if environ.get('QUERY_STRING') else ''
    url = f'http://{environ["HTTP_HOST"]}{environ["PATH_INFO"]}{query}'
    request = AWSRequest(method=environ['REQUEST_METHOD'], url=url, data=call.body, headers=headers)
    request.context['timestamp'] = sent
    signer = SigV4Auth(Credentials(call.key, secret), service, region)
    canonical = signer.canonical_request(request)
    return signer.signature(signer.string_to_sign(request, canonical), request)


def header(environ, name):
    key = name.upper().replace('-', '_')
    return environ.get(key if key in ('CONTENT_TYPE', 'CONTENT_LENGTH') else f'HTTP_{key}', '')
