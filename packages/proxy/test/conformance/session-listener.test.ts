import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { after } from 'node:test';
import { LineServer } from '../../../../test/support/peers/own-session-protocol.ts';
import { eventually } from '../../../../test/support/wait.ts';
import { sessionListenerConformance } from './session-listener.ts';

/** The fake that tests of the supervisor use keeps the promises that they rely on. */
sessionListenerConformance('the fake protocol', {
  listen: { kind: 'ip', host: '127.0.0.1', port: 0 },
  server: (name) => new LineServer({ name }),
  async connect({ endpoint }, registry) {
    const socket = createSocket('udp4');
    after(() => socket.close());
    const next = async (): Promise<string> => {
      const [data] = (await once(socket, 'message')) as [Buffer];
      return data.toString();
    };
    const send = (text: string): void => socket.send(text, endpoint?.port ?? 0, endpoint?.host);
    const ask = async (text: string): Promise<string> => {
      const response = next();
      send(text);
      return response;
    };
    await ask('hello');
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    socket.on('message', (data) => {
      if (data.toString() === 'gone') resolve();
    });
    return {
      ended,
      server: async () => (await ask('name')).split(':', 1)[0] ?? '',
      async end() {
        const before = registry.count;
        send('end');
        await eventually('the end of a session', () => registry.count < before);
      },
    };
  },
});
