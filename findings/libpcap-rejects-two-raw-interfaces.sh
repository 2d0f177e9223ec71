#!/usr/bin/env bash
# libpcap 1.10.3 (Debian 12, with tcpdump 4.99.3), reading pcapng: a file with two interfaces of LINKTYPE_RAW (101), each
# described alike, ends with an error at the second one. Two interfaces of LINKTYPE_LOOP (108) are read, and so is one of
# 101. The number in the file is compared with DLT_RAW (12), to which it was translated for the first interface.
# Expected: what two interfaces have in common is compared before it is translated, and the file is read.
#
# Output seen: tcpdump: pcap_loop: an interface has a type 101 different from the type of the first interface
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 "$folder"
apt-get download -qq tcpdump=4.99.3-1 libpcap0.8=1.10.3-1
for package in *.deb; do dpkg-deb -x "$package" root; done
libraries=$(dirname root/usr/lib/*/libpcap.so.0.8)

# write FILE LINKTYPE INTERFACES: one packet for each interface, an IPv4 header alone.
write() {
  python3 - "$@" <<'PY'
import struct, sys
path, linktype, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def block(kind, body):
    size = 12 + len(body)
    return struct.pack('>II', kind, size) + body + struct.pack('>I', size)
packet = bytes.fromhex('4500001400004000 40110000 7f000001 7f000001'.replace(' ', ''))
if linktype == 108:
    packet = struct.pack('>I', 2) + packet
out = block(0x0A0D0D0A, struct.pack('>IHHq', 0x1A2B3C4D, 1, 0, -1))
for _ in range(count):
    out += block(1, struct.pack('>HHI', linktype, 0, 2048))
for index in range(count):
    out += block(6, struct.pack('>IIIII', index, 0, index, len(packet), len(packet)) + packet)
open(path, 'wb').write(out)
PY
}
read_packets() { LD_LIBRARY_PATH="$libraries" root/usr/bin/tcpdump -n -r "$1" 2>errors | wc -l; }

write one-raw 101 1
[ "$(read_packets one-raw)" = 1 ]
write two-loop 108 2
[ "$(read_packets two-loop)" = 2 ]
write two-raw 101 2
read_packets two-raw >output || true
grep -F 'an interface has a type 101 different from the type of the first interface' errors
