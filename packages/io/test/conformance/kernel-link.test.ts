import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import {
  connectKernel,
  connectKernelPath,
  listenKernel,
} from '../../src/net/sockets/kernel/kernel-dial.ts';
import type { AcceptedConnection } from '../../src/net/sockets/sockets.ts';
import {
  checkedIo,
  noKernelSockets,
  recordingWatchdog,
} from '../../../../test/support/links/kernel-io.ts';
import { byteLinkConformance, type LinkEnds } from './byte-link.ts';

if (noKernelSockets === false) {
  const { io } = checkedIo();
  const { watchdog, lost } = recordingWatchdog();
  after(() => {
    assert.deepEqual(lost, []);
    io.close();
  });
  const { signal } = new AbortController();

  for (const host of ['127.0.0.1', '::1']) {
    byteLinkConformance(`a kernel link on ${host}`, async (): Promise<LinkEnds> => {
      const accepted = Promise.withResolvers<AcceptedConnection>();
      const listener = listenKernel(
        io,
        { host, port: 0 },
        { onConnection: accepted.resolve },
        watchdog,
      );
      const port = listener.endpoint?.port ?? 0;
      const left = await connectKernel(io, host, port, { signal, watchdog });
      const right = await accepted.promise;
      return { left: left.link, right: right.link(), dispose: () => listener.close() };
    });
  }

  byteLinkConformance('a kernel link on a unix socket', async (): Promise<LinkEnds> => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-link-'));
    const path = join(folder, 's');
    const accepted = Promise.withResolvers<AcceptedConnection>();
    const listener = listenKernel(io, { path }, { onConnection: accepted.resolve }, watchdog);
    const left = await connectKernelPath(io, path, { signal, watchdog });
    const right = await accepted.promise;
    return {
      left: left.link,
      right: right.link(),
      dispose: async () => {
        listener.close();
        await rm(folder, { recursive: true });
      },
    };
  });
}
