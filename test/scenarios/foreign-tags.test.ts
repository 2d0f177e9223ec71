import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { freedom } from '../support/process/config.ts';
import { runWeir, Weir } from '../support/process/weir.ts';

/* Tags as other programs have them, by which commands name inbounds and outbounds. */

const LOCAL = 'SOCKS  "local" 東京';
const SERVER = "Trojan's door 🇯🇵";
const OUT = '直连 / direct';

const CONFIG = `
[[inbound]]
tag = ${JSON.stringify(LOCAL)}
protocol = "socks"
port = 0
[[inbound]]
tag = ${JSON.stringify(SERVER)}
protocol = "trojan"
listen = "0.0.0.0"
port = 0
settings = { users = [{ password = "pw", email = "mia x" }] }
[[route.rule]]
inbound_tag = [${JSON.stringify(SERVER)}]
outbound = ${JSON.stringify(OUT)}
${freedom('direct out')}
${freedom(OUT)}`;

test('commands find inbounds and outbounds by tags with spaces, quotes and other scripts', async () => {
  await using weir = await Weir.start(CONFIG, { control: true });
  assert.deepEqual([...weir.addresses.keys()].toSorted(), [LOCAL, SERVER].toSorted());
  const config = join(weir.folder, 'weir.toml');
  const on = ['--config', config, '--inbound', SERVER];

  const [status, share, users, explain] = await Promise.all([
    runWeir(['status', '--json', '--socket', weir.controlPath]),
    runWeir(['share', ...on, '--host', 'h.example', '--port', '443', '--json']),
    runWeir(['user', 'list', ...on, '--json']),
    runWeir(['explain', ...on, 'example.org:443', '--json']),
  ]);
  assert.match(status.stdout, new RegExp(`"tag":${RegExp.escape(JSON.stringify(SERVER))}`));
  assert.match(share.stdout, /trojan:\/\/pw@h\.example:443/);
  assert.match(users.stdout, /mia x/);
  assert.ok(explain.stdout.includes(JSON.stringify(OUT)), explain.stdout + explain.stderr);
});
