import { Shares } from '../../net/bounds/shares.ts';
import { FAR_MORE_CONNECTIONS } from '../limits.ts';

/** Connections that are examined for the one to evict. */
const LOOKS = 8;

interface Heard {
  readonly connection: { readonly heardAt: number };
}

/**
 * Established connections by their clients. When they use up all flows, the client with the most loses one to a client
 * that has far fewer: the connection that was silent for the longest time, among the `LOOKS` least recently examined.
 *
 * @typeParam Client a primitive value.
 */
export class EstablishedConnections<Flow extends Heard, Client> {
  readonly #shares = new Shares<Flow, Client>();

  /** Adds a connection that was not added before. */
  add(flow: Flow, client: Client): void {
    this.#shares.add(flow, client);
  }

  has(flow: Flow): boolean {
    return this.#shares.has(flow);
  }

  /** Removes a connection. Idempotent. */
  delete(flow: Flow): void {
    this.#shares.delete(flow);
  }

  /** Returns the connection to evict for a new one; the caller ends and deletes it. */
  victim(client: Client): Flow | undefined {
    const shares = this.#shares;
    if (shares.most < FAR_MORE_CONNECTIONS * (shares.countOf(client) + 1)) return undefined;
    const holder = shares.heaviest?.holder;
    let victim: Flow | undefined;
    for (let look = 0; holder !== undefined && look < LOOKS; look++) {
      const flow = shares.oldestOf(holder);
      if (flow === undefined) break;
      if (victim === undefined || flow.connection.heardAt < victim.connection.heardAt)
        victim = flow;
      shares.renew(flow);
    }
    return victim;
  }
}
