import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles, sourceText } from '../../../tools/architecture/imports.ts';
import { FUZZ_TARGETS } from '../../fuzz/long/targets.ts';

/** Rooms that read what others wrote: peers, providers, files. */
const ROOMS =
  /^(http|quic\/wire|netstack\/wire|proxy\/(mux|dns|protocols|transports|engine\/(sniff|geo))|nodes\/(import|subscribe\/answer)|config\/toml|client\/client|server\/api|io\/platform\/netlink)\//;

/** What such a file exports. */
const PARSER =
  /^export (?:async )?(?:function\*? (?:decode|parse|read)[A-Z]|(?:abstract )?class \w*(?:Decoder|Reader|Sniffer|Scanner|Opener|Framing|Reassembly)\b)/m;

/** Parsers without a line of their own, and why that is enough. */
const WITHOUT: Readonly<Record<string, string>> = {
  'client/client/api-client.ts':
    'whole responses: packages/client/test/unit/client/hostile-api.slow.test.ts',
  'proxy/dns/settings.ts':
    'decoded tables of the configuration: packages/config/test/unit/fuzz.slow.test.ts',
  'io/platform/netlink/machine-network.ts':
    'from the kernel: packages/io/test/unit/platform/netlink',
  'io/platform/netlink/route-messages.ts':
    'from the kernel: packages/io/test/unit/platform/netlink',
  'proxy/protocols/inbounds/handshake.ts': 'runs the readers of the protocols',
  'proxy/protocols/shadowsocks/edition-2022/stream.ts':
    'packages/proxy/test/unit/protocols/shadowsocks/fuzz.test.ts',
  'proxy/protocols/shadowsocks/legacy/stream.ts':
    'packages/proxy/test/unit/protocols/shadowsocks/fuzz.test.ts',
  'proxy/protocols/shadowsocks/request.ts':
    'packages/proxy/test/unit/protocols/shadowsocks/fuzz.test.ts',
  'proxy/protocols/shadowsocks/keys.ts': 'keys of the configuration',
  'proxy/protocols/users/uuid.ts': 'ids of the configuration',
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
