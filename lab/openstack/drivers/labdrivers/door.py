"""Every API as it is, except for a write that is to go wrong.

$LAB_APPLICATION is the module of the API. In the folder $LAB_WRITES a file that is named like a word of a User-Agent makes
the next write with that word go wrong, and is removed then: `refuse` in it answers 501 and does nothing, `lose` does what
was asked and closes the connection without an answer.
"""
import importlib
import os
from urllib.parse import quote

FOLDER = os.environ.get('LAB_WRITES', '')
_real = importlib.import_module(os.environ['LAB_APPLICATION']).application


def _fault(environ):
    if environ['REQUEST_METHOD'] in ('GET', 'HEAD') or environ.get('PATH_INFO', '').endswith('/auth/tokens'):
        return None
    for word in environ.get('HTTP_USER_AGENT', '').split():
        file = os.path.join(FOLDER, quote(word, safe=''))
        try:
            with open(file) as text:
                fault = text.read().strip()
            os.remove(file)
            return fault
        except OSError:
            continue
    return None


def application(environ, start_response):
    fault = _fault(environ)
    if fault is None:
        return _real(environ, start_response)
    if fault == 'refuse':
        start_response('501 Not Implemented', [('Content-Type', 'text/plain')])
        return [b'told to fail']
    answer = _real(environ, lambda *_: lambda _: None)
    for _ in answer:
        pass
    if hasattr(answer, 'close'):
        answer.close()
    # nginx closes the connection at this.
    start_response('599 Lost', [('Content-Type', 'text/plain')])
    return [b'']
