/**
 * What routing costs: time to build a router, memory it keeps, lookups a second.
 *
 *     node --expose-gc packages/server/bench/router.ts
 *
 * Each case runs in the same process after a collection; the baseline beside the domain cases is a
 * plain `Set` of strings, asked for each parent of the name.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadGeoData } from '@weir/proxy/geo-files';
import { RegexCache } from '@weir/proxy/names';
import { type RouteQuery, Router } from '@weir/proxy/router';
import type { CidrSpec, RoutingSpec, RuleSpec } from '@weir/proxy/spec';
import { encodeGeosite } from '../../../test/support/data/geo-fixture.ts';
import { ruleSpec } from '../../../test/support/data/specs.ts';

const LOOKUPS = 300_000;

const rule = (matchers: Partial<RuleSpec>): RuleSpec => ruleSpec('out', matchers);

/** The same numbers on every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const random = randomNumbers(1);
const WORDS = 'video cdn mail shop news cloud data play home star blue north fast open live'.split(
  ' ',
);
const word = (): string => WORDS[random(WORDS.length)] ?? '';
const TLDS = ['com', 'net', 'org', 'de', 'co.uk', 'io'];
/** Through a buffer, so that it is one string and not a tree of its parts, as from a file. */
const domain = (i: number): string =>
  Buffer.from(`${word()}${word()}${i}.${TLDS[i % TLDS.length]}`).toString();
const ip = (): string => [0, 0, 0, 0].map(() => random(256)).join('.');

const query = (host: string): RouteQuery => ({
  inbound: 'in',
  source: '192.0.2.7',
  network: 'tcp',
  host,
  port: 443,
  sniffed: undefined,
});

/** Half of the hosts are known, below one or two labels; half are not. */
function hostsFor(domains: readonly string[]): string[] {
  return Array.from({ length: 4096 }, (_, i) => {
    const known = domains[random(domains.length)] ?? '';
    return i % 2 === 0 ? `www.${known}` : `www.a${known}`;
  });
}

interface Row {
  readonly case: string;
  readonly 'build ms': string;
  readonly 'kept MB': string;
  readonly 'M lookups/s': string;
  readonly 'ns a lookup': string;
}

function heldBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Builds, looks up, and measures both; `make` and `look` are all that differs between cases. */
function measure<T>(
  name: string,
  make: () => T,
  look: (built: T, host: string) => unknown,
  hosts: readonly string[],
): Row {
  const before = heldBytes();
  const started = performance.now();
  const built = make();
  const buildMs = performance.now() - started;
  const kept = heldBytes() - before;
  const run = (count: number): number => {
    const from = performance.now();
    for (let i = 0; i < count; i++) look(built, hosts[i % hosts.length] ?? '');
    return performance.now() - from;
  };
  run(LOOKUPS / 3);
  const ms = Math.min(run(LOOKUPS), run(LOOKUPS), run(LOOKUPS));
  return {
    case: name,
    'build ms': buildMs.toFixed(1),
    'kept MB': (kept / 1e6).toFixed(1),
    'M lookups/s': (LOOKUPS / ms / 1e3).toFixed(2),
    'ns a lookup': ((ms / LOOKUPS) * 1e6).toFixed(0),
  };
}

const regexes = new RegexCache();
const measureRouter = (name: string, rules: readonly RuleSpec[], hosts: readonly string[]): Row => {
  const spec: RoutingSpec = { default: 'direct', rules };
  return measure(
    name,
    () => new Router(spec, { regexes }),
    (router, host) => router.route(query(host)),
    hosts,
  );
};

const rows: Row[] = [];

// Whatever runs first pays for the compiler; its numbers are thrown away.
const warmUp = Array.from({ length: 1000 }, (_, i) => domain(i));
measureRouter('', [rule({ domainSuffix: warmUp, cidr: [] })], hostsFor(warmUp));

for (const count of [10, 1000, 1_000_000]) {
  const domains = Array.from({ length: count }, (_, i) => domain(i));
  const hosts = hostsFor(domains);
  const label = count.toLocaleString('en');
  rows.push(measureRouter(`${label} suffixes`, [rule({ domainSuffix: domains })], hosts));
  rows.push(
    measure(
      `${label} suffixes, plain Set`,
      // As a list read from a file would be: strings of their own.
      () => new Set(domains.map((name) => Buffer.from(name, 'latin1').toString('latin1'))),
      (set, host) => {
        for (let at = 0; ; at = host.indexOf('.', at) + 1) {
          if (set.has(host.slice(at))) return true;
          if (!host.includes('.', at)) return false;
        }
      },
      hosts,
    ),
  );
}

const network = (i: number): CidrSpec => ({
  address: `${1 + (i >>> 16)}.${(i >>> 8) & 255}.${i & 255}.0`,
  prefix: 24,
});
// Every other network, so that none merge.
const networks = Array.from({ length: 300_000 }, (_, i) => network(i * 2));
const addresses = Array.from({ length: 4096 }, ip);
rows.push(measureRouter('300,000 IPv4 networks', [rule({ cidr: networks })], addresses));

const networks6 = Array.from({ length: 100_000 }, (_, i) => ({
  address: `2001:${((i * 2) >>> 16).toString(16)}:${((i * 2) & 0xffff).toString(16)}::`,
  prefix: 48,
}));
const addresses6 = Array.from(
  { length: 4096 },
  () =>
    `2001:${random(4).toString(16)}:${random(65536).toString(16)}::${random(65536).toString(16)}`,
);
rows.push(measureRouter('100,000 IPv6 networks', [rule({ cidr: networks6 })], addresses6));

const own = Array.from({ length: 30_000 }, (_, i) => domain(i));
const manyRules = Array.from({ length: 10_000 }, (_, i) =>
  rule({
    domainSuffix: own.slice(i * 3, i * 3 + 3),
    port: i % 2 === 0 ? [{ low: 443, high: 443 }] : [],
    ...(i % 5 === 0 && { inboundTag: ['in', 'other'] }),
  }),
);
rows.push(measureRouter('10,000 rules of 3 suffixes', manyRules, hostsFor(own)));

const mixed = Array.from({ length: 10_000 }, (_, i) => {
  if (i % 2 === 0) return rule({ domainFull: [own[i] ?? ''], network: 'tcp' });
  return rule({ cidr: [network(i)], port: [{ low: 1, high: 1024 }] });
});
const either = hostsFor(own).map((host, i) => (i % 2 === 0 ? host : (addresses[i] ?? '')));
rows.push(measureRouter('10,000 rules, names and networks', mixed, either));

const keywords = Array.from({ length: 2000 }, (_, i) => `${word()}${i}${word()}`);
rows.push(measureRouter('2,000 keywords', [rule({ domainKeyword: keywords })], hostsFor(own)));

const patterns = Array.from({ length: 1000 }, (_, i) => `^(ad|track)[0-9]*-${i}\\..*\\.com$`);
rows.push(measureRouter('1,000 regexes', [rule({ domainRegex: patterns })], hostsFor(own)));

console.table(Object.fromEntries(rows.map(({ case: name, ...row }) => [name, row])));

/** A geosite file of about 35 MB: one list of a million domains and a thousand small ones. */
function geositeFile(): Buffer {
  const list = (code: string, from: number, count: number) => ({
    code,
    domains: Array.from({ length: count }, (_, i) => ({
      type: 'root' as const,
      value: domain(from + i),
      attributes: i % 10 === 0 ? { ads: true } : {},
    })),
  });
  return encodeGeosite([
    list('LARGE', 0, 1_000_000),
    ...Array.from({ length: 1000 }, (_, i) => list(`SMALL${i}`, i, 50)),
    list('MIDDLE', 5, 100_000),
  ]);
}

async function measureGeosite(geosite: string, ref: string): Promise<Record<string, string>> {
  const [code = '', attribute] = ref.split('@');
  const rules = [rule({ geosite: [{ code, attribute }] })];
  const before = heldBytes();
  const started = performance.now();
  const geo = await loadGeoData({ geosite, geoip: undefined }, rules);
  const readMs = performance.now() - started;
  const router = new Router({ default: 'direct', rules }, { regexes, geo });
  const buildMs = performance.now() - started - readMs;
  const withLists = heldBytes() - before;
  return {
    'read ms': readMs.toFixed(1),
    'build ms': buildMs.toFixed(1),
    'lists and router MB': (withLists / 1e6).toFixed(1),
    // Named last, so that both are still held above.
    lists: String(geo.geosite.size),
    decided: router.route(query('example.invalid')).outbound,
  };
}

const folder = await mkdtemp(join(tmpdir(), 'weir-bench-'));
try {
  const geosite = join(folder, 'geosite.dat');
  const size = await (async () => {
    const file = geositeFile();
    await writeFile(geosite, file);
    return file.length;
  })();
  const geoRows: Record<string, unknown> = {};
  for (const code of ['small7', 'middle', 'large@ads', 'large']) {
    geoRows[`geosite:${code}`] = await measureGeosite(geosite, code);
  }
  console.log(`a geosite file of ${(size / 1e6).toFixed(0)} MB`);
  console.table(geoRows);
} finally {
  await rm(folder, { recursive: true });
}
