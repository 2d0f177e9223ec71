import assert from 'node:assert/strict';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { portOf, parseAddress, type Address } from '../support/data/address.ts';
import { freedom, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { SocksRefused, socksConnect } from '../support/peers/socks-client.ts';
import { TestAuthority } from '../support/data/test-certificates.ts';
import { within } from '../support/wait.ts';
import { OWN } from '../../packaging/manifest.ts';
import { sourceCommit } from '../../packaging/source-commit.ts';
import { buildText } from '@weir/io/process';
import { finish, start, type Installed } from './installed.ts';

/*
 * What is asked of every form in which Weir is installed: that it starts, that its native parts, its
 * WebAssembly and its thread are found, and that it ends as a supervisor expects.
 */

export async function tryOut(t: TestContext, installed: Installed): Promise<void> {
  await t.test('prints its version, and runs on its own Node with native parts', async () => {
    const version = await finish(installed, ['--version', '--verbose']);
    const [name, commit, node, sockets] = version.stdout.split('\n');
    assert.equal(version.stderr, '');
    assert.equal(name, `weir ${OWN.version}`);
    const built = await sourceCommit();
    assert.equal(commit, `commit: ${built ? buildText(built) : 'not known'}`);
    assert.match(node ?? '', /^node v26\./);
    assert.match(sockets ?? '', process.platform === 'linux' ? /the kernel's/ : /Node's/);
  });

  await t.test('checks a configuration, and reports errors by its status', async () => {
    const { folder, seenFolder = folder } = installed;
    await mkdir(seenFolder, { recursive: true });
    await writeFile(join(seenFolder, 'good.toml'), `${socksIn()}${freedom()}`);
    await writeFile(join(seenFolder, 'bad.toml'), `${socksIn()}${freedom()}surplus = 1\n`);
    const good = await finish(installed, ['--test', '--config', join(folder, 'good.toml')]);
    assert.deepEqual([good.code, good.stdout], [0, 'Configuration OK.\n'], good.stderr);
    const bad = await finish(installed, ['--test', '--config', join(folder, 'bad.toml')]);
    assert.equal(bad.code, 1);
    assert.match(bad.stderr, /bad\.toml/);
  });

  await t.test('serves, with TLS, QUIC, regular expressions and a reload in its thread', async () =>
    serve(installed),
  );
}

const USERS = 'users = [{ user = "u", pass = "p" }]';

async function serve(installed: Installed): Promise<void> {
  const { folder, seenFolder = folder } = installed;
  const authority = new TestAuthority();
  const { cert, key } = authority.issue({ ip: ['127.0.0.1'] });
  await mkdir(seenFolder, { recursive: true });
  const files = { 'cert.pem': cert, 'key.pem': key, 'ca.pem': authority.cert };
  for (const [name, text] of Object.entries(files)) await writeFile(join(seenFolder, name), text);
  const own = (name: string): string => JSON.stringify(join(folder, name));
  const pair = `cert_file = ${own('cert.pem')}\nkey_file = ${own('key.pem')}`;
  const config = [
    socksIn('plain'),
    socksIn('over-tls'),
    socksIn('over-quic'),
    '[[inbound]]\ntag = "tls"\nprotocol = "trojan"\nport = 0',
    '[inbound.settings]\nusers = [{ password = "p" }]',
    `[inbound.stream]\nnetwork = "tls"\ntls = { ${pair.replace('\n', ', ')} }`,
    '[[inbound]]\ntag = "quic"\nprotocol = "hysteria2"\nport = 0',
    `[inbound.settings]\n${pair}\n${USERS}`,
    freedom(),
  ].join('\n');
  const path = join(seenFolder, 'weir.toml');
  await writeFile(path, config);

  await using origin = await echoServer();
  await using child = start(installed, ['--config', join(folder, 'weir.toml')]);
  const addresses = await child.until('five inbounds listening', ({ stderr }) => {
    const found = new Map<string, Address>();
    for (const [, tag = '', text = ''] of stderr.matchAll(/inbound (\S+) listening on (\S+)$/gm)) {
      found.set(tag, parseAddress(text));
    }
    return found.size === 5 ? found : undefined;
  });
  const at = (tag: string): Address => addresses.get(tag) ?? assert.fail(`no inbound ${tag}`);

  // Through itself, since its ports are known only now; the length makes it a task of the thread.
  const more = [
    proxyOut('by-tls', 'trojan', { host: '127.0.0.1', port: portOf(at('tls')) }, 'password = "p"'),
    `[outbound.stream]\nnetwork = "tls"\ntls = { ca_file = ${own('ca.pem')} }`,
    proxyOut(
      'by-quic',
      'hysteria2',
      { host: '127.0.0.1', port: portOf(at('quic')) },
      `password = "u:p"\nca_file = ${own('ca.pem')}`,
    ),
    rule('by-tls', 'inbound_tag = ["over-tls"]'),
    rule('by-quic', 'inbound_tag = ["over-quic"]'),
    rule('blackhole', String.raw`domain_regex = ['^ads\d+\.example$']`),
    `# ${'-'.repeat(20_000)}`,
    '',
  ].join('\n');
  await appendFile(path, `\n${more}`);
  child.signal('SIGHUP');
  await child.until('the reload', ({ stderr }) => /config reloaded/.test(stderr) || undefined);

  for (const tag of ['plain', 'over-tls', 'over-quic']) {
    const socket = await socksConnect(at(tag), origin.target);
    await roundTrip(socket, `hello ${tag}`);
    socket.destroy();
  }
  await assert.rejects(
    socksConnect(at('plain'), { host: 'ads12.example', port: 80 }),
    SocksRefused,
    'a rule by a regular expression',
  );
  child.signal('SIGTERM');
  assert.deepEqual(await within(child.exited, 'the end'), { code: 0, signal: null }, child.stderr);
}
