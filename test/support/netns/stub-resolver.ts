import { Child } from '../process/child.ts';

/**
 * A stub on port 53, in a process of its own: tests ask it by calls that wait. It passes each question on to the
 * first server of a resolv.conf.
 */
export class StubResolver implements AsyncDisposable {
  readonly #child: Child;

  constructor(address: string, upstream: string) {
    this.#child = new Child(process.execPath, ['-e', PROGRAM, address, upstream]);
  }

  async ready(): Promise<void> {
    await this.#child.until('the stub', ({ stdout }) => stdout.includes('ready') || undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
  }
}

const PROGRAM = `
const { createSocket } = require('node:dgram');
const { readFileSync } = require('node:fs');
const [address, upstream] = process.argv.slice(1);
const stub = createSocket('udp4');
stub.on('message', (question, from) => {
  const server = /^nameserver (\\S+)/m.exec(readFileSync(upstream, 'utf8'))[1];
  const socket = createSocket('udp4');
  socket.on('error', () => socket.close());
  socket.on('message', (answer) => {
    stub.send(answer, from.port, from.address);
    socket.close();
  });
  socket.send(question, 53, server);
});
stub.bind(53, address, () => console.log('ready'));
`;
