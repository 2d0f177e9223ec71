import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles, sourceText } from '../../tools/architecture/imports.ts';

/** An instance and what surrounds it, and the page in a browser: state of theirs is that of one program. */
const ABOVE = /^(server\/app|weir|watch\/dashboard\/page)\//;

/**
 * State of modules that every instance of the library in a process may share, by file and name, with the
 * reason. Anything else belongs to the supervisor, which passes it on.
 */
const ALLOWED: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'what the process or the machine has once': {
    'io/net/addresses/addresses.ts': ['shown'],
    'io/net/bounds/shares.ts': ['descriptorHolders'],
    'io/net/sockets/interface-addresses.ts': ['known', 'knownAt'],
    'io/net/sockets/system-sockets.ts': ['chosen'],
    'io/platform/files.ts': ['bound'],
    'io/platform/native.ts': ['loaded', 'bufferUtil'],
    'io/platform/process/end-process.ts': ['isHeld'],
    'io/platform/process/memory.ts': ['lastResident'],
    'io/platform/quic-tls/quic-tls-probe.ts': ['known'],
    'io/platform/passed-sockets.ts': ['adopted'],
    'io/net/sockets/node/socket-link.ts': ['bound'],
    'io/platform/tls/stream-tls-library.ts': ['known'],
    'proxy/transports/tls/trust-store.ts': ['system'],
  },
  'bounds the turns of the event loop, of which a process has one': {
    'server/api/feeds/slices.ts': ['strides'],
    'http/http1/paced-socket.ts': ['turns'],
    'io/net/bounds/units.ts': ['PROCESS_TURNS'],
    'io/net/links/relay.ts': ['share'],
    'io/net/time/clock.ts': ['dueTimers'],
    'io/net/time/turns.ts': ['resumed'],
    'proxy/transports/tls/openssl.ts': ['dialFlights'],
  },
  'bounds the memory of the process': {
    'io/net/bounds/queue-bounds.ts': ['KEPT_ROOM', 'UNSENT_ROOM'],
    'io/net/bounds/units.ts': ['waitingReads'],
  },
  'an implementation chosen by a measurement or by what Node offers, without state': {
    'crypto/aead/aead.ts': ['chosen'],
    'crypto/aead/packet-ciphers.ts': ['chosen'],
    'crypto/hash/blake2.ts': ['chosen'],
    'crypto/hash/hkdf-sha1.ts': ['chosen'],
    'crypto/hash/sha256.ts': ['chosen'],
    'crypto/hash/shake128.ts': ['chosen'],
    'proxy/protocols/vmess/header/header-seal.ts': ['headerSealer', 'headerOpener'],
    'proxy/protocols/vmess/kdf.ts': ['shared'],
    'base/tables.ts': ['SEGMENTER'],
  },
  'compiled once in a process, since what is compiled is never freed (`checkRegex`)': {
    'nodes/subscribe/balancers/follow-balancers.ts': ['expressions'],
  },
  'scratch space, written and read within one call': {
    'crypto/hash/blake3-key.ts': ['bytes', 'view', 'message', 'state'],
  },
  'spare buffers without an owner': {
    'http/http2/frames.ts': ['kept'],
    'netstack/tcp/recovery/sent-segments.ts': ['spare'],
  },
  'data about an object for as long as that object lives': {
    'server/local-http/bind.ts': ['claims'],
    'io/net/links/closing.ts': ['listenersOf'],
    'io/net/sockets/kernel/kernel-sockets.ts': ['guards'],
    'io/net/sockets/node/udp-socket.ts': ['claims'],
    'netstack/wire/checksum.ts': ['views'],
  },
  'a table that is filled when the module is loaded, or used first': {
    'config/shown-keys.ts': ['keys'],
    'http/fields/literals.ts': ['TRANSITIONS', 'MAY_END'],
    'http/http2/hpack.ts': ['BY_NAME'],
    'quic/wire/frame-types.ts': ['RULES'],
  },
  'parts of the program that have been imported, which a process has once': {
    'proxy/dns/create-resolver.ts': ['EXCHANGES'],
    'proxy/protocols/registry.ts': ['FORMS', 'PROTOCOLS'],
    'proxy/transports/acceptor.ts': ['SERVERS'],
    'proxy/transports/create-dialer.ts': ['CLIENTS'],
  },
  'an object that never changes': {
    'netstack/tcp/recovery/sent-segments.ts': ['NO_TABLE'],
    'proxy/protocols/shadowsocks/edition-2022/identity.ts': ['identityKeys'],
    'proxy/protocols/shadowsocks/keys.ts': ['sessionKeys'],
    'quic/recovery/sent-packets.ts': ['NO_FACTS'],
    'base/tables.ts': ['SEGMENTER'],
    'watch/clash-api/serve/controller.ts': ['ENDPOINTS'],
    'watch/dashboard/server/dashboard-server.ts': ['ROUTER'],
  },
};

const BY_FILE = new Map<string, Set<string>>();
for (const files of Object.values(ALLOWED)) {
  for (const [file, names] of Object.entries(files)) {
    BY_FILE.set(file, (BY_FILE.get(file) ?? new Set<string>()).union(new Set(names)));
  }
}

/** Classes whose instances change only by methods and assignments that `isChanged` finds. */
const PLAIN = /^((Weak)?(Map|Set)|DataView|RegExp|URL|TextEncoder|TextDecoder|\w+Array|\w*Error)$/;

/** Whether a file writes to a collection, a buffer or a list of this name. */
const isChanged = (source: string, name: string): boolean =>
  new RegExp(
    `(?<![\\w.#])${name}(\\.((set|add|delete|clear|push|pop|shift|unshift|splice|fill|sort)\\w*\\(|length = )|\\[[^\\]]+\\] [-+|&^]?= )`,
  ).test(source);

function stateOf(source: string): string[] {
  const found: string[] = [];
  for (const [, keyword, name = '', value = ''] of source.matchAll(
    /^(?:export )?(let|var|const) (\w+)(?:[^=\n]|=>)*(?:=\s*(?=([^]{0,60})))?/gm,
  )) {
    const made = /^new (\w+)/.exec(value)?.[1];
    const isState =
      keyword !== 'const' ||
      (made !== undefined && !PLAIN.test(made)) ||
      ((made !== undefined || /^[[{]/.test(value)) && isChanged(source, name));
    if (isState) found.push(name);
  }
  return found;
}

test('modules below app have no state but what all instances in a process may share', async () => {
  const found: string[] = [];
  const listed = new Map([...BY_FILE].map(([file, names]) => [file, new Set(names)]));
  for (const file of await sourceFiles()) {
    if (ABOVE.test(file)) continue;
    for (const name of stateOf(sourceText(file))) {
      if (!listed.get(file)?.delete(name)) found.push(`${file}: ${name}`);
    }
  }
  assert.deepEqual(found, []);
  const unused = [...listed].flatMap(([file, names]) =>
    [...names].map((name) => `${file}: ${name}`),
  );
  assert.deepEqual(unused, [], 'listed, but not there');
});

test('state is found in every form', () => {
  for (const [source, names] of [
    ['let a = 1;', ['a']],
    ['export let a: number | undefined;', ['a']],
    ['const a = new Map<string, number>();\nfunction f() { a.set("b", 1); }', ['a']],
    ['const a: string[] = [];\nexport const f = () => a.push("b");', ['a']],
    ['const a = new Tunnels({\n  bind,\n});', ['a']],
    ['const a = new Uint8Array(4);\nfunction f() { a[0] = 1; }', ['a']],
    ['const a: ReadonlySet<string> = new Set(["b"]);', []],
    ['const a = new Uint8Array(0);\nconst b = a[0] === 1;', []],
    ['function f() {\n  let a = 1;\n}', []],
  ] as const) {
    assert.deepEqual(stateOf(source), names, source);
  }
});
