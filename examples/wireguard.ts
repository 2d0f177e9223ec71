/**
 * A page from a network behind WireGuard, by the file of `wg-quick`: without a device, without routes, without root.
 *
 *     node wireguard.ts wg0.conf http://10.88.0.1/
 */
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Weir } from 'weir-engine';

const [file = 'wg0.conf', url = 'http://10.88.0.1/'] = process.argv.slice(2);

const settings = new Map(
  readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, key, value] = /^\s*(\w+)\s*=\s*(.+?)\s*$/.exec(line) ?? [];
      return key === undefined || value === undefined ? [] : [[key.toLowerCase(), value] as const];
    }),
);
const valueOf = (key: string): string => {
  const value = settings.get(key.toLowerCase());
  if (value === undefined) throw new Error(`${file} has no ${key}`);
  return value;
};

await using weir = await Weir.start({
  config: {
    outbound: [
      {
        tag: 'office',
        protocol: 'wireguard',
        settings: {
          private_key: valueOf('PrivateKey'),
          peer_public_key: valueOf('PublicKey'),
          endpoint: valueOf('Endpoint'),
          address: valueOf('Address').split(/\s*,\s*/),
        },
      },
    ],
  },
});

const { http } = weir.agent({ outbound: 'office', keepAlive: false });
const [response] = await once(get(url, { agent: http }), 'response');
console.log(response.statusCode, await text(response));
