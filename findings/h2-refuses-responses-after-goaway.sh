#!/usr/bin/env bash
# h2 4.4.1 (PyPI, below httpx and hypercorn), client: after GOAWAY the response on a stream that is open raises ProtocolError,
# although the GOAWAY names a last stream that lets it run to its end. So of a server that shuts down gracefully, as RFC 9113,
# section 6.8, describes it, each request under way is lost. The same frames without GOAWAY are a response. Expected: streams
# up to the named one go on.
#
# Output seen: response: ResponseReceived, DataReceived, StreamEnded
#              GOAWAY, response: ConnectionTerminated, ProtocolError
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check --target site h2==4.4.1 hpack==4.2.0 hyperframe==6.1.0
cat >look.py <<'PY'
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.exceptions import ProtocolError
from hpack import Encoder
from hyperframe.frame import DataFrame, GoAwayFrame, HeadersFrame, SettingsFrame

def events(client, frame):
    try:
        return [type(event).__name__ for event in client.receive_data(frame.serialize())]
    except ProtocolError as error:
        return [type(error).__name__]

head = HeadersFrame(1, Encoder().encode([(':status', '200')]), flags=['END_HEADERS'])
body = DataFrame(1, b'text', flags=['END_STREAM'])
goaway = GoAwayFrame(0, last_stream_id=2**31 - 1, error_code=0)
for label, frames in ('response', [head, body]), ('GOAWAY, response', [goaway, head]):
    client = H2Connection(H2Configuration(client_side=True))
    client.initiate_connection()
    client.receive_data(SettingsFrame(0).serialize())
    client.send_headers(
        1,
        [(':method', 'GET'), (':scheme', 'https'), (':path', '/'), (':authority', 'host.test')],
        end_stream=True,
    )
    print(f'{label}:', ', '.join(name for frame in frames for name in events(client, frame)))
PY
PYTHONPATH=site python3 look.py | tee seen
diff - seen <<'SEEN'
response: ResponseReceived, DataReceived, StreamEnded
GOAWAY, response: ConnectionTerminated, ProtocolError
SEEN
