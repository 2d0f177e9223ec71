#!/usr/bin/env bash
# v2ray 4.34.0 (Debian 12), SOCKS inbound and outbound `freedom`: when a client half-closes its connection, the destination is
# not told. Its FIN comes a second later, as v2ray closes both connections, so a response to the end of a request, as `nc -N`
# sends it, meets a closed connection, and the client gets a clean end without a byte. Expected: the half-close is passed on,
# and the response comes back.
#
# Output seen: responds at once: text
#              responds at the end of the request: nothing
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
  "inbounds": [{ "protocol": "socks", "listen": "127.0.0.1", "port": $port, "settings": { "auth": "noauth" } }],
  "outbounds": [{ "protocol": "freedom" }]
}
JSON
root/usr/bin/v2ray -config config.json >/dev/null &
server=$!

cat >look.py <<'PY'
import socket, struct, sys, threading, time
def connect(port):
    for _ in range(200):
        try:
            return socket.create_connection(('127.0.0.1', port), 20)
        except ConnectionRefusedError:
            time.sleep(0.1)
    sys.exit('v2ray does not listen')
def everything(link):
    data = b''
    while more := link.recv(4096):
        data += more
    return data
for label, at_end in ('at once', False), ('at the end of the request', True):
    destination = socket.create_server(('127.0.0.1', 0))
    destination.settimeout(30)
    def serve():
        link, _ = destination.accept()
        assert (everything(link) if at_end else link.recv(4096)) == b'request'
        link.sendall(b'text')
        link.close()
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    link = connect(int(sys.argv[1]))
    link.sendall(b'\5\1\0')
    assert link.recv(2) == b'\5\0'
    link.sendall(b'\5\1\0\1' + bytes([127, 0, 0, 1]) + struct.pack('>H', destination.getsockname()[1]))
    assert link.recv(10)[:2] == b'\5\0'
    link.sendall(b'request')
    link.shutdown(socket.SHUT_WR)
    print(f'responds {label}:', everything(link).decode() or 'nothing')
    thread.join()
PY
python3 look.py "$port" | tee seen
diff - seen <<'SEEN'
responds at once: text
responds at the end of the request: nothing
SEEN
