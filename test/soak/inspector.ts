import { within } from '../support/wait.ts';

/** A response of the inspector protocol. */
interface Response {
  readonly id: number;
  readonly error?: { readonly message: string };
  readonly result?: unknown;
}

/** What `Runtime.evaluate` and its relatives give. */
interface Evaluated {
  readonly result: { readonly value?: unknown; readonly objectId?: string };
  readonly exceptionDetails?: { readonly text: string };
}

/** A collection of a heap of hundreds of megabytes, on a machine with other work to do. */
const PATIENCE_MS = 120_000;

/** A session with the inspector of another Node, which needs no code of its own for that. */
export class Inspector implements Disposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #last = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) =>
      this.#take(JSON.parse(String(data)) as Response),
    );
    socket.addEventListener('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the inspector has gone'));
      this.#waiting.clear();
    });
  }

  /** @param url as Node prints it after "Debugger listening on". */
  static async open(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', () => reject(new Error(`no inspector at ${url}`)));
    await within(promise, `the inspector at ${url}`);
    return new Inspector(socket);
  }

  async collectGarbage(): Promise<void> {
    await this.#send('HeapProfiler.collectGarbage');
  }

  /** The value of an expression, which JSON must be able to write. */
  async evaluate(expression: string): Promise<unknown> {
    const { result } = await this.#evaluated('Runtime.evaluate', {
      expression,
      returnByValue: true,
    });
    return result.value;
  }

  /**
   * Counts the living objects that have the value of `prototype` in their chain of prototypes, and
   * of those the ones for which `test`, an expression over `each`, holds.
   */
  async count(prototype: string, test = 'true'): Promise<number> {
    const objectGroup = 'count';
    const { result } = await this.#evaluated('Runtime.evaluate', {
      expression: prototype,
      objectGroup,
    });
    const found = (await this.#send('Runtime.queryObjects', {
      prototypeObjectId: result.objectId,
      objectGroup,
    })) as { readonly objects: { readonly objectId: string } };
    const counted = await this.#evaluated('Runtime.callFunctionOn', {
      objectId: found.objects.objectId,
      functionDeclaration: `function () { return this.filter((each) => ${test}).length; }`,
      returnByValue: true,
    });
    await this.#send('Runtime.releaseObjectGroup', { objectGroup });
    return Number(counted.result.value);
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  async #evaluated(method: string, parameters: object): Promise<Evaluated> {
    const evaluated = (await this.#send(method, parameters)) as Evaluated;
    if (evaluated.exceptionDetails) throw new Error(evaluated.exceptionDetails.text);
    return evaluated;
  }

  #send(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#last;
    const response = Promise.withResolvers<unknown>();
    this.#waiting.set(id, response);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return within(response.promise, `${method} of the inspector`, PATIENCE_MS);
  }

  #take({ id, error, result }: Response): void {
    const response = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) response?.reject(new Error(error.message));
    else response?.resolve(result);
  }
}
