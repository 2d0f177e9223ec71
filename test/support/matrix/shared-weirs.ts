import type { Address } from '../data/address.ts';
import { freePort } from '../ports.ts';
import type { End } from '../ways/program.ts';
import type { Way } from '../ways/way.ts';
import { startWeirEnds, type WeirEnds } from '../ways/weir.ts';
import type { Cell } from './cell.ts';

/** The ends of one cell. */
export interface CellEnds extends AsyncDisposable {
  /** The SOCKS listener of the client. */
  readonly socks: Address;
  /** Kills the server. */
  kill(): Promise<void>;
  /** Starts it again at its port. */
  comeBack(): Promise<void>;
}

/**
 * Weir at the ends of many cells: one process is the client of every cell that has Weir there, another one the
 * server, and each is started once unless it is killed. Other programs are started for each cell.
 */
export class SharedWeirs implements AsyncDisposable {
  /** Not of the kernel's choice: while a server is away, another socket could get such a port. */
  readonly #ports: ReadonlyMap<Cell, number>;
  readonly #clients = new Map<Cell, Map<Way, Address>>();
  #client: WeirEnds | undefined;
  #server: WeirEnds | undefined;

  private constructor(ports: ReadonlyMap<Cell, number>) {
    this.#ports = ports;
  }

  /** @param waysOf the ways of the clients of a cell, where that of its server is not the only one */
  static async start(
    cells: readonly Cell[],
    waysOf: (cell: Cell) => readonly Way[] = ({ way }) => [way],
  ): Promise<SharedWeirs> {
    const ports = new Map<Cell, number>();
    for (const cell of cells) ports.set(cell, await freePort());
    const weirs = new SharedWeirs(ports);
    const clients = cells
      .filter(({ client }) => client.name === 'weir')
      .flatMap((cell) =>
        waysOf(cell).map((way) => ({ cell, way, server: weirs.#addressOf(cell) })),
      );
    if (clients.length === 0) return weirs;
    weirs.#client = await startWeirEnds({ clients });
    for (const [at, { cell, way }] of clients.entries()) {
      const address = weirs.#client.clients[at] as Address;
      weirs.#clients.set(
        cell,
        (weirs.#clients.get(cell) ?? new Map<Way, Address>()).set(way, address),
      );
    }
    return weirs;
  }

  async ends(cell: Cell): Promise<CellEnds> {
    await using stack = new AsyncDisposableStack();
    const isShared = cell.server.name === 'weir';
    let own: End | undefined;
    stack.defer(() => own?.[Symbol.asyncDispose]());
    const comeBack = async (): Promise<void> => {
      if (isShared) return this.#serve();
      await own?.[Symbol.asyncDispose]();
      own = await cell.server.server(cell.way, { port: this.#portOf(cell) });
    };
    await comeBack();
    const socks = stack.use(await this.client(cell, cell.way)).socks;
    const started = stack.move();
    return {
      socks,
      kill: async () => {
        const child = isShared ? this.#server?.weir.child : own?.child;
        child?.signal('SIGKILL');
        await child?.exited;
      },
      comeBack,
      [Symbol.asyncDispose]: () => started.disposeAsync(),
    };
  }

  /** A client of a cell's server, by one of its ways. */
  async client(cell: Cell, way: Way): Promise<AsyncDisposable & { readonly socks: Address }> {
    const shared = this.#clients.get(cell)?.get(way);
    if (shared) return { socks: shared, [Symbol.asyncDispose]: () => Promise.resolve() };
    const own = await cell.client.client(way, this.#addressOf(cell));
    return { socks: own.address, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
  }

  /** Starts the server, unless it runs. */
  async #serve(): Promise<void> {
    if (this.#server && !this.#server.weir.child.ended) return;
    await this.#server?.[Symbol.asyncDispose]();
    this.#server = undefined;
    const servers = Array.from(this.#ports, ([cell, port]) => ({ cell, way: cell.way, port }));
    this.#server = await startWeirEnds({
      servers: servers.filter(({ cell }) => cell.server.name === 'weir'),
    });
  }

  #portOf(cell: Cell): number {
    const port = this.#ports.get(cell);
    if (port === undefined) throw new Error('a cell without a port');
    return port;
  }

  #addressOf(cell: Cell): Address {
    return { host: '127.0.0.1', port: this.#portOf(cell) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.[Symbol.asyncDispose]();
    await this.#server?.[Symbol.asyncDispose]();
  }
}
