import { silentLogger } from '@weir/base/log';
import { systemClock, atOnce } from '@weir/io/time';
import { KeptObjects } from '@weir/base/collections';
import { OwnListeners } from '@weir/io/net/own-listeners';
import type { SessionServer } from '../../src/protocols/contract.ts';
import { Authenticator } from '../../src/protocols/hysteria2/authentication.ts';
import { Hysteria2Server } from '../../src/protocols/hysteria2/inbound.ts';
import { Hysteria2Outbound } from '../../src/protocols/hysteria2/outbound.ts';
import { dialServer } from '../../src/protocols/hysteria2/quic-endpoints.ts';
import { InboundMemory } from '../../src/protocols/inbounds/inbound-memory.ts';
import { QuicClientTls } from '../../src/transports/tls/quic.ts';
import { TestAuthority } from '../../../../test/support/data/test-certificates.ts';
import { eventually } from '../../../../test/support/wait.ts';
import {
  clientSettings,
  echo,
  patient,
  serverSettings,
} from '../../../../test/support/protocols/hysteria2/harness.ts';
import { readAll } from '../../../../test/support/read-link.ts';
import { sessionListenerConformance } from './session-listener.ts';

const authority = new TestAuthority();
const { cert, key } = authority.issue({ dns: ['hy.example'] });
const memory = new InboundMemory();

/** A server whose destinations send its name. */
const server = (name: string): SessionServer =>
  new Hysteria2Server(
    atOnce(Authenticator.of(serverSettings.credentials)),
    {
      tag: 'in',
      sniffing: false,
      unixSocket: false,
      memory,
      clock: systemClock,
      log: silentLogger,
      dispatcher: {
        async stream(request) {
          const link = await request.accept();
          await link.write(Buffer.from(name));
          await link.closeWrite();
        },
        packets: () => Promise.resolve(),
      },
    },
    { ...serverSettings, tls: { certificates: cert, key } },
  );

sessionListenerConformance('the listener of Hysteria 2, over QUIC', {
  listen: { kind: 'ip', host: '127.0.0.1', port: 0 },
  server,
  async connect({ endpoint }, registry) {
    const ended = Promise.withResolvers<void>();
    const client = new Hysteria2Outbound(
      { ...clientSettings, ca: { file: 'ca.pem', content: authority.cert } },
      {
        tag: 'out',
        family: 'auto',
        resolver: { resolve: () => Promise.resolve([endpoint?.host ?? '']) },
        clock: systemClock,
        log: silentLogger,
        ownListeners: new OwnListeners(),
        shared: new KeptObjects(),
        server: { host: 'hy.example', port: endpoint?.port ?? 0 },
        dial: () => Promise.reject(new Error('QUIC is not dialled over TCP')),
      },
      {
        createTls: (spec) => new QuicClientTls(spec),
        async dial(request) {
          const dialled = await dialServer(request);
          void dialled.connection.closed.then(() => ended.resolve());
          return dialled;
        },
      },
    );
    const ask = async (): Promise<string> =>
      String(await readAll(await client.connect(echo, patient)));
    await ask();
    return {
      server: ask,
      ended: ended.promise,
      async end() {
        const before = registry.count;
        client.close();
        await eventually('the end of a session', () => registry.count < before);
      },
    };
  },
});
