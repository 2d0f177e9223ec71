#!/usr/bin/env bash
# v2ray 4.34.0 (Debian 12), HTTP inbound: of a response that begins with an interim one (100, 102, 103), the interim one is
# sent on with headers of the proxy, which then ends the connection. The response itself never comes, so a server that sends
# Early Hints, or a client that asks for `100-continue`, gets nothing through it. Expected: interim responses are sent on, or
# left out, and the final one follows.
#
# Output seen: 200: HTTP/1.1 200 OK, end
#              103, 200: HTTP/1.1 103 Early Hints, end
set -euo pipefail

folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 "$folder"
apt-get download -qq v2ray=4.34.0+ds-1
dpkg-deb -x v2ray_*.deb root
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >config.json <<JSON
{
  "log": { "loglevel": "none" },
  "inbounds": [{ "protocol": "http", "listen": "127.0.0.1", "port": $port }],
  "outbounds": [{ "protocol": "freedom" }]
}
JSON
root/usr/bin/v2ray -config config.json >/dev/null &
server=$!

cat >look.py <<'PY'
import re, socket, sys, threading, time
def connect(port):
    for _ in range(200):
        try:
            return socket.create_connection(('127.0.0.1', port), 20)
        except ConnectionRefusedError:
            time.sleep(0.1)
    sys.exit('v2ray does not listen')
final = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
for label, response in ('200', final), ('103, 200', b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n' + final):
    origin = socket.create_server(('127.0.0.1', 0))
    origin.settimeout(30)
    def serve():
        link, _ = origin.accept()
        head = b''
        while b'\r\n\r\n' not in head:
            head += link.recv(4096)
        link.sendall(response)
        link.recv(1)
    threading.Thread(target=serve, daemon=True).start()
    link = connect(int(sys.argv[1]))
    link.sendall(b'GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' % origin.getsockname()[1])
    seen = b''
    while data := link.recv(4096):
        seen += data
    print(f'{label}:', ', '.join([*re.findall(r'HTTP/1\.1 [^\r]+', seen.decode()), 'end']))
PY
python3 look.py "$port" | tee seen
diff - seen <<'SEEN'
200: HTTP/1.1 200 OK, end
103, 200: HTTP/1.1 103 Early Hints, end
SEEN
