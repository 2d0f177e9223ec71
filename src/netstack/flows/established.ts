import { Shares } from '../../net/bounds/shares.ts';
import { FAR_MORE_CONNECTIONS } from '../limits.ts';

/** Connections that are looked at for the one that gives way. */
const LOOKS = 8;

/** What this knows of a connection. */
interface Heard {
  readonly connection: { readonly heardAt: number };
}

/**
 * Established connections by their clients. Where they take all flows, the client with the most gives way to
 * one that has far fewer: with the connection that was silent for the longest time, of some that were not
 * looked at lately.
 *
 * @typeParam Client a primitive value.
 */
export class Established<Flow extends Heard, Client> {
  readonly #shares = new Shares<Flow, Client>();

  /** Adds a connection that is not there. */
  add(flow: Flow, client: Client): void {
    this.#shares.add(flow, client);
  }

  has(flow: Flow): boolean {
    return this.#shares.has(flow);
  }

  /** Idempotent. */
  delete(flow: Flow): void {
    this.#shares.delete(flow);
  }

  /** The connection that gives way to a new one; the caller ends and deletes it. */
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
