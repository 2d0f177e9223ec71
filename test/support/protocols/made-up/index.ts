import { secret, struct } from '@weir/proxy/schema';
import { defineProtocol } from '../../../../packages/proxy/src/protocols/protocol.ts';

/*
 * A protocol that exists in a test alone, whole in one folder: what checks its settings, what dials, and its forms. The
 * entry in the registry is the only other place that has to know it.
 */

export const settings = struct({ token: secret });

export const madeUp = defineProtocol({
  outbound: {
    stream: true,
    table: settings,
    upstream: true,
    settings: (table) => settings(table),
    load: async () => (await import('./outbound.ts')).createMadeUpOutbound,
  },
});
