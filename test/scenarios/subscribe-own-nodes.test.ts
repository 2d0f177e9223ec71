import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runWeir, scratch } from '../support/process/weir.ts';
import { subscribe } from '../support/subscribe/command.ts';
import { startProvider, type Answer } from '../support/subscribe/provider.ts';

const CONFIG = `[[inbound]]
tag = "s"
protocol = "socks"
port = 1
[subscribe]
path = "nodes.toml"
`;

const OWN = `# mine: checked by my own CA
[[proxy_server]]
name = "Berlin"
protocol = "trojan"
server = "berlin.provider.test"
port = 443
[proxy_server.stream]
network = "tls"
tls = { server_name = "cdn.provider.test" }
[proxy_server.settings]
password = "pw"
`;

/** A Clash file with nodes of these names and cities; those in `insecure` accept any certificate. */
const clash =
  (nodes: Readonly<Record<string, string>>, insecure: readonly string[] = []): Answer =>
  (response) => {
    const lines = Object.entries(nodes).map(
      ([name, city]) =>
        `- {name: ${name}, type: trojan, server: ${city}.provider.test, port: 443, password: pw, sni: cdn.provider.test, skip-cert-verify: ${insecure.includes(name)}}\n`,
    );
    response.end(`proxies:\n${lines.join('')}`);
  };

test('a node of the user stays as it is, and lowered TLS is reported, whatever a source sends and drops', async () => {
  await using folder = await scratch();
  const config = join(folder.path, 'weir.toml');
  const nodes = join(folder.path, 'nodes.toml');
  await writeFile(config, CONFIG);
  await writeFile(nodes, OWN);
  await using provider = await startProvider(
    clash({ DE: 'berlin', FR: 'paris', UK: 'london' }, ['DE']),
  );
  const dry = await subscribe('add', 'home', provider.url, '--config', config, '--dry-run');
  assert.match(dry.err, /home: "DE" accepts any certificate/);
  const added = await subscribe('add', 'home', provider.url, '--config', config);
  assert.deepEqual([added.code, added.out], [0, 'home: +3 =0\n'], added.err);
  assert.match(
    added.err,
    /home: your own node "Berlin" is the same server as "DE" of the list: it stays as it is/,
  );
  assert.match(
    added.err,
    /home: "DE" accepts any certificate \(allow_insecure\), as the list says: anyone on the path can read the traffic/,
  );
  assert.ok((await readFile(nodes, 'utf8')).startsWith(OWN));

  provider.answer = clash({ FR: 'paris', UK: 'london' }, ['UK']);
  const updated = await subscribe('update', '--config', config);
  assert.deepEqual([updated.code, updated.out], [0, 'home: −1 ~1 =1\n'], updated.err);
  assert.match(
    updated.err,
    /the list has lowered TLS of "UK": any certificate is accepted .*; before, a certificate of a public authority is required/,
  );
  assert.ok((await readFile(nodes, 'utf8')).startsWith(OWN));
  const again = await subscribe('update', '--config', config, '--json');
  const [outcome] = JSON.parse(again.out) as { insecure: string[]; notes: string[] }[];
  assert.deepEqual(outcome?.insecure, ['UK']);
  assert.equal(outcome.notes.length, 1);
});

test('nodes of weir import become those of the source that sends the same, which is reported', async () => {
  await using folder = await scratch();
  const out = join(folder.path, 'made');
  await using provider = await startProvider(clash({ DE: 'berlin', FR: 'paris' }));
  const imported = await runWeir(['import', provider.url, '--output', out]);
  assert.equal(imported.ended?.code, 0, imported.stderr);
  const config = join(out, 'weir.toml');
  const nodes = join(out, 'nodes.toml');
  const before = await readFile(nodes, 'utf8');
  const added = await subscribe('add', 'home', provider.url, '--config', config);
  assert.deepEqual([added.code, added.out], [0, 'home: =2\n'], added.err);
  assert.match(added.err, /written by weir import, and nodes of home from now on: "DE", "FR"/);
  const after = before.replaceAll('# source: (import)', '# source: home');
  assert.notEqual(after, before);
  assert.equal(await readFile(nodes, 'utf8'), after);
});
