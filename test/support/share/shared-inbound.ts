import assert from 'node:assert/strict';
import { loadConfigFile } from '@weir/server/loading';
import {
  inboundServers,
  type ShareOptions,
  type SharedInbound,
} from '../../../packages/nodes/src/share/inbound-servers.ts';
import '../import/load-forms.ts';

/** When certificates are examined. */
const NOW = Date.UTC(2026, 10, 24);
const OPTIONS: ShareOptions = {
  host: 'proxy.example.com',
  port: undefined,
  frontTls: false,
  serverName: undefined,
  insecure: false,
  roots: () => [],
  now: NOW,
};

/** What an inbound is to its clients: `proxy.example.com` unless told. @param lines those of its table */
export async function sharedOf(
  lines: string,
  options: Partial<ShareOptions> = {},
): Promise<SharedInbound> {
  const { spec, merged } = await loadConfigFile('server', {
    bytes: Buffer.from(
      `[[inbound]]\ntag = "in"\n${lines}\n[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n`,
    ),
  });
  const [inbound] = spec.inbounds;
  assert.ok(inbound);
  const written = merged.file.inbound[0]?.value.settings;
  return inboundServers(inbound, written, { ...OPTIONS, ...options });
}
