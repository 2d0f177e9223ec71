import assert from 'node:assert/strict';
import { isJsonData } from '../../../../test/support/json-data.ts';
import { describe, test } from 'node:test';
import {
  DIRECT,
  errorOf,
  inbound,
  outbound,
  rule,
  specOf,
  refuses,
  refusesShape,
  type Row,
} from '../../../../test/support/config/support.ts';

const SOCKS = 'protocol = "socks"\n';
const PORT = 'port = 1\n';

const unknownTop = (key: string): string =>
  `unknown field \`${key}\`, expected one of \`log\`, \`dns\`, \`inbound\`, \`outbound\`, \`balancer\`, \`route\`, \`subscribe\`, \`api\``;

/** Errors of the shape, of which the last line and the place are of interest. */
const SHAPE: readonly Row[] = [
  ['plural tables', '[[inbounds]]\n', unknownTop('inbounds'), '1:3'],
  [
    'plural rules',
    '[[route.rules]]\n',
    'unknown field `rules`, expected one of `default`, `geoip`, `geosite`, `rule`',
    '1:9',
  ],
  [
    'one table where several may be',
    '[inbound]\n',
    'invalid type: map, expected a sequence',
    '1:1',
  ],
  [
    'a value where a table must be',
    'log = "debug"',
    'invalid type: string, expected a table',
    '1:7',
  ],
  ['an unknown key of log', '[log]\nfile = "x"', 'unknown field `file`, expected `level`', '2:1'],
  [
    'a level that is no string',
    '[log]\nlevel = 3',
    'invalid type: integer `3`, expected a string',
    '2:9',
  ],
  ['an inbound without a tag', '[[inbound]]\nprotocol = "socks"', 'missing field `tag`', '1:1'],
  ['an inbound without a protocol', '[[inbound]]\ntag = "a"', 'missing field `protocol`', '1:1'],
  ['an outbound without a tag', '[[outbound]]\n', 'missing field `tag`', '1:1'],
  ['an outbound without a protocol', '[[outbound]]\ntag = "a"', 'missing field `protocol`', '1:1'],
  ['a rule without an outbound', '[[route.rule]]\nport = ["1"]', 'missing field `outbound`', '1:1'],
  [
    'a port of 17 bits',
    inbound(`${SOCKS}port = 70000`),
    'invalid value: integer `70000`, expected u16',
    '7:8',
  ],
  [
    'a negative port',
    outbound(`${SOCKS}port = -1`),
    'invalid value: integer `-1`, expected u16',
    '4:8',
  ],
  [
    'a port that is a string',
    inbound(`${SOCKS}port = "1080"`),
    'invalid type: string "1080", expected u16',
    '7:8',
  ],
  [
    'a port of a rule that is an integer',
    rule('port = [443]'),
    'invalid type: integer `443`, expected a string',
    '6:9',
  ],
  [
    'a single port of a rule',
    rule('port = "443"'),
    'invalid type: string, expected a sequence',
    '6:8',
  ],
  [
    'networks of a rule',
    rule('network = ["tcp"]'),
    'invalid type: sequence, expected a string',
    '6:11',
  ],
  [
    'an unknown matcher',
    rule('domain = ["a"]'),
    'unknown field `domain`, expected one of `outbound`, `domain_suffix`, `domain_keyword`, `domain_full`, `domain_regex`, `cidr`, `source_cidr`, `port`, `network`, `inbound_tag`, `geosite`, `geoip`',
    '6:1',
  ],
  [
    'an unknown key of an inbound',
    inbound('address = "x"'),
    'unknown field `address`, expected one of `tag`, `protocol`, `listen`, `port`, `stream`, `address_family`, `sniffing`, `settings`',
    '6:1',
  ],
  [
    'an unknown key of an outbound',
    outbound('listen = "x"'),
    'unknown field `listen`, expected one of `tag`, `protocol`, `server`, `port`, `stream`, `address_family`, `settings`',
    '3:1',
  ],
  [
    'settings that are no table',
    inbound('settings = []'),
    'invalid type: sequence, expected a table',
    '6:12',
  ],
  [
    'sniffing that is no boolean',
    inbound('sniffing = 1'),
    'invalid type: integer `1`, expected a boolean',
    '6:12',
  ],
  [
    'an unknown key of a stream',
    inbound('stream.path = "/"'),
    'unknown field `path`, expected one of `network`, `security`, `tls`, `ws`, `grpc`',
    '6:8',
  ],
  [
    'an unknown key of tls',
    outbound('stream.tls.sni = "x"'),
    'unknown field `sni`, expected one of `server_name`, `allow_insecure`, `ca_file`, `cert_file`, `key_file`',
    '3:12',
  ],
  [
    'an unknown key of ws',
    outbound('stream.ws.headers = {}'),
    'unknown field `headers`, expected `path` or `host`',
    '3:11',
  ],
  [
    'an unknown key of grpc',
    outbound('stream.grpc.service = ""'),
    'unknown field `service`, expected `service_name` or `authority`',
    '3:13',
  ],
  [
    'an unknown key of dns',
    '[dns]\nservers = []',
    'unknown field `servers`, expected one of `backend`, `server`, `server_name`, `url`, `ca_file`',
    '2:1',
  ],
  [
    'a port of a DNS server',
    '[dns]\nserver = 53',
    'invalid type: integer `53`, expected a string',
    '2:10',
  ],
  ['several tables of dns', '[[dns]]\n', 'invalid type: sequence, expected a table', '1:1'],
  ['one table of a balancer', '[balancer]\n', 'invalid type: map, expected a sequence', '1:1'],
  ['plural balancers', '[[balancers]]\n', unknownTop('balancers'), '1:3'],
  [
    'an unknown key of a balancer',
    '[[balancer]]\nmembers = []',
    'unknown field `members`, expected one of `tag`, `outbounds`, `strategy`, `probe_interval`, `probe_timeout`',
    '2:1',
  ],
  ['a balancer without a tag', '[[balancer]]\noutbounds = []', 'missing field `tag`', '1:1'],
  ['a balancer without outbounds', '[[balancer]]\ntag = "b"', 'missing field `outbounds`', '1:1'],
  [
    'one member of a balancer',
    '[[balancer]]\noutbounds = "a"',
    'invalid type: string, expected a sequence',
    '2:13',
  ],
  [
    'a negative interval of probes',
    '[[balancer]]\nprobe_interval = -1',
    'invalid value: integer `-1`, expected u64',
    '2:18',
  ],
  [
    'a fraction of a second',
    '[[balancer]]\nprobe_timeout = 0.5',
    'invalid type: floating point `0.5`, expected u64',
    '2:17',
  ],
  [
    'a geoip path that is a list',
    '[route]\ngeoip = ["a"]',
    'invalid type: sequence, expected a string',
    '2:9',
  ],
  [
    'one code of a rule',
    rule('geosite = "shop"'),
    'invalid type: string, expected a sequence',
    '6:11',
  ],
];

const DOCUMENT: readonly Row[] = [
  ['a file without outbounds', '', 'config defines no outbounds'],
  [
    'a file without outbounds, though its route names one',
    '[route]\ndefault = "x"\n',
    'config defines no outbounds',
  ],
  [
    'two inbounds of one tag',
    `${DIRECT}${`[[inbound]]\ntag = "a"\n${SOCKS}${PORT}`.repeat(2)}`,
    'duplicate inbound tag',
    '9:7 (inbound a)',
  ],
  [
    'two outbounds of one tag',
    DIRECT + DIRECT,
    'duplicate outbound tag: direct',
    '5:7 (outbound direct)',
  ],
];

describe('a shape is refused, with its line, for', () => refusesShape(SHAPE));
describe('a document is refused for', () => refuses(DOCUMENT));

describe('of several errors', () => {
  test('one of the shape comes before any other', () => {
    assert.match(errorOf(`${DIRECT}${DIRECT}[log]\nfoo = 1`).message, /unknown field `foo`/);
  });

  test('the first in the document is reported', () => {
    const wrongRule = '[[route.rule]]\noutbound = "direct"\ncidr = ["x"]\n';
    const wrongInbound = `[[inbound]]\ntag = "a"\n${SOCKS}`;
    assert.match(errorOf(DIRECT + wrongRule + wrongInbound).message, /^invalid cidr/);
    assert.match(errorOf(DIRECT + wrongInbound + wrongRule).message, /^port is required/);
  });

  test('the first of a table is reported', () => {
    const lines = `${SOCKS}${PORT}settings.auth = "x"\nstream.network = "x"`;
    assert.match(errorOf(inbound(lines)).message, /unknown socks auth$/);
  });
});

describe('a log level', () => {
  test('is info when nothing is said', () => {
    assert.equal(specOf(DIRECT).log.level, 'info');
    assert.equal(specOf(`${DIRECT}[log]`).log.level, 'info');
  });

  test('is kept as written, whatever it is', () => {
    for (const level of ['', 'warning', 'debug,svc_app=trace', '=,=']) {
      assert.equal(specOf(`${DIRECT}[log]\nlevel = "${level}"`).log.level, level);
    }
  });
});

test('what comes out survives a structured clone, and JSON text identifies it', () => {
  const spec = specOf(`${DIRECT}[[route.rule]]\noutbound = "blackhole"\ncidr = ["::/0"]`);
  assert.deepEqual(structuredClone(spec), spec);
  assert.ok(isJsonData(spec));
});
