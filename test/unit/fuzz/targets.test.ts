import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles, sourceText } from '../../../tools/architecture/imports.ts';
import { FUZZ_TARGETS } from '../../fuzz/long/targets.ts';

/** Rooms that read what others wrote: peers, providers, files. */
const ROOMS =
  /^(http|quic\/wire|netstack\/wire|mux|dns|protocols|transports|engine\/(sniff|geo)|import|config\/toml|client|subscribe\/answer|api\/(requests|http)|platform\/netlink)\//;

/** What such a file exports. */
const PARSER =
  /^export (?:async )?(?:function\*? (?:decode|parse|read)[A-Z]|(?:abstract )?class \w*(?:Decoder|Reader|Sniffer|Scanner|Opener|Framing|Reassembly)\b)/m;

/** Parsers without a line of their own, and why that is enough. */
const WITHOUT: Readonly<Record<string, string>> = {
  'api/http/body.ts': 'bounds what Node parses; its content is read by `api-requests`',
  'client/api-client.ts': 'whole responses: test/unit/client/hostile-api.slow.test.ts',
  'dns/settings.ts': 'decoded tables of the configuration: test/unit/config/fuzz.slow.test.ts',
  'platform/netlink/machine-network.ts': 'from the kernel: test/unit/platform/netlink',
  'platform/netlink/route-messages.ts': 'from the kernel: test/unit/platform/netlink',
  'protocols/inbounds/handshake.ts': 'runs the readers of the protocols',
  'protocols/shadowsocks/edition-2022/stream.ts': 'test/unit/protocols/shadowsocks/fuzz.test.ts',
  'protocols/shadowsocks/legacy/stream.ts': 'test/unit/protocols/shadowsocks/fuzz.test.ts',
  'protocols/shadowsocks/request.ts': 'test/unit/protocols/shadowsocks/fuzz.test.ts',
  'protocols/shadowsocks/keys.ts': 'keys of the configuration',
  'protocols/users/uuid.ts': 'ids of the configuration',
  'protocols/vmess/header/auth-id.ts': 'test/unit/protocols/vmess/auth-id.test.ts',
};

test('every parser of foreign bytes is in the table of fuzz targets, or has a reason not to be', async () => {
  const listed = new Set(FUZZ_TARGETS.flatMap(({ files }) => files));
  const parsers = (await sourceFiles()).filter(
    (file) => ROOMS.test(file) && PARSER.test(sourceText(file)),
  );
  const missing = parsers.filter((file) => !listed.has(file) && !(file in WITHOUT));
  assert.deepEqual(missing, []);
  const superfluous = Object.keys(WITHOUT).filter(
    (file) => listed.has(file) || !parsers.includes(file),
  );
  assert.deepEqual(superfluous, [], 'reasons that are no longer needed');
});

test('the table of fuzz targets names files that exist, and each target once', async () => {
  const files = new Set(await sourceFiles());
  for (const target of FUZZ_TARGETS) {
    for (const file of target.files) assert.ok(files.has(file), `${target.name}: ${file}`);
  }
  const names = FUZZ_TARGETS.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
});
