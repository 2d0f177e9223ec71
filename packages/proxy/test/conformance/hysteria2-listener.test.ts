import type { SessionServer } from '../../src/protocols/contract.ts';
import { eventually } from '../../../../test/support/wait.ts';
import { Bench, echo, patient } from '../../../../test/support/protocols/hysteria2/harness.ts';
import { readAll } from '../../../../test/support/read-link.ts';
import { sessionListenerConformance } from './session-listener.ts';

const bench = new Bench();

/** A server whose destinations send its name. */
const server = (name: string): SessionServer =>
  bench.server(
    {},
    {
      dispatcher: {
        async stream(request) {
          const link = await request.accept();
          await link.write(Buffer.from(name));
          await link.closeWrite();
        },
        packets: () => Promise.resolve(),
      },
    },
  );

sessionListenerConformance('the listener of Hysteria 2, over connections in memory', {
  listen: { kind: 'ip', host: '127.0.0.1', port: 0 },
  server,
  async connect({ endpoint }, registry) {
    bench.addresses = [endpoint?.host ?? ''];
    const client = bench.client({}, { port: endpoint?.port ?? 0 });
    const ask = async (): Promise<string> =>
      String(await readAll(await client.connect(echo, patient)));
    await ask();
    const connection = bench.network.connections.at(-1)?.[0];
    return {
      server: ask,
      ended: connection?.closed.then(() => undefined) ?? Promise.reject(new Error('no connection')),
      async end() {
        const before = registry.count;
        client.close();
        await eventually('the end of a session', () => registry.count < before);
      },
    };
  },
});
