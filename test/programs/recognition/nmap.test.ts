import assert from 'node:assert/strict';
import { test } from 'node:test';
import { portOf } from '../../support/data/address.ts';
import { httpIn } from '../../support/process/config.ts';
import { Weir } from '../../support/process/weir.ts';
import { PASSWORD } from '../../support/ways/secrets.ts';
import { SILENT_PROTOCOLS, silentConfig } from '../support/bare-inbounds.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';

const nmap = programOrSkip('nmap');

const WS =
  `[[inbound]]\ntag = "ws"\nprotocol = "trojan"\nport = 0\n` +
  `[inbound.stream]\nnetwork = "ws"\nws = { path = "/tunnel" }\n` +
  `[inbound.settings]\nusers = [{ password = "${PASSWORD}" }]\n`;
const HTTP = httpIn(
  'http',
  `[inbound.settings]\naccounts = [{ user = "u", pass = "${PASSWORD}" }]`,
);

/** What nmap makes of each inbound: the product, or else the service if it was recognised. */
async function recognised(weir: Weir, tags: readonly string[]): Promise<Record<string, string>> {
  const ports = new Map(tags.map((tag) => [String(portOf(weir.address(tag))), tag]));
  const scripts = 'http-open-proxy,socks-open-proxy';
  const args = ['-Pn', '-n', '-sV', '-p', [...ports.keys()].join(), '--script', scripts];
  const text = await outputOf(nmap.path, [...args, '-oX', '-', '127.0.0.1'], 400_000);
  assert.doesNotMatch(text, /Potentially OPEN proxy/);
  const found: Record<string, string> = {};
  for (const [, port = '', rest = ''] of text.matchAll(
    /<port [^>]*portid="(\d+)">(.*?)<\/port>/gs,
  )) {
    const service = /<service ([^>]*)>/.exec(rest)?.[1] ?? '';
    const product = /product="([^"]*)"/.exec(service)?.[1];
    const isProbed = service.includes('method="probed"');
    const name = isProbed ? (/name="([^"]*)"/.exec(service)?.[1] ?? '') : 'unknown';
    found[ports.get(port) ?? ''] = product ?? name;
  }
  return found;
}

test(
  'nmap recognises no inbound of a protocol without responses, and takes WebSocket for a server in Go',
  { skip: nmap.skip },
  async () => {
    await using weir = await Weir.start(silentConfig(WS + HTTP));
    const seen = await recognised(weir, [...SILENT_PROTOCOLS, 'ws', 'http']);
    assert.match(seen['ws'] ?? '', /^Golang net\/http server/);
    assert.equal(seen['http'], 'http-proxy');
    for (const name of SILENT_PROTOCOLS) assert.equal(seen[name], 'unknown', name);
  },
);
