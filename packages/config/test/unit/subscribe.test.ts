import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ConfigError } from '../../src/errors.ts';
import { openConfig, parseConfig } from '../../../../test/support/config/documents.ts';
import { subscribePath } from '../../src/tables/subscribe.ts';
import { RegexCache } from '@weir/proxy/names';
import {
  errorOf,
  loadErrorOf,
  refusesShape,
  type Row,
} from '../../../../test/support/config/support.ts';
import {
  errorOfBoth,
  group,
  nodes,
  outbounds,
  placeOf,
  specOfBoth,
  subscribed,
  viewOf,
} from '../../../../test/support/config/subscribe-support.ts';

/** What `[subscribe]` may not be. */
const TABLE: readonly Row[] = [
  [
    'an unknown key',
    '[subscribe]\nurl = "x"',
    'unknown field `url`, expected `path` or `routes`',
    '2:1',
  ],
  [
    'a path that is no string',
    '[subscribe]\npath = 1',
    'invalid type: integer `1`, expected a string',
    '2:8',
  ],
  [
    'routes that are no table',
    '[subscribe]\nroutes = []',
    'invalid type: sequence, expected a table',
    '2:10',
  ],
  [
    'a pick that is no string',
    '[subscribe.routes]\na = "n"\nb = ["n"]',
    'invalid type: sequence, expected a string',
    '3:5',
  ],
  ['a list of them', '[[subscribe]]\n', 'invalid type: sequence, expected a table', '1:1'],
];

describe('[subscribe] is refused for', () => {
  refusesShape(TABLE);
  test('the want of a path', async () => {
    const error = await loadErrorOf(`${outbounds('a')}[subscribe]\n`, undefined, 'weir.toml');
    assert.equal(
      error.message,
      'cannot read weir.toml: [subscribe] needs a path naming the subscribe file',
    );
    assert.equal(error.kind, 'invalid');
    assert.equal(placeOf(error), 'weir.toml:4:1 (subscribe)');
  });

  test('a file that is not there', async () => {
    const error = await loadErrorOf(`${outbounds('a')}${subscribed()}`, undefined, 'weir.toml');
    assert.equal(
      error.message,
      'cannot read weir.toml: subscribe file sub.toml: no such file or directory',
    );
    assert.equal(error.kind, 'io');
  });
});

describe('the path of the subscribe file', () => {
  const pathIn = (text: string, file?: string): string | undefined => {
    const { file: config, source } = openConfig({ bytes: Buffer.from(text), file });
    return subscribePath(config, source);
  };
  const named = (path: string): string => `[subscribe]\npath = "${path}"\n`;

  test('starts at the folder of the configuration file', () => {
    assert.equal(pathIn(named('sub.toml'), '/etc/weir/weir.toml'), '/etc/weir/sub.toml');
    assert.equal(pathIn(named('../sub.toml'), 'conf/weir.toml'), 'sub.toml');
    assert.equal(pathIn(named('a/sub.toml'), 'weir.toml'), 'a/sub.toml');
    assert.equal(pathIn(named('sub.toml')), 'sub.toml');
  });

  test('may be absolute', () => {
    assert.equal(pathIn(named('/var/sub.toml'), '/etc/weir.toml'), '/var/sub.toml');
  });

  test('is none without [subscribe]', () => assert.equal(pathIn('', 'weir.toml'), undefined));

  for (const [what, text] of [
    ['left out', '[subscribe]\n'],
    ['left out beside routes', '[subscribe.routes]\na = "b"\n'],
    ['empty', named('')],
  ] as const) {
    test(`may not be ${what}`, () => {
      assert.throws(() => pathIn(text, 'weir.toml'), {
        name: 'DocumentReadError',
        kind: 'invalid',
        message: '[subscribe] needs a path naming the subscribe file',
      });
    });
  }

  test('a URL in the place of the path is refused without being quoted', () => {
    assert.throws(
      () => pathIn(named('https://panel.example/sub/sesame?token=sesame'), 'weir.toml'),
      {
        name: 'DocumentReadError',
        kind: 'invalid',
        message: '[subscribe] path is a URL, and has to name a file',
        hint: /^`weir subscribe add NAME URL`/,
      },
    );
  });
});

/** What a subscribe file may not be; the place is in it, and so is the line that is shown. */
const SHAPE: readonly Row[] = [
  ['no TOML', '[[route_group]]\nname = ', 'unspecified values are invalid', '2:7'],
  [
    'other tables',
    '[[outbound]]\n',
    'unknown field `outbound`, expected `proxy_server` or `route_group`',
    '1:3',
  ],
  [
    'a node with a tag',
    `${nodes('n')}tag = "n"\n`,
    'unknown field `tag`, expected one of `name`, `protocol`, `server`, `port`, `stream`, `address_family`, `settings`',
    '4:1',
  ],
  ['a node without a name', '[[proxy_server]]\nprotocol = "socks"', 'missing field `name`', '1:1'],
  ['a node without a protocol', '[[proxy_server]]\nname = "n"', 'missing field `protocol`', '1:1'],
  ['a group without a name', '\n[[route_group]]\n', 'missing field `name`', '2:1'],
  [
    'an unknown key of a group',
    group('g', 'outbound = "n"'),
    'unknown field `outbound`, expected one of `name`, `inherit`, `rule`',
    '3:1',
  ],
  [
    'an outbound of a rule',
    group('g', '[[route_group.rule]]\noutbound = "n"'),
    'unknown field `outbound`, expected one of `domain_suffix`, `domain_keyword`, `domain_full`, `domain_regex`, `cidr`, `source_cidr`, `port`, `network`, `inbound_tag`, `geosite`, `geoip`',
    '4:1',
  ],
  [
    'an unknown word to inherit',
    group('g', 'inherit = "proxy"'),
    'unknown variant `proxy`, expected one of `default`, `direct`, `blackhole`, `group`',
    '3:11',
  ],
  [
    'a number to inherit',
    group('g', 'inherit = 1'),
    'invalid type: integer `1`, expected a string or a table',
    '3:11',
  ],
  [
    'a table to inherit without a group',
    group('g', 'inherit = {}'),
    'missing field `group`',
    '3:11',
  ],
  [
    'a table to inherit with another key',
    group('g', 'inherit = { name = "x" }'),
    'unknown field `name`, expected `group`',
    '3:13',
  ],
];

describe('a subscribe file is refused for', () => {
  for (const [what, text, message, place] of SHAPE) {
    test(what, () => {
      const error = errorOfBoth(outbounds('a') + subscribed(), text);
      const [first, , shown] = error.message.split('\n');
      const { line = 0, column = 0 } = error.location ?? {};
      assert.equal(first, `TOML parse error at line ${line}, column ${column}`);
      assert.equal(shown?.length, `${line} | ${text.split('\n')[line - 1]}`.length);
      assert.equal(error.message.split('\n').at(-1), message);
      assert.equal(placeOf(error), `sub.toml:${place}`);
    });
  }

  test('bytes that are not UTF-8', () => {
    const bytes = Buffer.from([0x23, 0x0a, 0xff]);
    const subscribe = { bytes, file: 'sub.toml' };
    assert.throws(
      () => parseConfig(Buffer.from(subscribed()), { subscribe }),
      (error) => error instanceof ConfigError && placeOf(error) === 'sub.toml:2:1',
    );
  });
});

describe('a node', () => {
  const config = `# a comment, so that places differ\n\n${subscribed()}`;
  const refusals: readonly Row[] = [
    ['of an unknown protocol', nodes('n').replace('freedom', 'ftp'), 'unknown protocol', '3:12'],
    ['without a server', nodes('n').replace('freedom', 'socks'), 'missing server', '1:1'],
    [
      'with settings that its protocol does not have',
      `${nodes('n').replace('freedom', 'socks')}server = "x"\nport = 1\nsettings.users = []\n`,
      'outbound n: invalid settings: unknown field `users`, expected `user` or `pass`',
      '6:10',
    ],
    ['with a name that another has', nodes('m', 'n', 'n'), 'duplicate outbound tag: n', '8:8'],
  ];
  for (const [what, text, message, place] of refusals) {
    test(`${what} is refused as an outbound is, at its place`, () => {
      const error = errorOfBoth(config, text);
      assert.equal(error.message, message);
      assert.equal(placeOf(error), `sub.toml:${place} (outbound n)`);
    });
  }

  test('takes every key of an outbound', () => {
    const text =
      '[[proxy_server]]\nname = "n"\nprotocol = "socks"\nserver = "s.example"\nport = 1080\n' +
      'address_family = "ipv4_only"\nstream.network = "tcp"\nsettings = { user = "u", pass = "p" }\n';
    const asOutbound = text.replace('proxy_server', 'outbound').replace('name', 'tag');
    assert.deepEqual(
      specOfBoth(subscribed(), text).outbounds,
      parseConfig(Buffer.from(asOutbound)).outbounds,
    );
  });
});

test('the first error is of the configuration, then of the subscribe file', () => {
  const wrong = nodes('n').replace('freedom', 'ftp');
  const first = errorOfBoth(`${subscribed()}${outbounds('a', 'a')}`, wrong);
  assert.equal(placeOf(first), 'weir.toml:9:7 (outbound a)');
  assert.equal(placeOf(errorOfBoth(subscribed(), wrong)), 'sub.toml:3:12 (outbound n)');
});

test('a byte order mark and CRLF do no harm, and places are those of the files', () => {
  const crlf = (text: string): string => `\u{feff}${text.replaceAll('\n', '\r\n')}`;
  const error = errorOfBoth(crlf(subscribed()), crlf(nodes('n', 'n')));
  assert.equal(placeOf(error), 'sub.toml:5:8 (outbound n)');
});

test('any two files are a Spec or an error with a place', () => {
  const pieces = [
    '[subscribe]\n', 'path = "s"\n', '[subscribe.routes]\n', 'default = "n"\n', 'g = "direct"\n',
    '[[proxy_server]]\n', 'name = "n"\n', 'name = "g"\n', 'protocol = "freedom"\n', 'protocol = "socks"\n',
    '[[route_group]]\n', 'inherit = "direct"\n', 'inherit = { group = "g" }\n', '[[route_group.rule]]\n',
    'port = ["1"]\n', 'cidr = ["::/129"]\n', '[[outbound]]\n', 'tag = "n"\n', '[[balancer]]\n', '\r\n', '\u{feff}',
    '[route]\n', '"', '=',
  ]; // prettier-ignore
  const text = fc
    .array(fc.constantFrom(...pieces), { maxLength: 12 })
    .map((parts) => parts.join(''));
  const regexes = new RegexCache();
  fc.assert(
    fc.property(text, text, (config, subscribe) => {
      const files = {
        file: 'weir.toml',
        subscribe: { bytes: Buffer.from(subscribe), file: 'sub.toml' },
        regexes,
      };
      try {
        const spec = parseConfig(Buffer.from(config), files);
        assert.deepEqual(structuredClone(spec), spec);
        assert.equal(viewOf(config, subscribe).default.target, spec.route.default);
      } catch (error) {
        assert.ok(error instanceof ConfigError, String(error));
        if (error.location) assert.match(placeOf(error) ?? '', /^(weir|sub)\.toml:\d+:\d+/);
        else assert.equal(error.message, 'config defines no outbounds');
      }
    }),
    { numRuns: 1000 },
  );
});

test('the errors of a configuration do not depend on a subscribe file that it does not name', () => {
  const spec = specOfBoth(outbounds('a'), group('default') + nodes('a'));
  assert.deepEqual(spec, parseConfig(Buffer.from(outbounds('a'))));
  assert.equal(errorOf('').message, 'config defines no outbounds');
});

describe('the page for users', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/subscribe.md'), 'utf8');
  const blocks = Array.from(page.matchAll(/```toml\n([^]*?)```/g), ([, text = '']) => text);

  test('shows two files that go together', () => {
    const [config = '', subscribe = ''] = blocks;
    const spec = specOfBoth(config, subscribe);
    assert.ok(spec.outbounds.length > 2);
  });
});
