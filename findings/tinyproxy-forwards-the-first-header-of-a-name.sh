#!/usr/bin/env bash
# tinyproxy 1.11.1 (Debian 12): of several header lines of one name the first alone is forwarded, in requests and in
# responses. That is right for none of the fields that lists are made of, and a response that sets two cookies, which cannot
# be joined in one line, sets one. Expected: every line, in its order.
#
# Output seen: the client gets Set-Cookie: a=1
#              the origin gets Accept: text/html
#              the origin gets Cookie: a=1
set -euo pipefail

folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 "$folder"
apt-get download -qq tinyproxy-bin=1.11.1-2.1+deb12u1
dpkg-deb -x tinyproxy-bin_*.deb root
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf '%s\n' "Port $port" 'Listen 127.0.0.1' 'Timeout 30' 'MaxClients 5' 'LogLevel Critical' >tinyproxy.conf
root/usr/bin/tinyproxy -d -c tinyproxy.conf &
server=$!

python3 - "$port" <<'PY' | tee seen
import socket, sys, threading, time
def connect(port):
    for _ in range(200):
        try:
            return socket.create_connection(('127.0.0.1', port), 10)
        except ConnectionRefusedError:
            time.sleep(0.1)
    sys.exit('tinyproxy does not listen')
def head(link):
    data = b''
    while b'\r\n\r\n' not in data:
        data += link.recv(4096) or sys.exit('closed')
    return data.decode().split('\r\n')
origin = socket.create_server(('127.0.0.1', 0))
origin.settimeout(30)
request = []
def serve():
    link, _ = origin.accept()
    request.extend(head(link))
    link.sendall(b'HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n')
    link.close()
threading.Thread(target=serve, daemon=True).start()
link = connect(int(sys.argv[1]))
link.sendall(
    b'GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/html\r\nAccept: text/plain\r\n' % origin.getsockname()[1]
    + b'Cookie: a=1\r\nCookie: b=2\r\n\r\n')
for line in head(link):
    if line.startswith('Set-Cookie:'):
        print('the client gets', line)
for line in sorted(request):
    if line.startswith(('Accept:', 'Cookie:')):
        print('the origin gets', line)
PY
diff - seen <<'SEEN'
the client gets Set-Cookie: a=1
the origin gets Accept: text/html
the origin gets Cookie: a=1
SEEN
