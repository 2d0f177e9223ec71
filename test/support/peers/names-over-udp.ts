import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { decode } from 'dns-packet';
import { reply, type ReplyParts } from './dns-server.ts';

/** A DNS server for many questions, none of which it keeps. */
export interface NamesOverUdp extends AsyncDisposable {
  readonly port: number;
}

/** @param answer what a response to a question has; `undefined` for none */
export async function namesOverUdp(
  answer: (name: string, type: string) => ReplyParts | undefined,
): Promise<NamesOverUdp> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const { questions: [question] = [], id = 0 } = decode(message);
    const { name = '', type = '' } = question ?? {};
    const parts = answer(name, type);
    if (!parts) return;
    const asked = {
      over: 'udp' as const,
      id,
      name,
      type,
      payloadSize: undefined,
      message,
      from: from.port,
      http: undefined,
    };
    socket.send(reply(asked, parts), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    [Symbol.asyncDispose]: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}
