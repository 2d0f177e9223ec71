import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { webServer } from '../support/peers/servers.ts';
import { curl } from '../support/programs/curl.ts';
import { startPeer, startXray, without, type Peer } from '../support/programs/peers.ts';
import { SharingServer } from '../support/share/running-server.ts';
import { RAY_SOCKS_IN } from '../support/ways/ray.ts';
import { GRPC_TLS, TLS, wayTitle, WS_TLS, type Way } from '../support/ways/way.ts';

/*
 * What `weir share` prints of a server whose authority clients do not know, in the clients of others: they compare
 * the hash of the certificate. Where it is that of another certificate, nothing passes.
 */

/** A client of another program, with a SOCKS listener, from what `weir share` prints in a form. */
interface Client {
  readonly form: 'link' | 'xray' | 'clash';
  readonly start: (printed: string) => Promise<Peer>;
}

/** Another hash in place of the printed one. */
const withOtherHash = (printed: string): string =>
  printed.replace(
    /((?:pcs|pinSHA256)=|"(?:pinnedPeerCertSha256|fingerprint)": ?")([0-9a-f])/i,
    (_, key: string, digit: string) => `${key}${digit === '0' ? '1' : '0'}`,
  );

/** Fetches a page through clients with the right hash, and with another one. */
async function compares(way: Way, { form, start }: Client): Promise<void> {
  await using origin = await webServer();
  await using server = await SharingServer.start([way]);
  const printed = await server.share('--form', form);
  const url = `http://${origin.host}:${origin.port}/bytes/1000`;
  {
    await using client = await start(printed);
    const { code, stderr, body } = await curl([
      '--proxy',
      `socks5h://${hostPort(client.address)}`,
      url,
    ]);
    assert.equal(code, 0, `${stderr}\n${client.child.stderr}\n${server.weir.child.stderr}`);
    assert.equal(body.bytes, 1000);
  }
  const other = withOtherHash(printed);
  assert.notEqual(other, printed);
  // hysteria ends at once.
  const client = await start(other).catch((error: unknown) => {
    assert.match(String(error), /no certificate matches the pinned hash/);
  });
  if (!client) return;
  await using refusing = client;
  const args = ['--proxy', `socks5h://${hostPort(refusing.address)}`, '--max-time', '15', url];
  assert.notEqual((await curl(args)).code, 0);
}

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

const hysteria: Client = {
  form: 'link',
  start: (printed) =>
    startPeer('hysteria', 1, async ([port], folder) => {
      const file = join(folder, 'config.json');
      const socks5 = { listen: `127.0.0.1:${port}` };
      await writeFile(file, JSON.stringify({ server: lastLine(printed), socks5 }));
      return ['client', '-c', file, '--disable-update-check'];
    }),
};

/** Of links, old versions read no `pcs` (1.19.20 does), and passwords count as they are escaped. */
const mihomo: Client = {
  form: 'clash',
  start: (printed) =>
    startPeer('mihomo', 1, async ([port], folder) => {
      await writeFile(join(folder, 'list.yaml'), printed);
      const config = {
        'socks-port': port,
        'proxy-providers': { shared: { type: 'file', path: './list.yaml' } },
        'proxy-groups': [{ name: 'out', type: 'select', use: ['shared'] }],
        rules: ['MATCH,out'],
      };
      await writeFile(join(folder, 'config.yaml'), JSON.stringify(config));
      return ['-d', folder];
    }),
};

const xray: Client = {
  form: 'xray',
  start: (printed) => {
    const { outbounds } = JSON.parse(printed) as { readonly outbounds: readonly object[] };
    return startXray([RAY_SOCKS_IN], outbounds);
  },
};

const HYSTERIA: Way = { protocol: 'hysteria2', obfuscated: true };

describe('the hash of a certificate is compared', () => {
  test('by hysteria', { skip: without('hysteria') }, () => compares(HYSTERIA, hysteria));

  for (const way of [
    { protocol: 'vless', carrier: WS_TLS },
    { protocol: 'trojan', carrier: TLS },
    HYSTERIA,
  ] satisfies readonly Way[]) {
    test(`by mihomo, from Clash's form: ${wayTitle(way)}`, { skip: without('mihomo') }, () =>
      compares(way, mihomo),
    );
  }

  for (const way of [
    { protocol: 'vless', carrier: WS_TLS },
    { protocol: 'vmess', carrier: GRPC_TLS },
    { protocol: 'trojan', carrier: TLS },
    HYSTERIA,
  ] satisfies readonly Way[]) {
    test(`by Xray: ${wayTitle(way)}`, { skip: without('xray') }, () => compares(way, xray));
  }
});
