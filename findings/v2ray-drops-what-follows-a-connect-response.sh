#!/usr/bin/env bash
# v2ray 4.34.0 (Debian 12), outbound `http`: bytes of the tunnel that arrive in one segment with the proxy's response to CONNECT
# are dropped, so a client of a server that speaks first (SMTP, SSH, MySQL) may wait for a greeting that has come. What the
# proxy sends in a segment of its own is passed on. Expected: both are.
#
# Output seen: greeting in the same segment: client gets 'more'
#              greeting in a later segment: client gets 'greeting more'
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 "$folder"
apt-get download -qq v2ray=4.34.0+ds-1
dpkg-deb -x v2ray_*.deb root

cat >look.py <<'PY'
import json, socket, struct, subprocess, sys, threading, time
def connect(port):
    for _ in range(200):
        try:
            return socket.create_connection(('127.0.0.1', port), 20)
        except ConnectionRefusedError:
            time.sleep(0.1)
    sys.exit('v2ray does not listen')
proxy = socket.create_server(('127.0.0.1', 0))
with socket.socket() as free:
    free.bind(('127.0.0.1', 0))
    port = free.getsockname()[1]
upstream = {'address': '127.0.0.1', 'port': proxy.getsockname()[1]}
with open('config.json', 'w') as file:
    json.dump({
        'log': {'loglevel': 'none'},
        'inbounds': [{'protocol': 'socks', 'listen': '127.0.0.1', 'port': port, 'settings': {'auth': 'noauth'}}],
        'outbounds': [{'protocol': 'http', 'settings': {'servers': [upstream]}}],
    }, file)
response = b'HTTP/1.1 200 OK\r\n\r\n'
def serve(segments):
    link, _ = proxy.accept()
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    head = b''
    while b'\r\n\r\n' not in head:
        head += link.recv(4096)
    link.sendall(segments[0])
    # What the client sends arrives once v2ray has read the response.
    link.recv(4096)
    for segment in segments[1:]:
        link.sendall(segment)
    link.close()
program = subprocess.Popen(['root/usr/bin/v2ray', '-config', 'config.json'], stdout=subprocess.DEVNULL)
try:
    for label, segments in (
        ('the same', [response + b'greeting ', b'more']),
        ('a later', [response, b'greeting ', b'more']),
    ):
        threading.Thread(target=serve, args=(segments,), daemon=True).start()
        link = connect(port)
        link.sendall(b'\5\1\0')
        assert link.recv(2) == b'\5\0'
        link.sendall(b'\5\1\0\1' + bytes([192, 0, 2, 1]) + struct.pack('>H', 25))
        assert link.recv(10)[:2] == b'\5\0'
        link.sendall(b'hello')
        seen = b''
        while data := link.recv(4096):
            seen += data
        print(f'greeting in {label} segment: client gets {seen.decode()!r}')
finally:
    program.kill()
PY
python3 look.py | tee seen
diff - seen <<'SEEN'
greeting in the same segment: client gets 'more'
greeting in a later segment: client gets 'greeting more'
SEEN
