import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GreetingLink } from '@weir/io/layers';
import { type ByteLink, linkPair } from '@weir/io/links';
import { systemClock } from '@weir/io/time';
import { SocketLink } from '@weir/io/sockets';
import { MuxFrameDecoder, Status } from '../../src/mux/frame.ts';
import { MuxStream } from '../../src/mux/mux-stream.ts';
import { Outlet } from '../../src/mux/outlet.ts';
import { RESPONSE_HEADER } from '../../src/protocols/vless/wire.ts';
import { byteLinkConformance, type LinkEnds } from '../../../io/test/conformance/byte-link.ts';
import { ResponseLink } from '../../src/protocols/vless/outbound.ts';

byteLinkConformance('a memory link', () => {
  const [left, right] = linkPair();
  return Promise.resolve({ left, right });
});

byteLinkConformance('a VLESS client and server', () => {
  const [near, far] = linkPair();
  const greet = (link: ByteLink): ByteLink =>
    new ResponseLink(new GreetingLink(link, RESPONSE_HEADER));
  return Promise.resolve({ left: greet(near), right: greet(far) });
});

byteLinkConformance('a flow of Mux.Cool', () => {
  const [near, far] = linkPair();
  return Promise.resolve({ left: muxFlow(near), right: muxFlow(far) });
});

/** The only flow on a carrier, which gets the frames that follow New. */
function muxFlow(carrier: ByteLink): ByteLink {
  let room: (() => void) | undefined;
  const outlet = new Outlet(carrier, (error) => stream.abandon(error));
  const stream: MuxStream = new MuxStream(1, outlet, systemClock, {
    onQueued: () => room?.(),
    onClosed: () => undefined,
  });
  const decoder = new MuxFrameDecoder();
  const deliver = async (): Promise<void> => {
    for (;;) {
      const chunk = await carrier.read();
      if (!chunk) return;
      for (const event of decoder.decode(chunk)) {
        if (event.kind === 'data') stream.deliver(event.bytes);
        else if (event.header.status === Status.end) stream.end(event.header.failed);
      }
      while (stream.queuedBytes > 64 * 1024) {
        await new Promise<void>((resolve) => (room = resolve));
      }
    }
  };
  void deliver().catch((error: unknown) => stream.abandon(error as Error));
  return stream;
}

byteLinkConformance('a TCP socket link', () => socketEnds({ host: '127.0.0.1', port: 0 }), {
  losesUnread: true,
});

byteLinkConformance(
  'a unix socket link',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-link-'));
    const ends = await socketEnds({ path: join(folder, 's') });
    return {
      ...ends,
      dispose: async () => {
        await ends.dispose?.();
        await rm(folder, { recursive: true });
      },
    };
  },
  { losesUnread: true },
);

async function socketEnds(
  where: { host: string; port: number } | { path: string },
): Promise<LinkEnds> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  server.listen(where);
  await once(server, 'listening');
  const address = server.address();
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client =
    typeof address === 'object' && address !== null
      ? connect({ host: address.address, port: address.port, allowHalfOpen: true })
      : connect({ path: address ?? '', allowHalfOpen: true });
  const [[socket]] = await Promise.all([accepted, once(client, 'connect')]);
  return {
    left: new SocketLink(client),
    right: new SocketLink(socket),
    dispose: () => {
      server.close();
    },
  };
}
