import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { requestStatus } from '@weir/server/control';
import { Child } from '../support/process/child.ts';
import { freedom } from '../support/process/config.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { FAR, Site } from '../support/netns/site.ts';
import { TUN, tunConfig } from '../support/netns/tun-config.ts';
import { scratch, Weir } from '../support/process/weir.ts';
import { programOrSkip } from './support/program.ts';

/*
 * `[dns]` between a client and a server of dnspython: the server's responses are hostile, by the first label of
 * the name (test/programs/dns/server.py); and dnsperf's load on the same resolver.
 */

const python = programOrSkip('dnspython');
const dnsperf = programOrSkip('dnsperf');
const script = (name: string): string => fileURLToPath(new URL(`dns/${name}`, import.meta.url));

const SERVER_PORT = 5300;
const HONEST = '203.0.113.7';

interface Verdict {
  readonly case: string;
  readonly error?: string;
  readonly code?: string;
  readonly addresses?: readonly string[];
  readonly count?: number;
  readonly tcp?: boolean;
}

/** Forgeries come before the honest response, or the response is good for what was asked. */
const HONEST_IN_THE_END = [
  'honest',
  'victim',
  'wrong-id',
  'every-other-id',
  'wrong-question',
  'wrong-type',
  'no-question',
  'not-a-response',
  'garbage',
  'other-opcode',
  'other-port',
  'mixed-case',
  'poisoned',
  'truncated',
  'alias-chain-5',
  'honest afterwards',
  'victim afterwards',
];

/** A response that says nothing of use is a failure, by a response code. */
const FAILURES = [
  'name-loop',
  'name-forward',
  'name-beyond',
  'name-of-reserved-bits',
  'name-too-long',
  'short-address',
  'long-address',
  'length-beyond',
  'count-beyond',
  'alias-to-itself',
  'alias-circle',
  'alias-loop-in-rdata',
  'alias-chain-200',
  'truncated-twice',
  'nothing',
  'refused',
  'reserved-code',
  'unknown-kind',
  'no-such-name',
  // More records than any legitimate response has.
  'records-4000',
];

/** Addresses of one name. */
const COUNTS = [60, 900];

inOwnNetwork(import.meta.url, () => {
  describe('[dns] through a TUN inbound', () => {
    let site: Site;
    let weir: Weir;
    let server: Child | undefined;

    before(async () => {
      site = await Site.make();
      if (python.skip === false) {
        server = site.start(python.path, '-B', script('server.py'), FAR.host, String(SERVER_PORT));
        await server.until('it serves', ({ stdout }) => stdout.includes('ready') || undefined);
      }
      const dns = `[dns]\nbackend = "udp"\nserver = "${FAR.host}:${SERVER_PORT}"\n`;
      weir = await Weir.start(dns + tunConfig(freedom()), { control: true });
    });

    after(async () => {
      await weir[Symbol.asyncDispose]();
      await server?.[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    });

    test('a hostile server', { skip: python.skip }, async (t) => {
      const cases = [
        ...HONEST_IN_THE_END,
        ...FAILURES,
        ...COUNTS.map((count) => `records-${count}`),
      ].filter((name) => !name.endsWith('afterwards'));
      await using client = new Child(python.path, [
        '-B',
        script('client.py'),
        TUN.resolver,
        ...cases,
      ]);
      const { code } = await client.exited;
      assert.equal(code, 0, client.stderr);
      const lines = client.stdout.split('\n').filter((line) => line !== '');
      const verdicts = lines.map((line) => JSON.parse(line) as Verdict);
      const verdictOf = (name: string): Verdict | undefined =>
        verdicts.find((verdict) => verdict.case === name);
      for (const name of HONEST_IN_THE_END) {
        await t.test(`${name}: the honest response`, () => {
          const verdict = verdictOf(name);
          assert.equal(verdict?.code, 'NOERROR', JSON.stringify(verdict));
          assert.deepEqual(verdict.addresses, [HONEST]);
        });
      }
      for (const name of FAILURES) {
        await t.test(`${name}: a response without an address`, () => {
          const verdict = verdictOf(name);
          assert.equal(verdict?.error, undefined);
          assert.equal(verdict?.count, 0, JSON.stringify(verdict));
        });
      }
      for (const count of COUNTS) {
        await t.test(`${count} addresses: a bounded number of them`, () => {
          const verdict = verdictOf(`records-${count}`);
          assert.equal(verdict?.code, 'NOERROR', JSON.stringify(verdict));
          assert.ok((verdict.count ?? 0) > 0 && (verdict.count ?? 0) <= count);
        });
      }
      assert.equal(weir.child.ended, undefined);
    });

    test('the load of dnsperf', { skip: dnsperf.skip || python.skip }, async (t) => {
      await using folder = await scratch();
      const names = Array.from({ length: 2000 }, (_, i) => `victim.n${i}.hostile.test A`);
      const file = join(folder.path, 'names');
      await writeFile(file, `${names.join('\n')}\n`);
      const before = await requestStatus(weir.controlPath);
      for (const mode of ['udp', 'tcp'] as const) {
        const args = [
          '-s',
          TUN.resolver,
          '-m',
          mode,
          '-d',
          file,
          '-n',
          '10',
          '-c',
          '10',
          '-q',
          '100',
        ];
        await using load = new Child(dnsperf.path, args);
        const { code } = await load.exited;
        assert.equal(code, 0, load.stderr);
        const numberOf = (label: string): number =>
          Number(new RegExp(`${label}:\\s+([\\d.]+)`).exec(load.stdout)?.[1]);
        t.diagnostic(`${mode}: ${numberOf('Queries per second')} queries a second`);
        assert.equal(numberOf('Queries sent'), 20_000, load.stdout);
        // UDP may lose some, for want of a buffer; a stream may not.
        const least = mode === 'udp' ? 19_800 : 20_000;
        assert.ok(numberOf('Queries completed') >= least, load.stdout);
        assert.match(load.stdout, /Response codes:\s+NOERROR \d+ \(100\.00%\)/);
      }
      const { memory, event_loop: loop } = await requestStatus(weir.controlPath);
      const grown = memory.resident - before.memory.resident;
      t.diagnostic(`${grown >> 20} MiB more; the event loop was late by ${loop?.max} ms at most`);
      assert.ok(grown < 128 << 20, `${grown >> 20} MiB more`);
    });
  });
});
