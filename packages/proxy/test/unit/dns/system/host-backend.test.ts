import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { DnsAnswer, DnsBackend } from '../../../../src/dns/backend.ts';
import { CachedResolver } from '../../../../src/dns/cached-resolver.ts';
import { HostBackend } from '../../../../src/dns/system/host-backend.ts';
import type { AddressRecordType } from '../../../../src/dns/policy.ts';
import {
  a,
  aaaa,
  reply,
  soa,
  startPlainDns,
  type Asked,
  type Script,
} from '../../../../../../test/support/peers/dns-server.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const never = new AbortController().signal;

/** A C library that resolves every name, and the names that it was asked for. */
class Library implements DnsBackend {
  readonly asked: string[] = [];

  query(name: string, type: AddressRecordType): Promise<DnsAnswer> {
    this.asked.push(`${type} ${name}`);
    return Promise.resolve({ addresses: ['192.0.2.200'], ttl: 60 });
  }

  forward(): Promise<Buffer> {
    this.asked.push('forward');
    return Promise.resolve(Buffer.from('library'));
  }

  close(): void {
    // Nothing is open.
  }
}

/** Answers these records, `TYPE name` by address; other names do not exist. */
function zone(records: Readonly<Record<string, string>>): Script {
  return (asked: Asked) => {
    const address = records[`${asked.type} ${asked.name}`];
    if (address === undefined) {
      const exists = Object.keys(records).some((key) => key.endsWith(` ${asked.name}`));
      return reply(asked, { rcode: exists ? 0 : 3, authorities: [soa('', 900, 900)] });
    }
    const record = asked.type === 'A' ? a : aaaa;
    return reply(asked, { answers: [record(asked.name, address, 900)] });
  };
}

/** A host with these files and one name server that follows the script. */
async function host(t: TestContext, script: Script, files: Partial<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'weir-host-'));
  t.after(() => rm(folder, { recursive: true }));
  const server = await startPlainDns(t, script);
  const paths = {
    resolvConf: join(folder, 'resolv.conf'),
    hosts: join(folder, 'hosts'),
    nameSwitch: join(folder, 'nsswitch.conf'),
  };
  /** Replaces a file in one step, so that it is another one whatever its time. */
  const write = async (name: keyof typeof paths, text: string): Promise<void> => {
    await writeFile(`${paths[name]}.new`, text);
    await rename(`${paths[name]}.new`, paths[name]);
  };
  await write('resolvConf', files['resolvConf'] ?? 'nameserver 127.0.0.1');
  if (files['hosts'] !== undefined) await write('hosts', files['hosts']);
  if (files['nameSwitch'] !== undefined) await write('nameSwitch', files['nameSwitch']);
  const clock = new ManualClock();
  const library = new Library();
  const backend = new HostBackend({ clock, paths, library, port: server.port });
  const addresses = async (name: string, type: AddressRecordType = 'A') =>
    (await backend.query(name, type, never)).addresses;
  return { server, clock, library, backend, write, addresses };
}

for (const dead of [2, 20]) {
  test(`a healthy name is found at once while ${dead} names get no answer`, async (t) => {
    const asked = Promise.withResolvers<void>();
    let silent = 0;
    const { backend, clock } = await host(t, (question) => {
      if (!question.name.startsWith('dead')) {
        return zone({ 'A healthy.example': '192.0.2.1' })(question);
      }
      if (++silent === dead) asked.resolve();
      return undefined;
    });
    const resolver = new CachedResolver(backend, clock);
    const waiting = Array.from({ length: dead }, (_, i) =>
      assert.rejects(resolver.resolve(`dead${i}.example`, 'ipv4_only'), { code: 'aborted' }),
    );
    await asked.promise;
    // The clock stands still, so no time limit can have helped.
    assert.deepEqual(await resolver.resolve('healthy.example', 'ipv4_only'), ['192.0.2.1']);
    resolver.destroy();
    await Promise.all(waiting);
    assert.equal(clock.timers, 0);
  });
}

test('the hosts file comes first, and a listed name has no other addresses', async (t) => {
  const { addresses, server } = await host(t, zone({ 'AAAA ads.example': '2001:db8::1' }), {
    hosts: '0.0.0.0 ads.example\n2001:db8::7 box',
  });
  assert.deepEqual(await addresses('ads.example'), ['0.0.0.0']);
  assert.deepEqual(await addresses('ads.example', 'AAAA'), []);
  assert.deepEqual(await addresses('box', 'AAAA'), ['2001:db8::7']);
  assert.deepEqual(server.asked, []);
});

test('changes of the files count a second later', async (t) => {
  const { addresses, clock, library, write } = await host(
    t,
    zone({ 'A a.example': '192.0.2.1', 'A a.corp.example': '192.0.2.2' }),
  );
  assert.deepEqual(await addresses('a.example'), ['192.0.2.1']);
  await write('hosts', '192.0.2.9 a.example');
  assert.deepEqual(await addresses('a.example'), ['192.0.2.1']);
  clock.advance(1000);
  assert.deepEqual(await addresses('a.example'), ['192.0.2.9']);
  await write('hosts', '');
  await write('resolvConf', 'nameserver 127.0.0.1\nsearch corp.example');
  clock.advance(1000);
  assert.deepEqual(await addresses('a.example'), ['192.0.2.1']);
  assert.deepEqual(await addresses('a'), ['192.0.2.2']);
  await write('nameSwitch', 'hosts: files nis dns');
  clock.advance(1000);
  assert.deepEqual(await addresses('a.example'), ['192.0.2.200']);
  assert.deepEqual(library.asked, ['A a.example']);
});

test('a name of the search list that has another family ends the search', async (t) => {
  const { addresses, server } = await host(
    t,
    zone({ 'A api.one.example': '192.0.2.1', 'AAAA api.two.example': '2001:db8::66' }),
    { resolvConf: 'nameserver 127.0.0.1\nsearch one.example two.example' },
  );
  assert.deepEqual(await addresses('api', 'AAAA'), []);
  assert.deepEqual(await addresses('api'), ['192.0.2.1']);
  assert.ok(!server.names.includes('api.two.example'));
});

test('a name of the search list that fails does not hide one that exists', async (t) => {
  const known = zone({ 'A api.two.example': '192.0.2.2' });
  const { addresses } = await host(
    t,
    (asked) => (asked.name.endsWith('one.example') ? reply(asked, { rcode: 2 }) : known(asked)),
    { resolvConf: 'nameserver 127.0.0.1\nsearch one.example two.example' },
  );
  assert.deepEqual(await addresses('api'), ['192.0.2.2']);
  await assert.rejects(addresses('absent'), { code: 'upstream' });
});

test('answers are kept for a minute at most, absent names for 5 s', async (t) => {
  const { backend } = await host(t, zone({ 'A a.example': '192.0.2.1' }));
  assert.deepEqual(await backend.query('a.example', 'A', never), {
    addresses: ['192.0.2.1'],
    ttl: 60,
  });
  assert.equal((await backend.query('a.example', 'AAAA', never)).ttl, 60);
  assert.equal((await backend.query('absent.example', 'A', never)).ttl, 5);
});

test('names of other sources go to the C library', async (t) => {
  const { addresses, library } = await host(t, zone({ 'A a.example': '192.0.2.1' }), {
    nameSwitch: 'hosts: files mdns4_minimal [NOTFOUND=return] dns',
  });
  assert.deepEqual(await addresses('printer.local'), ['192.0.2.200']);
  assert.deepEqual(await addresses('printer'), ['192.0.2.200']);
  assert.deepEqual(await addresses('a.example'), ['192.0.2.1']);
  assert.deepEqual(library.asked, ['A printer.local', 'A printer']);
});

test('systemd-resolved as a source is asked by DNS only at its own address', async (t) => {
  const { addresses } = await host(t, zone({ 'A a.example': '192.0.2.1' }), {
    nameSwitch: 'hosts: resolve [!UNAVAIL=return] files dns',
  });
  assert.deepEqual(await addresses('a.example'), ['192.0.2.200']);
});

for (const [what, resolvConf] of Object.entries({
  'without a name server': 'search corp.example',
  'that is too large': `nameserver 127.0.0.1\n${'#'.repeat(70_000)}`,
})) {
  test(`a resolv.conf ${what} leaves every name to the C library`, async (t) => {
    const { addresses } = await host(t, zone({}), { resolvConf });
    assert.deepEqual(await addresses('a.example'), ['192.0.2.200']);
  });
}

test('where no files say how names are found, the C library is asked', async () => {
  const clock = new ManualClock();
  const library = new Library();
  const folder = join(tmpdir(), 'weir-no-such-folder');
  const paths = { resolvConf: `${folder}/r`, hosts: `${folder}/h`, nameSwitch: `${folder}/n` };
  const backend = new HostBackend({ clock, paths, library });
  assert.equal((await backend.query('a.example', 'A', never)).addresses[0], '192.0.2.200');
});

test('with no-aaaa only A is asked', async (t) => {
  const { addresses, server } = await host(t, zone({ 'AAAA a.example': '2001:db8::1' }), {
    resolvConf: 'nameserver 127.0.0.1\noptions no-aaaa',
  });
  assert.deepEqual(await addresses('a.example', 'AAAA'), []);
  assert.deepEqual(server.asked, []);
});
