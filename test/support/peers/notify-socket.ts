import {
  openSystemCalls,
  type LoopWatch,
  type SystemCalls,
} from '../../../packages/io/src/platform/sockets/bindings.ts';
import {
  AF_UNIX,
  NONBLOCK_CLOEXEC,
  SOCK_DGRAM,
} from '../../../packages/io/src/platform/sockets/linux.ts';
import { SocketAddresses } from '../../../packages/io/src/platform/sockets/sockaddr.ts';
import { within } from '../wait.ts';

const LARGEST = 4096;

/** A service manager's end of sd_notify(3): a datagram socket at a path, or at an abstract name (`@…`). */
export class NotifySocket implements Disposable {
  readonly #calls: SystemCalls;
  readonly #fd: number;
  readonly #watch: LoopWatch;
  /** Messages that no call has taken yet, each as its assignments. */
  #messages: ReadonlyMap<string, string>[] = [];
  #onMessage: () => void = () => undefined;

  constructor(path: string) {
    const calls = openSystemCalls();
    const addresses = new SocketAddresses(calls);
    this.#calls = calls;
    this.#fd = calls.socket(AF_UNIX, SOCK_DGRAM | NONBLOCK_CLOEXEC, 0);
    const length = addresses.encode({ path: path.replace(/^@/, '\0') });
    if (calls.bind(this.#fd, addresses.at, length) !== 0) throw new Error(`errno ${calls.errno()}`);
    const memory = calls.memory(LARGEST);
    this.#watch = calls.watch(this.#fd, () => {
      for (;;) {
        const count = calls.recv(this.#fd, memory.at, LARGEST, 0);
        if (count < 0) break;
        this.#messages.push(parse(memory.bytes.toString('utf8', 0, count)));
      }
      // Nothing that a native callback resolves goes on before the next turn of the loop.
      setImmediate(() => this.#onMessage());
    });
  }

  /** Skips messages until one has this assignment, such as `READY=1`. */
  until(key: string, value = '1'): Promise<ReadonlyMap<string, string>> {
    return this.#take(`${key}=${value}`, (message) => message.get(key) === value);
  }

  /** The next message. */
  next(): Promise<ReadonlyMap<string, string>> {
    return this.#take('a message', () => true);
  }

  /** Those that have arrived and were not taken. */
  get waiting(): readonly ReadonlyMap<string, string>[] {
    return this.#messages;
  }

  #take(
    what: string,
    isWanted: (message: ReadonlyMap<string, string>) => boolean,
  ): Promise<ReadonlyMap<string, string>> {
    const { promise, resolve } = Promise.withResolvers<ReadonlyMap<string, string>>();
    this.#onMessage = () => {
      const at = this.#messages.findIndex(isWanted);
      const found = this.#messages[at];
      if (!found) return;
      this.#messages = this.#messages.slice(at + 1);
      this.#onMessage = () => undefined;
      resolve(found);
    };
    this.#onMessage();
    return within(promise, what);
  }

  [Symbol.dispose](): void {
    this.#watch.close();
    this.#calls.close(this.#fd);
  }
}

const parse = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split('\n').map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
