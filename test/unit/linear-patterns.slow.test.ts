import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressPlace } from '../../packages/server/src/local-http/guard.ts';
import {
  parseSelector,
  percentDecode,
  parsePickBody,
} from '../../packages/server/src/api/requests.ts';
import { parseHead } from '../../packages/server/src/api/http/request-filter.ts';
import { EventReader } from '../../packages/client/src/client/event-reader.ts';
import { shownLine } from '../../packages/config/src/shown-line.ts';
import { loadProtocols } from '@weir/proxy/protocols';
import { parseToml } from '@weir/config/toml';
import { parseServerKey } from '@weir/crypto/certificates';
import { DomainSniffer, sniffDomain } from '../../packages/proxy/src/engine/sniff.ts';
import { chooseFilter } from '@weir/base/log';
import { trimBlanks } from '../../packages/http/src/fields/field.ts';
import { ChunkedDecoder } from '../../packages/http/src/http1/body.ts';
import { listOf, parseField } from '../../packages/http/src/http1/message.ts';
import { HeadScanner, parseRequestHead, parseResponseHead } from '@weir/http/http1';
import { parseRequestTarget } from '../../packages/proxy/src/protocols/http/request-target.ts';
import { decodeEarlyData, hostWithoutPort, splitWsPath } from '@weir/proxy/transports/ws/handshake';
import { sourceFiles, sourceText } from '../../tools/architecture/imports.ts';
import { growthOf, MOST_GROWTH } from '../support/process/growth.ts';
import { isLinearByForm, regexLiterals } from '../support/data/regex-literals.ts';

await loadProtocols();

/** A text of about so many characters. */
type Worst = (length: number) => string;

/** `unit` over and over, between what leads a matcher there and what makes it fail. */
const run =
  (before: string, unit: string, after = '\0'): Worst =>
  (length) =>
    flat(before + unit.repeat(Math.ceil(length / unit.length)) + after);

/** Two runs of the same length, which a matcher could divide between its repetitions. */
const runs =
  (before: string, first: string, second: string, after = '\0'): Worst =>
  (length) => {
    const half = Math.ceil(length / 2);
    return flat(before + first.repeat(half) + second.repeat(half) + after);
  };

/** In one piece, as text from the network is, not the tree that `repeat` and `+` leave. */
const flat = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

interface Row {
  /** Without `packages` and `src`. */
  readonly file: string;
  readonly pattern: RegExp;
  /** What makes it try most, each more than one way where repetitions could share characters. */
  readonly worst: readonly Worst[];
}

/*
 * Every pattern of the program whose form alone does not show that its work is linear, with the
 * inputs that would show it if it were not. A new pattern belongs here with its worst inputs, or is
 * better written as a scan.
 */
/* oxlint-disable no-control-regex -- the patterns are those of the program */
const PATTERNS: readonly Row[] = [
  {
    file: 'proxy/protocols/forms/draft.ts',
    pattern: /^\s*\d{1,5}(?:\.0{1,9})?\s*$/,
    worst: [run('', ' '), run('1', ' '), run('1.', '0'), run('', '1')],
  },
  {
    file: 'nodes/import/document.ts',
    pattern: /^["']?(?:proxies|Proxy|proxy-providers|proxy-groups|rules)["']?[ \t]*:/m,
    worst: [run('proxies', ' '), run('', 'proxies '), run('', '"rules"\n'), run('', '"')],
  },
  {
    file: 'nodes/import/links/share-links.ts',
    pattern: /\s(?=[a-z][a-z0-9+.-]*:\/\/)/gi,
    worst: [run(' ', 'a'), run('', ' a'), run('', ' '), run(' a', '.'), run('', ' a:/')],
  },
  {
    file: 'nodes/import/parse/json.ts',
    pattern: /^(?:null|true|false|\d{1,20}|\[\s*\])\s*,/,
    worst: [run('[', ' '), run('null', ' '), run('', '1'), run('[]', ' ')],
  },
  {
    file: 'nodes/import/values/information.ts',
    pattern:
      /^(?:[^\p{L}\p{N}]*$|\s*[/]\s*[\d∞]|\s*[|:：=~,;()（）]|\s+-\s|\s+(?:left|remain|used|free|of|out|total|avail|per|traffic|data|until|expire)|\s*[\p{Script=Han}\p{Script=Cyrillic}])/u,
    worst: [run('', ' '), run('', '-'), run('', '\u{1F3A5}'), run(' - ', ' ')],
  },
  {
    file: 'nodes/import/write/markers.ts',
    pattern: /\s*;\s*([a-z-]{1,32})\s*:\s*("(?:[^"\\]|\\.)*")/y,
    worst: [run('', ' '), run(';', ' '), run('; a', ' '), run('; a:', ' '), run('; a: "', '\\')],
  },
  {
    file: 'io/platform/process/memory.ts',
    pattern: /^(?=[0-9a-f]+-[0-9a-f]+ )/m,
    worst: [run('', '0'), runs('', '0', '-'), run('', '0-0\n'), run('', '0\n')],
  },
  {
    file: 'io/platform/process/memory.ts',
    pattern: /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ +(.*)/,
    worst: [run('0-0 r-xp 0 0 0 ', ' '), run('', '0'), run('0-0 ', 'a'), run('0-0 r 0 0 ', '1')],
  },
  {
    file: 'io/platform/process/memory.ts',
    pattern: /^Anonymous: +0 kB$/m,
    worst: [run('Anonymous: ', ' '), run('', 'Anonymous:  \n')],
  },
  {
    file: 'proxy/transports/tls/trust-store.ts',
    pattern:
      /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]+-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g,
    worst: [
      run('-----BEGIN CERTIFICATE-----', 'A'),
      run('', '-----BEGIN CERTIFICATE-----'),
      run('', '-----BEGIN CERTIFICATE-----A'),
      run('', '-'),
    ],
  },
  {
    file: 'server/api/requests.ts',
    pattern: /^application\/(?:[\w!#$&^.+-]+\+)?json[ \t]*(?:;|$)/i,
    worst: [
      run('application/', '+'),
      run('application/', '+json'),
      run('application/json', ' '),
      run('application/', 'a'),
    ],
  },
  {
    file: 'server/api/requests.ts',
    pattern: /-?(?:0|[1-9]\d*)(?<rest>\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)?/y,
    worst: [run('', '1'), runs('1.', '1', '1', 'e'), runs('1.1e', '1', '1', 'e')],
  },
  {
    file: 'server/local-http/router.ts',
    pattern: /^[a-z][a-z0-9+.-]*:\/\/(?<authority>[^/?#]*)/i,
    worst: [run('', 'a'), run('a:/', 'a'), run('a', '://')],
  },
  {
    file: 'server/local-http/guard.ts',
    pattern: /^(?:[^@]*@)?(?<host>\[[^\]]*\]|[^:]*)(?::(?<port>\d*))?$/,
    worst: [
      run('', 'a'),
      run('', '@'),
      run('', ':'),
      run('[', 'a'),
      run('a:', '1'),
      runs('', 'a', '1', ':a'),
      run('', '[]'),
    ],
  },
  {
    file: 'config/api.ts',
    pattern: /^(?<host>[\d.]+|\[[^\]]+\]):(?<digits>\d+)$/,
    worst: [run('', '1'), run('[', ':'), run('1:', '1'), run('[', '[')],
  },
  {
    file: 'config/api.ts',
    pattern: /%(?!\d+$)/,
    worst: [run('', '%', '1'), run('%', '1', ''), run('', '%1')],
  },
  {
    file: 'config/sources/read-tables.ts',
    pattern: /^[\w."'-]+\s*([:=]?)(.*)/s,
    worst: [run('', 'a'), run('a', ' '), runs('', 'a', ' '), run('a =', '=')],
  },
  {
    file: 'proxy/schema/decoder.ts',
    pattern: /^\d+ *[-,:]/,
    worst: [run('', '1'), run('1', ' '), runs('', '1', ' ')],
  },
  {
    file: 'config/sources/decode-source.ts',
    pattern: /^\n> weir-proxy@[^\n]*\n> [^\n]*\n\n/,
    worst: [run('\n> weir-proxy@', 'a'), run('\n> weir-proxy@\n> ', 'a'), run('', '\n> ')],
  },
  {
    file: 'config/toml/parse.ts',
    pattern: /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\w-]+/y,
    worst: [run('"', 'a'), run('"', '\\"'), run('"', '\\'), run("'", 'a'), run('', 'a')],
  },
  {
    file: 'config/values.ts',
    pattern: /^[^:]*:\d+$/,
    worst: [run('', '1'), run(':', '1'), run('', ':1')],
  },
  {
    file: 'config/values.ts',
    pattern: /^ *(?<low>\d+) *(?:- *(?<high>\d+) *)?$/,
    worst: [
      run('', ' '),
      run('1', ' '),
      run('', '1'),
      runs('1', ' ', ' ', '-'),
      run('1-1', ' '),
      runs('1 -', ' ', '1', ' x'),
    ],
  },
  {
    file: 'crypto/certificates.ts',
    pattern: /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
    worst: [
      run('', '-'),
      run('', '-----BEGIN CERTIFICATE-----'),
      run('', '-----BEGIN CERTIFICATE-----\n'),
      run('-----BEGIN CERTIFICATE-----', 'A'),
    ],
  },
  {
    file: 'crypto/certificates.ts',
    pattern:
      /-----BEGIN (?:(?:RSA|EC|ENCRYPTED) )?PRIVATE KEY-----(?:[^-]|-(?!----))+-----END (?:(?:RSA|EC|ENCRYPTED) )?PRIVATE KEY-----/,
    worst: [
      run('', '-'),
      run('-----BEGIN PRIVATE KEY-----', '-'),
      run('', '-----BEGIN PRIVATE KEY-----'),
      run('', '-----BEGIN PRIVATE KEY-----\n'),
      run('-----BEGIN PRIVATE KEY-----', 'A'),
    ],
  },
  {
    file: 'proxy/dns/settings.ts',
    pattern: /^(?:(?<v4>[\d.]+)|\[(?<v6>[\da-fA-F:.]+(?:%\d+)?)\]):(?<port>\d+)$/,
    worst: [run('', '1'), run('[', '1'), run('[1%', '1'), run('[1]:', '1'), runs('[', ':', '1')],
  },
  {
    file: 'proxy/engine/sniff.ts',
    pattern: /:[0-9]*$/,
    worst: [run('', ':'), run(':', '1'), run('', ':1')],
  },
  {
    file: 'base/log/logger.ts',
    pattern: /^(?<target>[\w:-]+)?(?<span>\[[^\]]*\])?(?:=(?<level>\w*))?$/,
    worst: [run('', 'a'), run('a[', '['), run('a=', 'a'), run('', '[]'), runs('', 'a', 'a', '=a=')],
  },
  {
    file: 'proxy/protocols/http/responses.ts',
    pattern: /^basic +([A-Za-z0-9+/]+={0,2})$/i,
    worst: [run('basic', ' '), run('basic ', 'a'), runs('basic ', ' ', 'a'), run('basic a', '=')],
  },
  {
    file: 'http/http1/head.ts',
    pattern: /^[ \t]*([0-9]+)[ \t]*$/,
    worst: [run('', ' '), run('', '1'), run('1', ' '), runs('', ' ', '1')],
  },
  {
    file: 'http/http1/head.ts',
    pattern: /^([^:\s]+)[ \t]+:/,
    worst: [run('', 'a'), run('a', ' '), run('', 'a '), run('', ' ')],
  },
  {
    file: 'proxy/protocols/http/request-target.ts',
    pattern: /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(.*)$/s,
    worst: [run('', 'a'), run('a://', 'a', '\n'), run('a://', '/', '\n'), run('', 'a://', '\n')],
  },
  {
    file: 'proxy/protocols/http/request-target.ts',
    pattern: /^([A-Za-z][A-Za-z0-9+.-]*:\/\/)[^/?#@]*@/,
    worst: [run('', 'a'), run('a://', 'a')],
  },
  {
    file: 'proxy/protocols/http/request-target.ts',
    pattern: /^(\[[^\]]*\]|[^:[\]]*)(?::([0-9]*))?$/,
    worst: [run('', 'a'), run('[', 'a'), run('[]:', '1'), run('', ':'), run('', '[]')],
  },
  {
    file: 'proxy/protocols/hysteria2/wire.ts',
    pattern: /^(?:\[([^[\]]+)\]|([^:[\]]+)):([0-9]{1,5})$/,
    worst: [run('[', 'a'), run('', 'a'), run('a:', '1'), run('', '['), run('[a]', ':')],
  },
  {
    file: 'proxy/protocols/users/uuid.ts',
    pattern: /^(?:\{([^{}]*)\}|urn:uuid:(.*))$/s,
    worst: [run('{', 'a'), run('urn:uuid:', 'a', '\n'), run('', '{')],
  },
  {
    file: 'proxy/transports/tls/tls-reason.ts',
    pattern: /\balert (.+)/s,
    worst: [run('', 'alert '), run('', 'a'), run('alert ', 'a', '\n')],
  },
  {
    file: 'proxy/transports/ws/handshake.ts',
    pattern: /^\[([^\]]*)\](?::\d*)?$/,
    worst: [run('[', 'a'), run('[', '['), run('[]:', '1'), run('', '[]')],
  },
  {
    file: 'io/net/addresses/addresses.ts',
    pattern: /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/,
    worst: [run('', '.'), run('', '.1'), run('', '1'), run('.0x', 'a'), run('', '.0x0')],
  },
  {
    file: 'proxy/dns/system/host-config.ts',
    pattern: /\[[^\][]*\]|[^\s[\]]+/g,
    worst: [run('', '['), run('[', 'a'), run('', 'a'), run('', '[]'), run('', 'a[')],
  },
  {
    file: 'watch/diagnose/collect-diagnosis.ts',
    pattern:
      /^(?:WEIR_\w+|RUST_LOG|NODE_\w+|UV_\w+|SSL_CERT_\w+|NO_COLOR|JOURNAL_STREAM|NOTIFY_SOCKET|LISTEN_FDS)$/,
    worst: [run('WEIR_', 'a'), run('SSL_CERT_', 'A'), run('', 'UV_')],
  },
  {
    file: 'watch/diagnose/collect-diagnosis.ts',
    pattern: /^PRETTY_NAME="?([^"\n]*)/m,
    worst: [run('', 'PRETTY_NAME'), run('PRETTY_NAME=', 'a'), run('', '\n')],
  },
  {
    file: 'server/local-http/listen-option.ts',
    pattern: /^(?<host>localhost|[\d.]+|\[[^\]]+\]):(?<port>\d{1,5})$/i,
    worst: [run('', '1'), run('[', ':'), run('[', '['), run('[1]', ':'), run('1:', '1')],
  },
  {
    file: 'config/shown-line.ts',
    pattern: /[ \t]*[:=]?[ \t]*/y,
    worst: [run('', ' '), runs('', ' ', ' ', 'a'), runs('', ' ', ':', 'a')],
  },
  {
    file: 'config/shown-line.ts',
    pattern: /^(?:[\w.-]+[ \t]*=|\[[[ \t\w.-]*\]+)$/,
    worst: [run('', 'a'), runs('', 'a', ' '), run('', '['), runs('[', 'a', ']', 'b')],
  },
  {
    file: 'config/shown-line.ts',
    pattern: /^[\w-]+\.[\w.-]+:\d{1,5}$/,
    worst: [run('', 'a'), run('a', '.'), run('a.b:', '1'), run('', 'a.')],
  },
];
/* oxlint-enable no-control-regex */

const nameOf = (file: string, pattern: string): string => `${file} ${pattern}`;

test('every pattern that may go back over its input is in the table, and no other', async () => {
  const known = PATTERNS.map(({ file, pattern }) => nameOf(file, String(pattern)));
  const doubtful: string[] = [];
  for (const file of await sourceFiles()) {
    for (const literal of regexLiterals(sourceText(file))) {
      const { source, flags } = literal;
      if (!isLinearByForm(literal)) doubtful.push(nameOf(file, String(new RegExp(source, flags))));
    }
  }
  assert.deepEqual(doubtful.toSorted(), known.toSorted());
});

test('no pattern is put together at run time', async () => {
  for (const file of await sourceFiles()) {
    assert.doesNotMatch(sourceText(file), /\bRegExp\(/, file);
  }
});

describe('the work of a pattern is linear in its input', () => {
  for (const { file, pattern, worst } of PATTERNS) {
    test(nameOf(file, String(pattern)), () => {
      assert.ok(worst.length > 0);
      for (const input of worst) assertLinear(input, (text) => text.replace(pattern, ''));
    });
  }
});

const TRIES = 3;

function assertLinear<T>(worst: (length: number) => T, call: (input: T) => unknown): void {
  // A collection in the wrong moment makes a parser look worse than it is, never better.
  let growth = Infinity;
  for (let i = 0; i < TRIES && growth > MOST_GROWTH; i++) {
    growth = Math.min(growth, growthOf(worst, call));
  }
  const shown = JSON.stringify(worst(24));
  assert.ok(growth <= MOST_GROWTH, `${growth.toFixed(0)}-fold for 8 times as much of ${shown}`);
}

/** What a parser makes of bytes that come one by one. */
const oneByOne = (bytes: Buffer): Buffer[] =>
  Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));

const bytesOf =
  (worst: Worst) =>
  (length: number): Buffer =>
    Buffer.from(worst(length), 'latin1');

/** A parser, called for what it costs: what it says of the input is tested elsewhere. */
const parser =
  <T>(parse: (input: T) => unknown) =>
  (input: T): void => {
    try {
      parse(input);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
  };

const HEAD = 'GET / HTTP/1.1\r\n';

const ofText: readonly [name: string, parse: (text: string) => unknown, worst: readonly Worst[]][] =
  [
    ['trimBlanks', trimBlanks, [run('a', ' ', 'a'), run('', ' '), runs('', ' ', '\t', 'a')]],
    [
      'shownLine',
      (text) => shownLine(text, 0, text.length),
      [
        run('', '"'),
        run('a = "', 'a'),
        run('a = [', '"a",'),
        run('', 'a.'),
        run('a = {', 'port = 1,'),
        run('a = {', 'prt = 1,'),
        run('', 'a={'),
        run('tag = "', "'"),
        run('tag = ', '“'),
        run('tag = ', '“', '”'),
        run('tag = a', ', tag = a'),
        run('[', 'a.', 'a]'),
        run('tag = "', ':'),
        run('tag = "', '\\'),
      ],
    ],
    ['parseField', parseField, [run('a: b', ' ', 'c'), run('a:', ' ', ''), run('', 'a', ':')]],
    [
      'listOf',
      (value) => listOf([{ name: 'A', key: 'a', value }], 'a'),
      [run('a', ' ', 'a'), run('', ','), run('', ' ,')],
    ],
    [
      'parseRequestTarget',
      (target) => parseRequestTarget('GET', target),
      [run('http://', 'a'), run('http://a/', '?'), run('a', '://')],
    ],
    [
      'isOwnOrigin',
      (host) => addressPlace(80).isOwnOrigin(`http://${host}`, host),
      [run('', '@'), run('', ':'), run('[', ']'), run('[', 'a', ']')],
    ],
    ['percentDecode', percentDecode, [run('', '%'), run('', '%41'), run('', '%4')]],
    ['parseSelector', parseSelector, [run('', '&'), run('user=', '+'), run('session=', '0')]],
    ['decodeEarlyData', decodeEarlyData, [run('', 'a', '=='), run('', '='), run('a', '=', 'a')]],
    ['hostWithoutPort', hostWithoutPort, [run('', ' '), run('', ':'), run('[', '['), run('', ']')]],
    ['splitWsPath', splitWsPath, [run('', '?'), run('/?', '&'), run('/?', 'ed=1&')]],
    [
      'chooseFilter',
      (text) => chooseFilter(text, ''),
      [run('a', ' ', 'a'), run('', 'a='), run('', ',')],
    ],
    [
      'parseToml',
      parseToml,
      [
        run('a = "', 'a', '"'),
        run('#', ' ', ''),
        run('', '\n', ''),
        run('a = [', ' ', ']'),
        run('a = [', '1,', ']'),
        run('a = """', 'a\n', '"""'),
      ],
    ],
  ];

const ofBytes: readonly [
  name: string,
  parse: (bytes: Buffer) => unknown,
  worst: readonly Worst[],
][] = [
  [
    'parseRequestHead',
    parseRequestHead,
    [
      run(`${HEAD}A: b`, ' ', 'c\r\n\r\n'),
      run('GET', ' ', 'HTTP/1.1\r\n\r\n'),
      run(HEAD, 'a:\r\n', '\r\n'),
      run(HEAD, '\r\n', '\r\n'),
    ],
  ],
  [
    'parseResponseHead',
    parseResponseHead,
    [
      run('HTTP/1.1 200 OK\r\nA: b', ' ', 'c\r\n\r\n'),
      run('HTTP/1.1 200 OK\r\nA:', '\n ', '\n\n'),
      run('HTTP/1.1 200 ', ' ', '\r\n\r\n'),
      run('HTTP/1.1 200 OK\r\nA', ' ', ':\r\n\r\n'),
    ],
  ],
  [
    "parseHead of the control API's own reader",
    (bytes) => parseHead(bytes, 0),
    [
      run('Q / HTTP/1.1\r\nA: b', ' ', '\0\r\n\r\n'),
      run('Q / HTTP/1.1\r\nA: ', ' ', '\0\r\n\r\n'),
      run('Q', ' ', '\r\n\r\n'),
      run('Q / HTTP/1.1', '\r\nA:', '\r\n\r\n'),
    ],
  ],
  [
    'parsePickBody',
    parsePickBody,
    [run('{', ' '), run('{"target":', '1'), run('{"target":"', '\\"'), run('{"target":"', '\n')],
  ],
  [
    'parseServerKey',
    (bytes) => parseServerKey(bytes, ''),
    [run('', '-----BEGIN PRIVATE KEY-----\n'), run('-----BEGIN PRIVATE KEY-----', '-')],
  ],
  [
    'sniffDomain',
    sniffDomain,
    [
      run('GET', ' '),
      runs('GET', ' ', 'x'),
      run('GET /', 'a'),
      runs('CONNECT ', 'a', ' '),
      run('GET / HTTP/1.1\r\nHost:', ' ', 'a\r\n'),
      run('GET / HTTP/1.1\r\n', 'A:\n'),
      run('GET http://', '@', ' HTTP/1.1\r\n'),
    ],
  ],
  ['sniffDomain of TLS', sniffDomain, [run('', '\x16\x03\x01\0\x01\x01', '')]],
  [
    'ChunkedDecoder',
    (bytes) => new ChunkedDecoder().push(bytes, []),
    [
      run('0\r\nA: b', ' ', 'c\r\n\r\n'),
      run('0', '0'),
      run('', '1\r\na\r\n'),
      run('1', ' ', ';\r\n'),
    ],
  ],
];

/** Those that are given a stream as it comes, here byte by byte. */
const ofStreams: readonly [
  name: string,
  parse: (pieces: Buffer[]) => unknown,
  worst: readonly Worst[],
][] = [
  [
    'DomainSniffer',
    (pieces) => {
      const sniffer = new DomainSniffer();
      const whole = pieces[0]?.buffer;
      const start = pieces[0]?.byteOffset ?? 0;
      if (!whole) return;
      for (let length = 1; length <= pieces.length; length++) {
        sniffer.look(new Uint8Array(whole, start, length));
      }
    },
    [
      run('GET', ' '),
      run('GET /', 'a'),
      run('GET / HTTP/1.1\r\n', 'A:\n'),
      run('', '\x16\x03\x01\0\x01\x01', ''),
      run('\x16\x03\x01\x40\x00\x01\0\x40\0\x03\x03', 'a'),
    ],
  ],
  [
    'HeadScanner',
    (pieces) => {
      const scanner = new HeadScanner(65_536, () => true);
      for (const piece of pieces) scanner.push(piece);
    },
    [run('', 'a'), run('', '\r\n'), run('a', '\na'), run('a', '\r')],
  ],
  [
    'EventReader',
    (pieces) => {
      const reader = new EventReader();
      for (const piece of pieces) reader.push(piece.toString('latin1'));
    },
    [run('data: ', 'a'), run('', '\n'), run('event: a\n', 'data: a\n')],
  ],
  [
    'ChunkedDecoder',
    (pieces) => {
      const decoder = new ChunkedDecoder();
      for (const piece of pieces) decoder.push(piece, []);
    },
    [run('0\r\nA: b', ' ', 'c\r\n\r\n'), run('1', ';'), run('', '1\r\na\r\n')],
  ],
];

describe('the work of a parser is linear in its input', () => {
  for (const [name, parse, worst] of ofText) {
    test(name, () => {
      for (const input of worst) assertLinear(input, parser(parse));
    });
  }
  for (const [name, parse, worst] of ofBytes) {
    test(name, () => {
      for (const input of worst) assertLinear(bytesOf(input), parser(parse));
    });
  }
  for (const [name, parse, worst] of ofStreams) {
    test(`${name}, byte by byte`, () => {
      for (const input of worst) {
        assertLinear((length) => oneByOne(bytesOf(input)(length)), parser(parse));
      }
    });
  }
});

describe('the search for patterns', () => {
  test('finds them between divisions, strings, comments and templates', () => {
    const text = [
      'const a = b / c / d; // not /this/',
      'const e = "/nor this/" + `/nor ${f.replace(/[/`}]\\/x/g, "}")} that/`;',
      'if (/y/u.test(e)) return /z/;',
    ].join('\n');
    assert.deepEqual(regexLiterals(text), [
      { source: '[/`}]\\/x', flags: 'g' },
      { source: 'y', flags: 'u' },
      { source: 'z', flags: '' },
    ]);
  });

  test('doubts what could divide its input in several ways or fail late', () => {
    const doubtful = [
      /a+$/,
      / +a* +b/,
      /^(?:a+)+$/,
      /^[ \t]+|[ \t]+$/g,
      /^(?:a*){2}b/,
      /^ *a{2,}b/,
    ];
    for (const pattern of doubtful) assert.ok(!isLinearByForm(pattern), String(pattern));
    const plain = [/a/, /^a+$/, /a+/g, /a*/y, /^[|*+]{2,5}x?$/, /%.*/s, /^\++b/];
    for (const pattern of plain) assert.ok(isLinearByForm(pattern), String(pattern));
  });

  test('and the measure of growth tells quadratic work from linear', () => {
    const blanks = run('a', ' ', 'a');
    assert.ok(growthOf(blanks, (text) => text.replace(/^[ \t]+|[ \t]+$/g, '')) > MOST_GROWTH);
    assert.ok(growthOf(blanks, (text) => text.trim()) <= MOST_GROWTH);
  });
});
